"""Erasing a memory: nothing that can be looked at holds a word of it afterwards, and nothing else is lost."""

from __future__ import annotations

import json
import re
import subprocess
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import children
import duckdb
import pytest
from shell import atlas, command, environment, spawn
from support import SIGN, open_repo, script, write

from atlas import MemoryEngine, config, erase, proof, standing, template, versions
from atlas.errors import GitRefused, NotFound, UsageError
from atlas.receipt import State
from atlas.store import Store

SECRET = "The violet lighthouse opens at midnight, says Ottokar, and the password is xylophone9 quartz."
MORE = "On Sundays the keeper of the tower feeds eleven albatrosses with stolen marzipan."
#: Words that stand in no other text here.
WORDS = ("violet", "lighthouse", "ottokar", "xylophone9", "quartz", "albatross", "marzipan")
SIBLING = "The boiler in the cellar holds 1.5 bar when it is cold, and two when it is warm."


@pytest.fixture
def memory(engine, root, git) -> str:
    """The id of a memory with two versions, a sibling before and after."""
    engine.ingest(SIBLING)
    id = engine.ingest(SECRET)[0]
    engine.append(id, MORE)
    engine.ingest("A kestrel nests above the old mill and hunts at dawn.")
    return id


# ------------------------------------------------------------- an own search


def everything(root: Path) -> dict[str, bytes]:
    """Every byte there is by where it is, in every form: files, inflated objects, rows of the index."""
    found: dict[str, bytes] = {}
    for place in [*root.rglob("*"), *root.rglob(".*")]:
        if place.is_file():
            data = place.read_bytes()
            name = place.relative_to(root).as_posix()
            found[name] = data
            if re.fullmatch(r"\.git/objects/../.{38}", name):
                found[f"{name} inflated"] = zlib.decompress(data)
    out = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch", "--unordered"], cwd=root, capture_output=True, check=True
    ).stdout
    found["all objects"] = out
    # A watcher beside the test may have the index open: another process cannot open it until it is done.
    with Store(config.load(root)).lock(), duckdb.connect(str(root / ".atlas" / "index.duckdb"), read_only=True) as con:
        for (table,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            found[f"table {table}"] = repr(con.execute(f"SELECT * FROM {table}").fetchall()).encode()
    return found


def holding(root: Path, words: tuple[str, ...] = WORDS) -> list[str]:
    """Where any of the words stands."""
    return sorted(
        name
        for name, data in everything(root).items()
        if any(word.encode(form) in data.lower() for word in words for form in ("utf-8", "utf-16-le", "utf-16-be"))
    )


def sibling(git, root: Path, path: str) -> str:
    """What history says of a file: patches, messages, people and dates, without the ids of commits."""
    form = "--format=%an %ae %ai %cn %ce %ci%n%B"
    return git(root, "log", "--all", form, "-p", "--full-index", "--", path)


def paths(root: Path) -> list[str]:
    return sorted(place.relative_to(root).as_posix() for place in (root / "memories").rglob("*.md"))


def states(made) -> dict[str, str]:
    return {place.name: str(place.state) for place in made.places}


# ------------------------------------------------------------------ the whole


def test_no_object_row_cache_or_file_holds_it_and_siblings_stay(engine, root, git, memory, sound):
    engine.view("when does the lighthouse open")
    assert set(WORDS) <= {word for word in WORDS if holding(root, (word,))}, "the search can find each word"
    others = [path for path in paths(root) if "violet" not in path]
    before = {path: sibling(git, root, path) for path in others}
    assert len(others) == 2
    made = engine.purge(memory, yes=True)
    assert holding(root) == []
    assert made.clean
    assert {path: sibling(git, root, path) for path in others} == before
    assert paths(root) == others
    assert git(root, "status", "--porcelain") == ""
    sound(root)
    assert [
        hit.label for hit in engine.retrieve("when does the lighthouse open", abstain=False) if "light" in hit.label
    ] == []
    assert states(made)["the index"] == State.GONE
    assert states(made)["clones made earlier"] == State.NOT_PROVEN


def test_the_receipt_is_tracked_and_says_nothing_of_it(engine, root, git, memory):
    made = engine.purge(memory, yes=True)
    text = git(root, "show", f"HEAD:{made.file}")
    kept = json.loads(text)
    assert kept["ids"] == [memory]
    assert kept["done"] is True
    assert kept["by"] == "Ada Example"
    assert {place["name"] for place in kept["places"]} >= {
        "objects of the repository",
        "the folder",
        "backups and copies",
    }
    assert not [word for word in WORDS if word in text.lower()]
    assert git(root, "log", "-1", "--format=%s").strip() == f"Keep the receipt of purge {made.digest}"


def test_commits_that_never_held_it_keep_their_ids(engine, root, git):
    signer = script(root.parent / "signer", SIGN)
    git(root, "config", "gpg.program", str(signer))
    write(root, "first.md", SIBLING)
    git(root, "add", "-A")
    git(root, "-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-qS", "-m", "Zwölf signed")
    signed = git(root, "rev-parse", "HEAD").strip()
    git(root, "branch", "apart")
    id = engine.ingest(SECRET)[0]
    made = engine.purge(id, yes=True)
    assert git(root, "rev-parse", "apart").strip() == signed
    assert git(root, "merge-base", "apart", "HEAD").strip() == signed
    assert "gpgsig" in git(root, "cat-file", "commit", signed)
    assert (made.signatures, made.count("refs/heads/")) == (0, 1)


def test_a_signature_on_what_is_rewritten_is_lost_and_counted(engine, root, git, memory):
    git(root, "config", "gpg.program", str(script(root.parent / "signer", SIGN)))
    write(root, "first.md", SIBLING)
    git(root, "add", "-A")
    git(root, "commit", "-qS", "-m", "signed")
    git(root, "tag", "-s", "-m", "signed too", "v1")
    made = engine.purge(memory, yes=True)
    assert made.signatures == 2
    assert "BEGIN PGP" not in git(root, "cat-file", "tag", "v1")
    assert "gpgsig" not in git(root, "cat-file", "commit", "v1^{commit}")


def test_without_yes_nothing_is_done(engine, root, git, memory):
    before = {name: data for name, data in everything(root).items() if not name.startswith((".atlas/", "table"))}
    made = engine.purge(memory)
    assert not made.done
    assert not made.clean
    assert (len(made.blobs), made.commits, made.count("refs/heads/")) == (2, 3, 1)
    assert made.paths == tuple(path for path in paths(root) if "violet" in path)
    assert engine.purge(memory, yes=True, dry_run=True).done is False
    assert {
        name: data for name, data in everything(root).items() if not name.startswith((".atlas/", "table"))
    } == before


def test_branches_tags_notes_and_stashes(engine, root, git, memory):
    (path,) = (path for path in paths(root) if "violet" in path)
    git(root, "tag", "light")
    git(root, "tag", "-a", "heavy", "-m", f"Release\n\n{MORE}\n\nThanks.")
    git(root, "notes", "add", "-m", f"seen\n{MORE}", "HEAD")
    git(root, "notes", "add", "-m", "harmless", "HEAD~1")
    git(root, "checkout", "-qb", "other")
    write(root, path, (root / path).read_text() + "\nA branch says: the lighthouse has a lower quartz door for owls.\n")
    git(root, "commit", "-qam", "by hand: the lighthouse has a lower quartz door for owls.")
    git(root, "checkout", "-q", "main")
    for number in range(3):
        write(root, "first.md", f"stashed {number}\n")
        write(root, path, (root / path).read_text() + f"\nStash {number} of the lighthouse.\n")
        git(root, "add", "first.md")
        git(root, "stash", "-q")
    noted = git(root, "notes", "show", "HEAD~1")
    made = engine.purge(memory, yes=True)
    assert holding(root) == []
    assert (made.count("refs/heads/"), made.count("refs/tags/"), made.stashes) == (2, 2, 3)
    assert git(root, "stash", "list").count("\n") == 3
    assert [git(root, "show", f"stash@{{{n}}}:first.md") for n in range(3)] == [f"stashed {n}\n" for n in (2, 1, 0)]
    git(root, "stash", "pop", "-q")
    assert (root / "first.md").read_text() == "stashed 2\n"
    git(root, "checkout", "-q", "-f")
    assert git(root, "cat-file", "tag", "heavy").endswith(f"Release\n\nPurged {made.digest}\n\nThanks.\n")
    commit = git(root, "rev-parse", "light").strip()
    assert git(root, "notes", "show", commit) == f"seen\nPurged {made.digest}\n"
    assert git(root, "notes", "show", f"{commit}~1") == noted == "harmless\n"
    assert git(root, "log", "-1", "--format=%s", "other").strip() == f"Purged {made.digest}"


def test_under_other_names_archived_with_other_line_ends_and_before_it_had_an_id(engine, root, git, notes):
    text = f"# A tower\n\n{SECRET}\n"
    notes({"first.md": text, "second.md": SIBLING})
    git(root, "mv", "first.md", "violet tower.md")
    git(root, "commit", "-qm", "rename")
    write(root, "violet tower.md", text.replace("\n", "\r\n") + MORE + "\r\n")
    git(root, "commit", "-qam", "other line ends")
    engine.adopt(["violet tower.md"])
    id = engine.expand("violet tower.md").meta["id"]
    write(root, "archive/tower.md", f"---\nid: {id}\n---\n# A violet tower\n")
    (root / "violet tower.md").unlink()
    git(root, "add", "-A")
    git(root, "commit", "-qm", "archive")
    made = engine.purge(id, yes=True)
    assert len(made.blobs) == 4
    assert holding(root) == []
    assert (root / "second.md").read_text() == SIBLING


def test_a_memory_that_only_history_has(engine, root, git, memory):
    (path,) = (path for path in paths(root) if "violet" in path)
    git(root, "rm", "-q", path)
    git(root, "commit", "-qm", "gone")
    engine.purge(path, yes=True)
    assert holding(root) == []
    with pytest.raises(NotFound):
        engine.purge(memory)


def test_a_note_without_an_id_and_not_the_one_that_took_its_place(engine, root, git, notes):
    notes({"a.md": f"# One\n\n{SECRET}\n", "copy.md": SIBLING})
    git(root, "rm", "-q", "a.md")
    git(root, "commit", "-qm", "gone")
    notes({"a.md": "# Another\n\nA kestrel nests above the old mill and hunts at dawn.\n"})
    before = sibling(git, root, "a.md")
    engine.purge("a.md", yes=True)
    assert not (root / "a.md").exists()
    assert "violet" in sibling(git, root, "a.md"), "the first note of that name is another memory"
    assert "kestrel" in before
    assert holding(root, ("kestrel",)) == []


def test_lines_of_usage_tombstones_and_hubs(engine, root, git, memory):
    (path,) = (path for path in paths(root) if "violet" in path)
    other = "01JDXK3Q8ZV5T9W2M4N6P8R0S1"
    write(
        root,
        "usage/k7.jsonl",
        f'{{"device": "k7"}}\n{{"id": "{memory}", "reads": 3}}\n{{"id": "{other}", "reads": 1}}\n',
    )
    write(
        root,
        "archive/tombstones/r1.jsonl",
        f'{{"id": "{memory}", "path": "{path}", "full": "x", "day": "2026-01-01"}}\n',
    )
    target = path.removesuffix(".md")
    link = f"- [[{target}|The violet lighthouse]]\n"
    hub = f"mine\n<!-- atlas:members -->\n{link}- [[notes/b|B]]\n<!-- /atlas:members -->\nend\n"
    write(root, "clusters/towers.md", hub)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "more")
    engine.purge(memory, yes=True)
    assert holding(root) == []
    assert (root / "usage/k7.jsonl").read_text() == f'{{"device": "k7"}}\n{{"id": "{other}", "reads": 1}}\n'
    assert not (root / "archive/tombstones/r1.jsonl").exists()
    assert (root / "clusters/towers.md").read_text() == hub.replace(link, "")
    old = git(root, "log", "--all", "--format=%H", "--", "usage").split()
    assert not any(memory in git(root, "show", f"{commit}:usage/k7.jsonl") for commit in old)


def test_a_line_of_a_hub_goes_by_its_link_however_short_the_name(engine, root, notes):
    lines = "<!-- atlas:members -->\n- [[a|One]]\n- [[ab|One]]\n<!-- /atlas:members -->\n- [[a|One]] by hand\n"
    notes({"a.md": f"# One\n\n{SECRET}\n", "ab.md": "# One\n", "clusters/ones.md": lines})
    engine.purge("a.md", yes=True)
    assert (root / "clusters/ones.md").read_text() == lines.replace("- [[a|One]]\n", "")


def test_a_hub_of_upkeep_says_nothing_of_it_in_any_version(engine, root, git):
    texts = ["The boiler Vesta is cold.", "A kestrel nests above Vesta.", "The owl of Vesta hoots after supper."]
    for text in texts:
        engine.ingest(text, tags=["cluster/vesta"])
    id = engine.ingest(SECRET, tags=["cluster/vesta"])[0]
    engine.maintain(all_tasks=True, yes=True)
    assert "clusters/vesta.md" in holding(root, ("violet",))
    assert engine.purge(id, yes=True).clean
    assert holding(root) == []
    assert all(text.removesuffix(".") in (root / "clusters/vesta.md").read_text() for text in texts)
    engine.maintain(all_tasks=True, yes=True)
    assert holding(root) == []


def test_the_journal_forgets_the_id_and_keeps_its_length(engine, root, memory):
    engine.view("when does the lighthouse open")
    engine.rest()
    (file,) = (root / ".atlas" / "journal").glob("*.jsonl")
    before = file.read_bytes()
    assert memory.encode() in before
    engine.purge(memory, yes=True)
    after = file.read_bytes()
    assert len(after) == len(before)
    assert memory.encode() not in after
    assert all(memory not in json.loads(line)["shown"] for line in after.splitlines())


def test_what_was_derived_from_it_is_named_or_taken_along(engine, root, notes, memory):
    quote = f"---\nid: 01JDXK3Q8ZV5T9W2M4N6P8R0S1\nderived_from: [{memory}]\n---\n# A summary of towers\n\n{MORE}\n"
    notes({"summary.md": quote, "letter.md": f"# A letter\n\nDear Ada, {MORE}\n"})
    made = engine.purge(memory)
    assert [(one.path, one.derived) for one in made.quoted] == [("summary.md", True), ("letter.md", False)]
    assert 0 < made.shared < made.runs
    made = engine.purge(memory, yes=True, with_derived=True)
    assert [one.path for one in made.quoted] == ["letter.md"]
    assert (made.clean, len(made.ids)) == (True, 2)
    assert "summary.md" not in {place.name for place in root.iterdir()}
    assert MORE in (root / "letter.md").read_text()
    assert holding(root, ("xylophone9", "ottokar")) == []


def test_copies_of_other_programs_are_found_and_left(engine, root, memory):
    write(root, ".obsidian/workspace.json", json.dumps({"text": SECRET.replace("violet", "v\u0069olet")}))
    write(root, ".gitignore", (root / ".gitignore").read_text() + "/old/\n*.json\n")
    engine_commit(root)
    write(root, "old/wide.txt", SECRET.encode("utf-16"))
    engine.export_memories(root / "old" / "bundle.json")
    made = engine.purge(memory, yes=True)
    (folder,) = (place for place in made.places if place.name == "the folder")
    assert folder.state == State.FOUND
    assert all(name in folder.detail for name in (".obsidian/workspace.json", "old/wide.txt", "old/bundle.json"))
    assert not made.clean
    assert (root / "old/wide.txt").read_bytes() == SECRET.encode("utf-16")


def engine_commit(root: Path) -> None:
    subprocess.run(["git", "commit", "-qam", "ignore"], cwd=root, check=True)


def test_remotes_are_kept_named_without_a_password_and_with_a_lease(engine, root, git, memory, tmp_path):
    git(root, "clone", "-q", "--bare", ".", str(tmp_path / "far"))
    git(root, "remote", "add", "origin", str(tmp_path / "far"))
    git(root, "fetch", "-q", "origin")
    git(root, "remote", "add", "work", "https://ada:hunter2@example.test/x.git")
    had = git(root, "rev-parse", "origin/main").strip()
    made = engine.purge(memory, yes=True)
    assert holding(root) == []
    places = {place.name: place for place in made.places}
    assert f"git push --force-with-lease=main:{had} origin main" in places["remote origin"].detail
    assert places["remote work"].detail.startswith("https://example.test/x.git")
    assert "hunter2" not in (root / made.file).read_text()
    git(root, "push", "-q", f"--force-with-lease=main:{had}", "origin", "main")
    assert git(root, "remote").split() == ["origin", "work"]


def test_what_is_set_aside_or_left_of_killed_writers_goes_too(engine, root, memory):
    for name in ("broken-1700000000.duckdb", "watch.log", "cache/.atlas-tmp-0123", "cache/x.json"):
        write(root, f".atlas/{name}", SECRET)
    assert engine.purge(memory, yes=True).clean
    assert holding(root) == []


def test_the_fullest_version_is_found_by_the_blob_that_is_named(engine, root, git, notes):
    notes({"old.md": f"# A tower\n\n{SECRET}\n"})
    blob = git(root, "rev-parse", "HEAD:old.md").strip()
    git(root, "rm", "-q", "old.md")
    git(root, "commit", "-qm", "gone")
    id = "01JDXK3Q8ZV5T9W2M4N6P8R0S1"
    notes({"archive/old.md": f"---\nid: {id}\nrung: L0\nfull: {blob}\n---\n# A tower\n"})
    assert blob in engine.purge(id, yes=True).blobs
    assert holding(root) == []


def test_commits_that_messages_name_are_named_by_their_new_ids(engine, root, git, memory):
    owl = engine.ingest("An owl hoots in the pear tree after supper.")[0]
    engine.undo()
    engine.purge(memory, yes=True)
    reason = git(root, "log", "-1", "--skip=2", "--format=%(trailers:key=Atlas-Reason,valueonly)").split()
    assert reason[0] == "reverts"
    assert git(root, "show", "-s", "--format=%s", reason[1]).startswith("Remember An owl")
    engine.restore(owl)
    assert engine.expand(owl).label.startswith("An owl")


def test_what_another_note_says_too_stays_in_its_messages(engine, root, git, notes):
    notes({"letter.md": f"# A letter\n\n{SIBLING}\n\nYours, Bo\n"})
    git(root, "commit", "-q", "--allow-empty", "-m", SIBLING)
    id = engine.ingest(f"{SIBLING} {MORE}")[0]
    made = engine.purge(id, yes=True)
    assert SIBLING in git(root, "log", "--format=%B")
    assert [(one.path, made.clean) for one in made.quoted] == [("letter.md", True)]
    assert holding(root, ("albatross",)) == []


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_a_vault_in_a_folder_of_a_larger_repository(git, tmp_path, form):
    top = tmp_path / "top"
    top.mkdir()
    git(top, "init", "-q", "-b", "main", f"--object-format={form}")
    git(top, "config", "user.name", "Ada Example")
    git(top, "config", "user.email", "ada@example.test")
    write(top, "letter.txt", f"Dear Ada, {MORE}\n")
    write(top, "memories/other.md", "# The violet lighthouse\n\nIn another folder of this name.\n")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "outside")
    template.create(top / "notes" / "vault")
    with MemoryEngine(top / "notes" / "vault") as engine:
        id = engine.ingest(SECRET)[0]
        engine.append(id, MORE)
        made = engine.purge(id, yes=True)
    assert made.clean
    assert [one.path for one in made.quoted] == ["letter.txt"]
    assert MORE in (top / "letter.txt").read_text()
    out = git(top, "cat-file", "--batch-all-objects", "--batch", "--unordered")
    assert not [word for word in ("xylophone9", "ottokar") if word in out.lower()]
    assert git(top, "status", "--porcelain") == ""
    assert git(top, "show", f"HEAD:notes/vault/{made.file}")


def test_a_ref_to_the_very_blob_and_a_merge(engine, root, git, memory):
    (path,) = (path for path in paths(root) if "violet" in path)
    git(root, "tag", "blob", f"HEAD:{path}")
    git(root, "checkout", "-qb", "side", "HEAD~2")
    write(root, "side.md", SIBLING)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "side")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "-m", "joined", "side")
    made = engine.purge(memory, yes=True)
    assert holding(root) == []
    assert [one.now for one in made.refs if one.ref == "refs/tags/blob"] == [""]
    assert git(root, "tag") == ""
    assert len(git(root, "log", "--merges", "-1", "--format=%P").split()) == 2
    assert git(root, "show", "HEAD:side.md") == SIBLING


def test_a_note_that_took_its_path_is_another_and_stays(engine, root, git, memory, notes):
    (path,) = (path for path in paths(root) if "violet" in path)
    other = "---\nid: 01JDXK3Q8ZV5T9W2M4N6P8R0S1\n---\n# An owl\n\nIt hoots in the pear tree after supper.\n"
    notes({path: other})
    engine.purge(memory, yes=True)
    assert (root / path).read_text() == other
    assert holding(root, ("xylophone9", "albatross")) == [], "its name says more, and is the name of another"


def test_what_no_commit_holds_is_said(engine, root, git, notes):
    notes({".gitignore": "/.atlas/\n/loose.md\n"})
    write(root, "loose.md", SECRET)
    with pytest.raises(UsageError, match=r"loose\.md is in no commit: delete the file"):
        engine.purge("loose.md", yes=True)


def test_messages_that_only_share_a_word_stay(engine, root, git, memory):
    write(root, "x.md", "x")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "The violet door, and the keeper of the tower\n\nNothing else.")
    git(root, "commit", "-q", "--allow-empty", "-m", f"quoted\n\n{MORE}\n\nReviewed-by: Bo")
    made = engine.purge(memory, yes=True)
    said = git(root, "log", "-3", "--skip=2", "--format=%B")
    assert f"quoted\n\nPurged {made.digest}\n\nReviewed-by: Bo\n" in said
    assert "The violet door, and the keeper of the tower\n\nNothing else.\n" in said


def test_the_search_finds_it_in_every_place_before(engine, root, memory):
    engine.view("when does the lighthouse open")
    engine.rest()
    repo = open_repo(root)
    before = versions.look(repo)
    told = erase.case(repo, before, versions.find(repo, before, {memory}))
    found = {place.name: place for place in proof.search(told, engine.config, repo, engine._index.texts())}
    looked = ("objects of the repository", "Git's own files", "the index", "caches and journal", "the folder")
    assert [found[name].state for name in looked] == [State.FOUND] * 5
    assert all(kind in found[looked[0]].detail for kind in ("blob", "and"))
    assert "chunks.text" in found["the index"].detail


# ------------------------------------------------------------------- refusing


def test_refused_states(engine, root, git, memory, tmp_path):
    (path,) = (path for path in paths(root) if "violet" in path)
    write(root, "loose.md", "not committed\n")
    with pytest.raises(GitRefused, match="uncommitted work; commit it"):
        engine.purge(memory, yes=True)
    (root / "loose.md").unlink()
    write(root, "atlas.toml", (root / "atlas.toml").read_text() + "\n# changed\n")
    git(root, "add", "atlas.toml")
    with pytest.raises(GitRefused, match="uncommitted work"):
        engine.purge(memory, yes=True)
    git(root, "checkout", "-q", "HEAD", "--", "atlas.toml")
    (root / ".git" / "MERGE_HEAD").write_text(git(root, "commit-tree", "-m", "x", "HEAD^{tree}"))
    with pytest.raises(GitRefused, match="a merge is under way"):
        engine.purge(memory, yes=True)
    (root / ".git" / "MERGE_HEAD").unlink()
    git(root, "worktree", "add", "-q", "-b", "second", str(tmp_path / "second"))
    with pytest.raises(GitRefused, match="has the memory checked out; remove it there"):
        engine.purge(memory, yes=True)
    git(root, "worktree", "remove", str(tmp_path / "second"))
    git(root, "checkout", "-q", "--detach")
    with pytest.raises(GitRefused, match="HEAD is detached"):
        engine.purge(memory, yes=True)
    git(root, "checkout", "-q", "main")
    pack = root / ".git" / "objects" / "pack" / "pack-x.keep"
    pack.parent.mkdir(exist_ok=True)
    pack.touch()
    with pytest.raises(GitRefused, match=r"pack-x\.keep"):
        engine.purge(memory, yes=True)
    pack.unlink()
    assert (root / path).exists()
    assert erase.unfinished(engine.config) is None


def test_refused_in_a_shallow_or_partial_clone_and_in_a_part_of_the_vault(engine, root, git, memory, tmp_path):
    for words, said in ((["--depth=1"], "fetch --unshallow"), (["--filter=blob:none"], "a partial clone")):
        place = tmp_path / words[0]
        git(root, "-c", "uploadpack.allowFilter=true", "clone", "-q", *words, root.as_uri(), str(place))
        with MemoryEngine(place) as clone, pytest.raises(GitRefused, match=said):
            clone.purge(memory, yes=True)
    with MemoryEngine(root, scope="memories/") as part, pytest.raises(UsageError, match="whole vault"):
        part.purge(memory, yes=True)


# ---------------------------------------------------------------------- kills


def purge(root: str, id: str) -> bool:
    with MemoryEngine(root, resident=False) as engine:
        return engine.purge(id, yes=True).clean


STEPS = (
    "after atlas.erase:Case.save",
    "after atlas.committer:Committer.commit",
    "after atlas.objects:Writer.flush",
    "after atlas.rewriting:move",
    "before atlas.erase:clean",
    "before atlas.erase:forget",
    "before atlas.proof:search",
    "before atlas.erase:finished",
)


@pytest.mark.parametrize("step", STEPS)
def test_killed_and_done_again(root, git, step, sound):
    with MemoryEngine(root) as engine:
        engine.ingest(SIBLING)
        id = engine.ingest(SECRET)[0]
        write(root, "first.md", "stashed\n")
        git(root, "add", "-A")
        git(root, "stash", "-q")
    (before,) = (path for path in paths(root) if "boiler" in path)
    assert children.start(purge, str(root), id, dies=step).killed()
    sound(root)
    with MemoryEngine(root) as engine:
        assert engine.retrieve("boiler in the cellar")[0].path == before
        assert engine.ingest("A heron stands in the pond.").applied.committed
        assert engine.purge(id, yes=True).clean
    assert holding(root) == []
    assert git(root, "stash", "list").count("\n") == 1
    assert not (root / ".atlas" / "purge.json").exists()
    assert not list((root / ".atlas" / "pending").iterdir())
    sound(root)


# ------------------------------------------------------------------- sessions


def test_another_engine_writes_nothing_of_it_back(root, memory):
    question = "what is the password of the lighthouse"
    with MemoryEngine(root) as other:
        for _ in range(2):  # the second is not saved at once
            assert "xylophone9" in other.view(question).text
        other.session().settle()
        with MemoryEngine(root) as engine:
            engine.purge(memory, yes=True)
        other.rest()
        assert holding(root) == []
        assert "xylophone9" not in other.view(question).text
        assert memory not in {id for id, _ in other.session().hot()}
    assert holding(root, tuple(set(WORDS) - {"lighthouse"})) == []


def test_a_watcher_brings_nothing_back(root, memory, engine):
    seen = root.parent / "seen"
    with seen.open("wb") as out:
        watcher = subprocess.Popen(command("watch"), cwd=root, env=environment(), stdout=out, stderr=out)
        try:
            wait(lambda: standing.state(engine.config)["running"])
            write(root, ".git/info/exclude", "/later.md\n")
            engine.purge(memory, yes=True)
            write(root, "later.md", "# Later\n\nA heron stands in the pond.\n")
            wait(lambda: "1 added" in seen.read_text())
            assert holding(root) == []
        finally:
            watcher.terminate()
            watcher.wait()
    assert holding(root) == []


def wait(ready: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not ready():
        assert time.monotonic() < until
        time.sleep(0.05)


# ----------------------------------------------------------- the command line


def test_the_command_says_and_does(root, memory, engine):
    asked = atlas("purge", memory, cwd=root)
    assert asked.code == 1
    assert asked.out.startswith("purge: memories/")
    assert "Nothing was done: add --yes" in asked.err
    assert atlas("purge", memory, "--dry-run", cwd=root).code == 0
    assert holding(root) != []
    done = spawn("purge", memory, "--yes", "--json", cwd=root)
    assert (done.code, done.json["clean"], done.json["ids"]) == (0, True, [memory])
    assert holding(root) == []
    assert atlas("purge", memory, "--yes", cwd=root).sentence.startswith("atlas: No memory is called")


def test_the_table_names_each_place(root, memory, engine):
    done = atlas("purge", memory, "--yes", cwd=root)
    assert "the index\tgone\t" in done.out
    assert "the disk\tnot proven\t" in done.out
    assert "Receipt: receipts/" in done.err
