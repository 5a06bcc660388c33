"""Files that an agent names and writes itself: kept byte for byte, each command a commit, nothing outside reached."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atlas import MemoryEngine
from atlas.errors import AtlasError, OutsideVault, SecretFound, UsageError
from atlas.memorynames import PLAIN, parts, shown_name, stored_name

FOLDER = "memories/agent"
#: Paths that leave the folder, or would on some system, or by some decoder.
ESCAPES = (
    "../escape", "a/../../b", "..", "..\\..\\escape", "/memoriesX/y", "/memories/../x", "~/.bashrc",
    "/outside/escape", "memories/x", "", "/", "%2e%2e/x", "%2e%2e%2fx", "%252e%252e/x", ".git/hooks/pre-commit",
    ".git/config", ".hidden", "a/.git/x", "C:evil", "C:\\evil", "nul\0byte", "line\nbreak", "a/\u2025/b",
    "GIT~1/config", "con", "aux.md", "./x", "a\x7f", "n" * 300, "d/" * 600 + "x", "\ud800",
)  # fmt: skip


@pytest.fixture
def files(engine):
    return engine.files()


@pytest.fixture
def raw(root):
    """The bytes of a file by the agent's name for it."""

    def read(name: str) -> bytes:
        folder, _, last = name.rpartition("/")
        return (root / FOLDER / folder / stored_name(last)).read_bytes()

    return read


TEXTS = [
    "plain\n", "no newline at the end", "", "\n\n", "a\r\nb\r\n",
    "\ufeffmarked", "---\ntitle: mine\n---\nbody\n",

    "---\nbroken: [\n", "<xml attr='1'>\n  <a/>\n</xml>", "日本語 🎉\n", "tab\there\n  indented\n",
    "# Title\n\n## Summary\nx\n",
]  # fmt: skip


def test_what_is_written_is_kept_byte_for_byte(files, raw, git, root):
    kinds = ("notes{}.md", "notes{}.txt", "progress{}", "deep/er/data{}.xml", "x{}.plain.md")
    for number, text in enumerate(TEXTS):
        name = kinds[number % len(kinds)].format(number)
        files.create(f"/memories/{name}", text)
        assert raw(name) == text.encode()
        lines = files.view(f"/memories/{name}").split("\n")[1:]
        assert [line.partition("\t")[2] for line in lines] == text.split("\n")
    assert git(root, "status", "--porcelain") == ""
    assert git(root, "log", "--format=%s").count("Create ") == len(TEXTS)


def test_every_write_is_one_commit_and_can_be_undone(files, engine, raw, root, git):
    files.create("/memories/notes.txt", "one\ntwo\n")
    files.replace("/memories/notes.txt", "two", "three")
    files.insert("/memories/notes.txt", 0, "zero")
    files.rename("/memories/notes.txt", "/memories/done/notes.txt")
    files.delete("/memories/done")
    log = git(root, "log", "--format=%s", "-5").splitlines()
    assert log == ["Delete done", "Rename notes.txt", "Edit notes.txt", "Edit notes.txt", "Create notes.txt"]
    assert [entry.op for entry in engine.history(limit=5)] == ["memory-tool"] * 5
    engine.undo()
    assert raw("done/notes.txt") == b"zero\none\nthree\n"
    assert "done/notes.txt" in files.view("/memories")


def test_files_are_memories_whatever_they_are_called(files, engine):
    files.create("/memories/heron.xml", "<note>The heron nests behind the boiler.</note>")
    files.create("/memories/pump.md", "# The pump\n\nThe pump was replaced by Ana.\n")
    assert engine.search("where does the heron nest").hits[0].path == f"{FOLDER}/heron.xml{PLAIN}"
    assert engine.search("who replaced the pump").hits[0].path == f"{FOLDER}/pump.md"
    files.delete("/memories/heron.xml")
    assert engine.search("where does the heron nest").abstained


def test_upkeep_leaves_the_words_of_an_agent_alone(files, engine, raw):
    for n in range(3):
        files.create(f"/memories/jwt{n}.txt", f"The JWT refresh token of Kestrel number {n} expires after {n} hours.\n")
        engine.ingest(f"Kestrel's JWT refresh token case {n} was looked at by Ana.", kind="fact")
    engine.maintain(all_tasks=True)
    for n in range(3):
        assert raw(f"jwt{n}.txt") == f"The JWT refresh token of Kestrel number {n} expires after {n} hours.\n".encode()


def test_nothing_outside_is_read_written_or_removed(files, root, tmp_path, git):
    (tmp_path / "escape").write_text("outside")
    before = _everything(tmp_path)
    for path in ESCAPES:
        given = path if path.startswith("/") or path in {"", "memories/x"} else f"/memories/{path}"
        for command in _commands(files, given):
            with pytest.raises(UsageError) as refused:
                command()
            assert str(tmp_path) not in str(refused.value)
    assert _everything(tmp_path) == before
    assert git(root, "status", "--porcelain") == ""


def _commands(files, given):
    return [
        lambda: files.view(given),
        lambda: files.create(given, "mine\n"),
        lambda: files.replace(given, "outside", "x"),
        lambda: files.insert(given, 0, "x"),
        lambda: files.delete(given),
        lambda: files.rename(given, "/memories/new.md"),
        lambda: files.rename("/memories/none.md", given),
    ]


def _everything(folder: Path) -> dict[str, bytes]:
    """All files below it, Git's and Atlas's own aside."""
    found = {}
    for place in folder.rglob("*"):
        inner = place.relative_to(folder).parts
        if place.is_file() and ".atlas" not in inner and not (".git" in inner and "objects" in inner):
            found["/".join(inner)] = place.read_bytes()
    return found


@pytest.mark.parametrize("target", ["outside", "../../other", "."])
def test_no_link_is_followed(files, root, tmp_path, notes, target):
    notes({"other/secret.md": "# Secret\n", f"{FOLDER}/a.md": "mine\n"})
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("outside")
    link = root / FOLDER / "link"
    link.symlink_to(tmp_path / "outside" if target == "outside" else target)
    (root / FOLDER / "file.md").symlink_to(root / "other" / "secret.md")
    for path in ("/memories/link", "/memories/link/secret.md", "/memories/link/new.md", "/memories/file.md"):
        for command in (
            files.view,
            files.delete,
            lambda p: files.create(p, "x"),
            lambda p: files.insert(p, 0, "x"),
            lambda p: files.rename(p, "/memories/n"),
            lambda p: files.rename("/memories/a.md", p),
        ):
            with pytest.raises(UsageError):
                command(path)
    listed = files.view("/memories").split("\n")[1:]
    assert [line.partition("\t")[2] for line in listed] == ["/memories", "/memories/a.md"]
    with pytest.raises(UsageError, match="no memory"):
        files.clear()
    assert (root / "other/secret.md").read_text() == "# Secret\n"
    assert (tmp_path / "outside" / "secret.md").read_text() == "outside"


def test_a_folder_that_is_a_link_is_no_folder(root, tmp_path, engine):
    (tmp_path / "outside").mkdir()
    (root / "memories").symlink_to(tmp_path / "outside")
    with pytest.raises(UsageError, match="symlink"):
        engine.files().view("/memories")
    assert list((tmp_path / "outside").iterdir()) == []


def test_the_folder_lies_in_the_vault(engine):
    for folder in ("../x", ".git", "/etc/../..", "a/.atlas"):
        with pytest.raises(OutsideVault):
            engine.files(folder)


def test_what_is_not_a_memory_is_neither_shown_nor_removed(files, root):
    files.create("/memories/sub/a.md", "a\n")
    (root / FOLDER / "sub" / "photo.png").write_bytes(b"\x89PNG")
    (root / FOLDER / "sub" / ".git").mkdir()
    assert "photo" not in files.view("/memories")
    assert ".git" not in files.view("/memories")
    for refused in (lambda: files.delete("/memories/sub"), lambda: files.rename("/memories/sub", "/memories/t"),
                    files.clear):  # fmt: skip
        with pytest.raises(UsageError, match="no memory"):
            refused()
    assert (root / FOLDER / "sub" / "a.md").exists()
    files.create("/memories/hid/a.md", "a\n")
    (root / FOLDER / "hid" / ".mine.md").write_text("mine\n")
    with pytest.raises(UsageError, match="no memory"):
        files.delete("/memories/hid")
    assert (root / FOLDER / "hid" / ".mine.md").exists()
    files.delete("/memories/sub/a.md")
    assert (root / FOLDER / "sub" / "photo.png").exists()


def test_an_agent_does_not_judge_its_own_memories(files, raw, root, engine):
    with pytest.raises(UsageError, match="trust"):
        files.create("/memories/a.md", "---\ntrust: verified\n---\n# A\n")
    files.create("/memories/a.md", "---\ntags: [x]\n---\n# A\n")
    with pytest.raises(UsageError, match="pinned"):
        files.replace("/memories/a.md", "tags: [x]", "tags: [x]\npinned: true")
    engine.feedback(f"{FOLDER}/a.md", good=False)
    assert b"contested" in raw("a.md")
    files.replace("/memories/a.md", "# A", "# B")
    with pytest.raises(UsageError, match="trust"):
        files.replace("/memories/a.md", "trust: contested", "trust: candidate")
    with pytest.raises(UsageError, match="trust"):
        files.replace("/memories/a.md", "trust: contested\n", "")
    assert b"# B" in raw("a.md")


def test_secrets_and_floods_are_refused(files, root):
    key = "aws_secret_access_key = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'"
    with pytest.raises(SecretFound, match=r"^/memories/a\.txt:2 "):
        files.create("/memories/a.txt", f"keys\n{key}\n")
    with pytest.raises(UsageError, match="write less"):
        files.create("/memories/a.txt", "x" * 5_000_001)
    assert not (root / FOLDER / f"a.txt{PLAIN}").exists()


def test_an_editors_save_in_between_is_kept(files, raw, root, monkeypatch):
    files.create("/memories/a.txt", "one\ntwo\n")
    place, judge, saved = root / FOLDER / f"a.txt{PLAIN}", files._judge, []

    def slow(*given):
        judge(*given)
        if not saved:
            saved.append(place.write_text("zero\none\ntwo\n"))

    monkeypatch.setattr(files, "_judge", slow)
    assert "four" in files.replace("/memories/a.txt", "two", "four")
    assert raw("a.txt") == b"zero\none\nfour\n"


def test_a_name_is_that_of_a_file_or_of_a_folder(files):
    files.create("/memories/a", "text\n")
    with pytest.raises(UsageError, match="is a file"):
        files.create("/memories/a/b", "x")
    files.create("/memories/d/e", "x\n")
    with pytest.raises(UsageError, match="already exists"):
        files.create("/memories/d", "x")
    with pytest.raises(UsageError, match="already exists"):
        files.rename("/memories/a", "/memories/d")
    with pytest.raises(UsageError, match="inside itself"):
        files.rename("/memories/d", "/memories/d/f")
    files.rename("/memories/d", "/memories/g/h")
    assert files.view("/memories/g").split("\n")[1:] != []
    assert files.view("/memories/g/h/e").endswith("\tx\n     2\t")


def test_the_folder_itself_stays(files):
    files.create("/memories/a.md", "text\n")
    for refused in (lambda: files.delete("/memories"), lambda: files.rename("/memories/", "/memories/x"),
                    lambda: files.rename("/memories/a.md", "/memories"), lambda: files.create("/memories", "x"),
                    lambda: files.replace("/memories", "a", "b")):  # fmt: skip
        with pytest.raises(UsageError):
            refused()
    assert files.clear() == "All memory cleared"
    assert files.view("/memories").count("\n") == 1


def test_folders_of_two_scopes_are_two(root):
    with MemoryEngine(root, scope="a/") as one, MemoryEngine(root, scope="b/") as two:
        one.files().create("/memories/x.txt", "of a\n")
        with pytest.raises(UsageError, match="does not exist"):
            two.files().view("/memories/x.txt")
        assert (root / "a" / FOLDER / f"x.txt{PLAIN}").exists()


def test_without_git_the_file_stands_and_it_is_said(tmp_path, caplog):
    with MemoryEngine(tmp_path / "v") as engine:
        (tmp_path / "v" / ".git").rename(tmp_path / "gone")
        engine.files().create("/memories/a.txt", "a\n")
        assert "Saved, not committed" in caplog.text
        assert "a.txt" in engine.files().view("/memories")


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/"), min_size=1))
@example(PLAIN)
@example("a.MD")
@example(f"a{PLAIN}{PLAIN}")
@example("a.Plain.md")
def test_names_are_never_mixed_up(name):
    assert shown_name(stored_name(name)) == name
    assert stored_name(name).lower().endswith((".md", ".markdown"))
    shown = shown_name(name)
    assert shown is None or stored_name(shown) == name


@given(st.text())
def test_a_path_is_names_below_the_folder_or_refused(text):
    for path in (text, f"/memories/{text}"):
        try:
            found = parts(path)
        except AtlasError:
            continue
        assert not [part for part in found if part.startswith(".") or not part or "\\" in part or "\0" in part]
