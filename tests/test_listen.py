"""Listening to the folder: what it says equals a scan after whatever happened, and it scans only when it must."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from atlas import config
from atlas.errors import NotAVault
from atlas.listen import Folder, is_local
from atlas.reading import ReadingEngine
from atlas.survey import survey

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of changes within the call")

_scanned: list[str] = []
_watching: list[Path] = []


def _note_scans(event: str, args: tuple[object, ...]) -> None:
    if _watching and event == "os.scandir" and Path(os.fsdecode(str(args[0]))).is_relative_to(_watching[0]):
        _scanned.append(str(args[0]))


sys.addaudithook(_note_scans)


@pytest.fixture
def vault(tmp_path) -> Path:
    root = tmp_path / "vault"
    root.mkdir()
    (root / "atlas.toml").touch()
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "a.md").write_text("# Heron\n\nThe heron stands.\n")
    (root / "sub" / "b.md").write_text("# Boiler\n\nThe valve leaks.\n")
    return root


@pytest.fixture
def folder(vault) -> Iterator[Folder]:
    listening = Folder(config.load(vault), listen=True)
    listening.look()
    yield listening
    listening.close()


@pytest.fixture
def scans(vault) -> Iterator[list[str]]:
    """The folders of the vault that are listed from here on."""
    _scanned.clear()
    _watching.append(vault)
    yield _scanned
    _watching.clear()


def test_nothing_changed_is_known_without_a_scan(folder, scans):
    assert folder.look() is folder.look()
    assert scans == []


def test_a_changed_file_is_looked_at_alone(vault, folder, scans):
    before = folder.look()
    (vault / "sub" / "b.md").write_text("longer than it was before\n" * 3)
    (vault / "a.md").unlink()
    (vault / "new.md").write_text("new")
    now = folder.look()
    assert scans == []
    assert now == survey(config.load(vault))
    assert now.files["a.md" if "a.md" in now.files else "new.md"] != before.files["a.md"]


def test_what_is_no_note_is_not_heard(vault, folder, scans):
    before = folder.look()
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian" / "workspace.json").write_text("{}")
    (vault / "node_modules").mkdir()
    (vault / "picture.png").write_bytes(b"x")
    (vault / ".a.md.swp").write_bytes(b"x")
    assert folder.look() is before
    assert scans == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda v: os.utime(v / "a.md", ns=(1, 1)), id="times"),
        pytest.param(lambda v: (v / "a.md").replace(v / "sub" / "moved.md"), id="renamed file"),
        pytest.param(lambda v: (v / "sub").rename(v / "other"), id="renamed folder"),
        pytest.param(lambda v: shutil.rmtree(v / "sub"), id="removed folder"),
        pytest.param(lambda v: (v / "link.md").symlink_to(v / "a.md"), id="link"),
        pytest.param(lambda v: os.link(v / "a.md", v / "same.md"), id="hard link"),
        pytest.param(lambda v: shutil.copytree(v / "sub", v / "x" / "y" / "z"), id="copied tree"),
        pytest.param(lambda v: Path(os.fsdecode(os.fsencode(v) + b"/caf\xe9.md")).touch(), id="name of no text"),
    ],
)
def test_what_is_heard_is_what_a_scan_finds(vault, folder, change):
    before = folder.look()
    change(vault)
    assert folder.look() == survey(config.load(vault))
    assert folder.look() != before


def test_a_pipe_named_like_a_note_is_none(vault, folder):
    os.mkfifo(vault / "pipe.md")
    assert folder.look() == survey(config.load(vault))


def test_a_folder_made_and_filled_between_two_looks(vault, folder, scans):
    (vault / "made" / "within").mkdir(parents=True)
    (vault / "made" / "within" / "n.md").write_text("first")
    folder.look()
    scans.clear()
    (vault / "made" / "within" / "n.md").write_text("second, and longer")
    assert folder.look() == survey(config.load(vault))
    (vault / "made" / "within" / "late.md").write_text("x")
    scans.clear()
    assert "made/within/late.md" in folder.look().files
    assert scans == []


def test_a_file_with_another_name_outside_is_looked_at_each_time(vault, folder, tmp_path):
    os.link(vault / "a.md", tmp_path / "elsewhere.md")
    folder.close()  # as if it was there when the engine began to listen
    folder.look()
    (tmp_path / "elsewhere.md").write_text("changed through the other name\n")
    assert folder.look() == survey(config.load(vault))


def test_another_folder_in_its_place(vault, folder, tmp_path):
    shutil.copytree(vault, tmp_path / "twin")
    (tmp_path / "twin" / "a.md").write_text("of the twin, which is longer\n")
    vault.rename(tmp_path / "gone")
    (tmp_path / "twin").rename(vault)
    assert folder.look() == survey(config.load(vault))
    (vault / "a.md").write_text("heard again\n")
    assert folder.look() == survey(config.load(vault))


def test_another_folder_in_place_of_one_above(tmp_path):
    """No event of the vault's own tells of it."""
    for place, text in (("above", "of the first"), ("twin", "of the twin, which is longer")):
        (tmp_path / place / "vault").mkdir(parents=True)
        (tmp_path / place / "vault" / "atlas.toml").touch()
        (tmp_path / place / "vault" / "a.md").write_text(text)
    listening = Folder(config.load(tmp_path / "above" / "vault"), listen=True)
    listening.look()
    (tmp_path / "above").rename(tmp_path / "gone")
    (tmp_path / "twin").rename(tmp_path / "above")
    assert listening.look() == survey(config.load(tmp_path / "above" / "vault"))
    listening.close()


def test_a_folder_that_is_gone_is_not_an_empty_vault(vault, folder, tmp_path):
    vault.rename(tmp_path / "gone")
    with pytest.raises(NotAVault):
        folder.look()
    (tmp_path / "gone").rename(vault)
    assert folder.look() == survey(config.load(vault))


def test_more_events_than_the_kernel_keeps(vault, folder):
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    names = [vault / f"n{n}.md" for n in range(3)]
    for turn in range(limit):  # at least one event each, none like the one before
        names[turn % 3].write_text("x" * (turn % 7))
    (vault / "sub" / "last.md").write_text("not heard, the queue was full")
    assert folder.look() == survey(config.load(vault))
    (vault / "sub" / "b.md").write_text("heard again")
    assert folder.look() == survey(config.load(vault))


def test_a_child_process_leaves_its_parent_what_it_hears(vault, folder):
    (vault / "a.md").write_text("changed before the child looked\n")
    child = os.fork()
    if child == 0:  # pragma: no cover - ends here
        os._exit(0 if folder.look() == survey(config.load(vault)) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert folder.look() == survey(config.load(vault))


def test_ignored_files_stay_ignored(vault):
    (vault / "atlas.toml").write_text('[vault]\nignore = ["*.draft.md"]\n')
    folder = Folder(config.load(vault), listen=True)
    folder.look()
    (vault / "x.draft.md").write_text("x")
    (vault / "y.md").write_text("y")
    assert set(folder.look().files) == {"a.md", "sub/b.md", "y.md"}
    folder.close()


def test_disks_of_other_machines_are_scanned():
    assert is_local(Path(tempfile.gettempdir()).resolve()) in {True, False}
    assert not is_local(Path("/proc/self"))
    assert not is_local(Path("/"))  # /proc is mounted below it


def test_without_listening_every_look_scans(vault, scans):
    folder = Folder(config.load(vault), listen=False)
    folder.look()
    scans.clear()
    folder.look()
    assert len(scans) == 3


NAMES = ("a.md", "b.md", "sub/b.md", "sub/c.markdown", "sub/deep/d.md", "other/e.md", "note.txt")
FOLDERS = ("sub", "sub/deep", "other", "new", "new/inner")
STEPS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(("", "x", "longer text"))),
    st.tuples(st.just("remove"), st.sampled_from(NAMES)),
    st.tuples(st.just("swap"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("mkdir"), st.sampled_from(FOLDERS)),
    st.tuples(st.just("move"), st.sampled_from(FOLDERS), st.sampled_from(FOLDERS)),
    st.tuples(st.just("rmtree"), st.sampled_from(FOLDERS)),
    st.tuples(st.just("link"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("look")),
)


def _do(root: Path, step: tuple[str, ...]) -> None:
    places = [root / word for word in step[1:]]
    try:
        match step[0]:
            case "write":
                places[0].write_text(step[2])
            case "remove":
                places[0].unlink()
            case "swap" | "move":
                places[0].rename(places[1])
            case "mkdir":
                places[0].mkdir(parents=True)
            case "rmtree":
                shutil.rmtree(places[0])
            case "link":
                places[1].hardlink_to(places[0])
    except (OSError, ValueError):
        return  # that step was not possible here


@settings(max_examples=60, deadline=None)
@example([("write", "a.md", ""), ("link", "a.md", "b.md"), ("look",), ("remove", "a.md")])
@example([("write", "a.md", ""), ("look",), ("link", "a.md", "note.txt")])
@given(st.lists(STEPS, max_size=25))
def test_law_listening_equals_scanning(steps):
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        (root / "atlas.toml").touch()
        for name in ("sub/deep", "other"):
            (root / name).mkdir(parents=True)
        folder = Folder(config.load(root), listen=True)
        folder.look()
        for step in steps:
            _do(root, step)
            if step[0] == "look":
                assert folder.look() == survey(config.load(root))
        assert folder.look() == survey(config.load(root))
        folder.close()


def test_every_answer_is_of_now_though_nothing_is_scanned(vault, scans):
    with ReadingEngine(vault) as engine:
        assert engine.retrieve("heron")[0].path == "a.md"
        engine.retrieve("heron")
        scans.clear()
        assert not any("zebrafinch" in h.text for h in engine.retrieve("zebrafinch"))
        code = f"open({str(vault / 'sub' / 'b.md')!r}, 'w').write('A zebrafinch, written by another process.')"
        subprocess.run([sys.executable, "-c", code], check=True)
        assert engine.retrieve("zebrafinch")[0].text == "A zebrafinch, written by another process."
        (vault / "sub" / "b.md").write_text("The valve again.")
        assert not any("zebrafinch" in h.text for h in engine.retrieve("zebrafinch"))
        assert scans == []
