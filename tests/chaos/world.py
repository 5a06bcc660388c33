"""A vault that everything happens to, and the account of what must still be there afterwards.

Every text that anyone writes holds a token of its own. A token that was saved must be in a file of the vault or in a
commit that a branch leads to; whoever loses one loses text.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import children

from atlas.engine import MemoryEngine
from atlas.errors import AtlasError
from chaos import agents, editors

TOKEN = re.compile(rb"token[0-9]+x")
MARKER = re.compile(rb"^(?:<{7}|={7}|>{7}|\|{7})(?: [^\n]*)?\n", re.MULTILINE)
#: Where a process dies while it writes, commits or indexes.
DEATHS = (
    "after atlas.pending:note", "before atlas.vault:_replace", "before atlas.vault:_create",
    "before atlas.vault:_sync_folder", "before atlas.commits:_commit_object", "before atlas.commits:_move",
    "after atlas.commits:_move", "before atlas.pending:fulfilled", "before atlas.store:transaction",
    "after atlas.store:insert", "before atlas.store:Store.publish",
)  # fmt: skip
#: What a clock says after a jump.
CLOCKS = ("1999-12-31T23:59:59Z", "2099-01-01T00:00:00Z", "2026-02-28T12:00:00+05:30")
#: Subjects of commits that a person makes here; Atlas's own carry its trailer.
BY_HAND = ("by hand", "Merge ")


@dataclass
class Tally:
    """What was counted: rounds, and everything that must stay nought."""

    rounds: int = 0
    lost_texts: set[str] = field(default_factory=set)
    lost_memories: set[str] = field(default_factory=set)
    stray_commits: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)

    @property
    def losses(self) -> int:
        """Everything that went wrong."""
        return len(self.lost_texts) + len(self.lost_memories) + len(self.stray_commits) + len(self.wrong)


class World:
    """One vault, one engine that lives through it all, and what may happen to it."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.dice, self.tally = root, random.Random(seed), Tally()
        self.story: list[str] = []
        self.engine = MemoryEngine(root, create=False)
        self._serial = seed * 1_000_000
        self._saved: set[str] = set()
        self._ids: set[str] = set()
        self._branches = ["main"]
        self._told = root.parent / "told"

    def close(self) -> None:
        """Let go of the engine."""
        self.engine.close()

    # --------------------------------------------------------------- the rounds

    def turn(self) -> None:
        """One thing happens."""
        name, work = self.dice.choice(self._happenings())
        self.story.append(name)
        self.tally.rounds += 1
        self.tally.done[name] += 1
        work()

    def _happenings(self) -> list[tuple[str, Callable[[], None]]]:
        often = [self.save, self.save, self.save, self.ingest, self.append, self.new_note, self.commit]
        rare = [
            self.delete, self.rename, self.move_folder, self.contend, self.kill, self.kill, self.full_disk,
            self.clock, self.branch, self.switch, self.merge, self.rebase, self.second_committer, self.odd_times,
        ]  # fmt: skip
        return [(work.__name__, work) for work in [*often, *often, *rare]]

    def token(self) -> str:
        """A text nobody has written yet."""
        self._serial += 1
        return f"token{self._serial}x"

    def notes(self) -> list[Path]:
        """Every note in the folder."""
        found = self.root.rglob("*.md")
        return sorted(note for note in found if not any(p.startswith(".") for p in note.relative_to(self.root).parts))

    def _note(self) -> Path:
        found = self.notes()
        if not found:
            self.new_note()
            found = self.notes()
        return self.dice.choice(found)

    # ---------------------------------------------------------------- a person

    def save(self) -> None:
        """An editor saves a note with one more line, in one of six ways."""
        note, word = self._note(), self.token()
        style = self.dice.choice(editors.STYLES)
        style(note, note.read_bytes() + f"\nA person wrote {word}.\n".encode())
        self._saved.add(word)

    def new_note(self) -> None:
        """A person writes a new note, perhaps in new folders."""
        word = self.token()
        folder = self.root / self.dice.choice(["", "area", "area/deep", f"new-{self._serial % 7}/in"])
        folder.mkdir(parents=True, exist_ok=True)
        head = self.dice.choice(["", "---\ntags: [x, y]\n---\n", "---\r\ntitle: T\r\n---\r\n", "\ufeff"])
        (folder / f"note-{word}.md").write_bytes(f"{head}# Note {word}\n\nSee [[note]].\n".encode())
        self._saved.add(word)

    def commit(self) -> None:
        """A person commits all there is."""
        self.git("add", "-A")
        self.git("commit", "-qm", "by hand")

    def delete(self) -> None:
        """A person deletes a note that Git has."""
        note = self._note()
        self.commit()
        note.unlink()

    def rename(self) -> None:
        """A note gets another name."""
        note = self._note()
        note.rename(note.with_name(f"renamed-{self.token()}.md"))

    def move_folder(self) -> None:
        """A folder is renamed as a whole."""
        folders = [p for p in self.root.iterdir() if p.is_dir() and not p.name.startswith(".")]
        if folders:
            folder = self.dice.choice(folders)
            folder.rename(folder.with_name(f"folder-{self._serial}"))
            self._serial += 1

    def odd_times(self) -> None:
        """A sync program gives a note a time of its own."""
        os.utime(self._note(), (self.dice.choice([0, 10**9, 4 * 10**9]),) * 2)

    # -------------------------------------------------------------------- Atlas

    def ingest(self) -> None:
        """An agent stores a memory."""
        self._told_stored(self.engine.ingest(self._sentence()))

    def append(self) -> None:
        """An agent adds to a memory."""
        word = self.token()
        try:
            self.engine.append(self._path(self._note()), f"An agent wrote {word}.")
        except AtlasError as refused:  # a note whose metadata cannot be read, or two of one name
            self.story.append(f"  refused: {refused}")
        else:
            self._saved.add(word)

    def contend(self) -> None:
        """An agent adds to a note three times while an editor saves it."""
        note, words = self._note(), [self.token() for _ in range(4)]
        child = children.start(agents.add_lines, str(self.root), self._path(note), words[:3])
        time.sleep(self.dice.random() * 0.05)
        if note.exists():
            editors.renamed_over(note, note.read_bytes() + f"\nA person wrote {words[3]}.\n".encode())
            self._saved.add(words[3])
        self._saved.update(child.result())

    def clock(self) -> None:
        """An agent stores a memory while the clock is far off."""
        self._saved.update(self._child(agents.store, [self._sentence()], env={"ATLAS_NOW": self.dice.choice(CLOCKS)}))

    def kill(self) -> None:
        """A process of Atlas is killed somewhere in the middle of storing; what it was told is stored, is."""
        dies = self.dice.choice(DEATHS) if self.dice.random() < 0.6 else ""
        self._told.write_text("")
        words = [str(self.root), [self._sentence() for _ in range(4)], str(self._told)]
        child = children.start(agents.store_and_tell, *words, dies=dies)
        if not dies:
            time.sleep(self.dice.random() * 0.4)
            child.kill()
        elif not child.killed():
            self.story.append(f"  not reached: {dies}")
        self._saved.update(self._told.read_text().split())

    def full_disk(self) -> None:
        """There is room for some files, not for others."""
        self._saved.update(
            self._child(agents.store_in_little_room, self._sentence(), self.dice.choice([0, 200, 3000, 40_000]))
        )

    def second_committer(self) -> None:
        """Somebody runs `git add -A` and `git commit` in a loop while an agent stores and an editor saves."""
        loop = subprocess.Popen(
            ["sh", "-c", "while :; do git add -A; git commit -qm 'by hand'; sleep 0.02; done"], cwd=self.root,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            for _ in range(2):
                self.ingest()
                self.save()
        finally:
            # Asked to end, Git removes its lock; a lock that a killed one leaves is its owner's to remove.
            os.killpg(loop.pid, signal.SIGTERM)
            loop.wait()
            self._wait_for_git()

    # --------------------------------------------------------------------- Git

    def branch(self) -> None:
        """A new branch."""
        self.commit()
        self._branches.append(f"branch-{len(self._branches)}")
        self.git("switch", "-qc", self._branches[-1])

    def switch(self) -> None:
        """Another branch."""
        self.commit()
        self.git("switch", "-q", self.dice.choice(self._branches))

    def merge(self) -> None:
        """Another branch is merged; what conflicts, a person resolves by keeping both."""
        self.commit()
        self.git("merge", "-q", "--no-edit", self.dice.choice(self._branches))
        self._resolve("-c", "core.editor=true", "commit", "-q", "--no-edit")

    def rebase(self) -> None:
        """Put this branch on another one, with an agent that stores something while it stands still."""
        self.commit()
        self.git("branch", "-f", f"kept-{self._serial}")
        self.git("rebase", "-q", self.dice.choice(self._branches))
        if self._busy():
            self.ingest()
        self._resolve("-c", "core.editor=true", "rebase", "--continue")

    def _resolve(self, *words: str) -> None:
        for _ in range(30):
            if not self._busy():
                return
            unmerged = {row.split("\t")[1] for row in self.git("ls-files", "-uz").split("\0") if row}
            for path in unmerged:
                place = self.root / path
                if place.exists():
                    place.write_bytes(MARKER.sub(b"", place.read_bytes()))
                self.git("add", "-A", "--", path)
            if self.git("diff", "--cached", "--quiet", check=True) and words[-1] == "--continue":
                words = (*words[:-1], "--skip")
            self.git(*words)
        self.tally.wrong.append(f"Git does not get out of {words}: {self.git('status')}")

    def _busy(self) -> bool:
        names = ("rebase-merge", "rebase-apply", "MERGE_HEAD")
        return any((self.root / ".git" / name).exists() for name in names)

    def _wait_for_git(self) -> None:
        lock = self.root / ".git" / "index.lock"
        for _ in range(200):
            if not lock.exists():
                return
            time.sleep(0.01)
        lock.unlink()  # left by the loop that was just ended, and by nobody else

    def git(self, *words: str, check: bool = False) -> str:
        """Git as a person runs it; with `check`, "" if it succeeds and "failed" if not."""
        ran = subprocess.run(["git", *words], cwd=self.root, capture_output=True, check=False)
        return ("failed" if ran.returncode else "") if check else ran.stdout.decode("utf-8", "replace")

    # ------------------------------------------------------------- the account

    def audit(self) -> None:
        """Count what is missing: texts, memories, and commits nobody asked for."""
        self._told_stored(self.engine.ingest(self._sentence()))  # whatever waits is picked up by the next writer
        held = set(TOKEN.findall(self._everything()))
        self.tally.lost_texts |= {word for word in self._saved if word.encode() not in held}
        self.tally.lost_memories |= {id for id in self._ids if id.encode() not in self._everything()}
        seen: set[str] = set()
        for row in self.git(
            "log", "--format=%H%x00%s%x00%(trailers:key=Atlas-Op,valueonly,separator=%x2C)"
        ).splitlines():
            sha, subject, op = row.split("\0")
            if not op and not subject.startswith(BY_HAND):
                self.tally.stray_commits.append(f"{sha} {subject}")
            if op == "ingest" and (subject in seen):
                self.tally.stray_commits.append(f"{sha} {subject}, a second time")
            seen.add(subject)

    def _everything(self) -> bytes:
        """All text in the folder and in every commit a branch leads to."""
        objects = self.git("rev-list", "--objects", "--all", "--filter=object:type=blob", "--no-object-names")
        ids = "".join(f"{line}\n" for line in objects.split())
        ran = subprocess.run(
            ["git", "cat-file", "--batch"], cwd=self.root, input=ids.encode(), capture_output=True, check=True
        )
        return ran.stdout + b"".join(note.read_bytes() for note in self.notes())

    def _told_stored(self, stored: object) -> None:
        for memory in stored.memories:  # type: ignore[attr-defined]
            self._ids.add(memory.id)
            self._saved.update(re.findall("token[0-9]+x", memory.label))

    def _sentence(self) -> str:
        word = self.token()
        return f"{word} is what gauge {self._serial % 97} of the {self.dice.choice(['weir', 'sluice', 'lock'])} read."

    def _path(self, note: Path) -> str:
        return note.relative_to(self.root).as_posix()

    def _child(self, function: Callable[..., list[str]], *args: object, env: dict[str, str] | None = None) -> list[str]:
        return children.start(function, str(self.root), *args, env=env).result()
