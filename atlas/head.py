"""Which commit HEAD names, read from Git's own files.

A search asks this every time; starting Git for it would cost 5 ms, importing GitPython 65 ms.
"""

from __future__ import annotations

from pathlib import Path


def git_dir(folder: Path) -> Path | None:
    """The Git folder that governs `folder` (a worktree's own, when it is one), or None."""
    for place in (folder, *folder.parents):
        dot = place / ".git"
        if dot.is_dir():
            return dot
        if dot.is_file():
            text = _text(dot)
            return (place / text.removeprefix("gitdir:").strip()).resolve() if text.startswith("gitdir:") else None
    return None


def head_commit(folder: Path) -> str:
    """The commit id HEAD points at, or "" (no repository, no commit yet, or a layout this cannot read)."""
    own = git_dir(folder)
    if own is None:
        return ""
    head = _text(own / "HEAD")
    if not head.startswith("ref:"):
        return head
    ref = head.removeprefix("ref:").strip()
    common = common_dir(own)
    return _text(own / ref) or _text(common / ref) or _packed(common / "packed-refs", ref)


def common_dir(own: Path) -> Path:
    """The Git folder that all worktrees share, given that of one."""
    return own / _text(own / "commondir") if (own / "commondir").is_file() else own


def _packed(file: Path, ref: str) -> str:
    for line in _text(file).splitlines():
        commit, _, name = line.partition(" ")
        if name == ref:
            return commit
    return ""


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
