"""The command contract: what each command prints, where, and with which exit code it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from filelock import FileLock
from shell import atlas, command, environment, new_vault, spawn
from support import write

from atlas.commands import COMMANDS

#: What `--json` holds at least: the words other programs rely on.
KEYS = {
    "init": {"vault", "adopted", "memories"},
    "ingest": {"memories", "commit", "committed", "duplicates"},
    "tag": {"paths", "commit", "committed"},
    "feedback": {"id", "corrected_by", "commit", "committed"},
    "review": {"waiting"},
    "forget": {"plan", "commit", "committed"},
    "duplicates": {"pairs"},
    "adopt": {"paths", "commit", "committed"},
    "mv": {"moved", "links", "left", "commit", "committed", "dry_run"},
    "join": {"moved", "joined", "links", "left", "commit", "committed", "dry_run"},
    "split": {"moved", "links", "left", "commit", "committed", "dry_run"},
    "export": {"exported"},
    "import": {"imported", "skipped"},
    "search": {"hits", "abstained", "confidence", "index"},
    "view": {"text", "tokens", "budget", "items", "omitted"},
    "why-not": {"id", "path", "reason", "detail", "rank", "of", "outranked_by"},
    "show": {"id", "path", "label", "summary", "detail", "meta"},
    "clusters": {"clusters"},
    "stats": {"memories", "tiers", "cache", "clusters"},
    "index": {"added", "changed", "removed", "unchanged", "skipped", "seconds"},
    "status": {"vault", "memories", "index", "hooks", "watcher", "merge_driver", "findings"},
    "validate": {"findings"},
    "hooks": {
        "installed",
        "chained",
        "inactive_reason",
        "missing",
        "edited",
        "folder",
        "command",
        "vaults",
        "merge_driver",
    },
    "log": {"entries"},
    "why": {"entries"},
    "changed": {"entries"},
    "undo": {"commit", "restored"},
    "restore": {"commit", "restored"},
    "maintain": {"ran"},
    "eval": {"passed", "failed", "cases"},
    "merge": {"merged", "conflicts", "left", "commit", "committed"},
    "demo": {"stored", "answers", "undone"},
}
ENTRY = {"commit", "time", "op", "memories", "reason", "actor", "policy"}
#: The same for the rows inside.
ROWS = {
    ("ingest", "memories"): {"id", "path", "label"},
    ("search", "hits"): {"id", "path", "label", "score", "lod", "text", "trust", "why", "copies"},
    ("view", "items"): {"id", "path", "label", "lod", "tokens", "tier", "date", "source", "trust"},
    ("why-not", "outranked_by"): {"id", "path", "label", "rank", "score", "why"},
    ("clusters", "clusters"): {"name", "size", "summary"},
    ("index", "skipped"): {"path", "line", "reason"},
    ("import", "skipped"): {"path", "line", "reason"},
    ("status", "findings"): {"path", "line", "kind", "message"},
    ("validate", "findings"): {"path", "line", "kind", "message"},
    ("mv", "links"): {"path", "line", "from", "to"},
    ("log", "entries"): ENTRY,
    ("why", "entries"): ENTRY,
    ("changed", "entries"): ENTRY,
    ("forget", "plan"): {"id", "from", "to", "activity", "reason"},
    ("maintain", "ran"): {"task", "commit", "changed"},
}
PORT = "The staging database listens on port 5433."
JWT = (
    "JWT token expiration bug: sessions end after five minutes.",
    "JWT refresh token race: two calls each use the old token.",
    "We decided on a sliding window for the JWT refresh token.",
)
BROKEN = "---\ntags: [a\ntitle: open\n---\ntext\n"


def _filled(vault: Path) -> Path:
    """A cluster of three memories, a note without an id and one that cannot be parsed."""
    for text in JWT:
        assert atlas("ingest", text, cwd=vault).code == 0
    write(vault, "plain.md", "# A plain note\n\nNothing but words.\n")
    write(vault, "broken.md", BROKEN)
    return vault


@pytest.fixture
def vault(tmp_path) -> Path:
    """A new vault."""
    return new_vault(tmp_path / "vault")


@pytest.fixture
def full(vault) -> Path:
    """A new vault with a cluster, a plain note and a broken one."""
    return _filled(vault)


@pytest.fixture(scope="module")
def still(tmp_path_factory) -> Path:
    """A filled vault for tests that change nothing."""
    return _filled(new_vault(tmp_path_factory.mktemp("still") / "vault"))


@pytest.fixture
def scenario(full, tmp_path) -> dict[str, tuple[str, ...]]:
    """Words for every command that prints results."""
    id = atlas("ingest", PORT, "--json", cwd=full).json["memories"][0]["id"]
    bundle = str(tmp_path / "bundle.json")
    write(full, "long.md", "# Long\n\n## Part\n\nOf [[long]] and of [[plain]].\n")
    return {
        "init": (), "search": ("jwt token",), "view": ("jwt token", "--budget", "100"),
        "why-not": ("jwt token", id), "show": (id,), "clusters": (), "stats": (), "status": (), "log": (),
        "why": (id,), "changed": ("--since", "2000-01-01"), "export": (bundle,), "import": (bundle,), "undo": (),
        "restore": (id,), "ingest": ("The cat is called Minka.",), "tag": (id, "port"), "adopt": ("plain.md",),
        "mv": ("long.md", "moved.md"), "split": ("moved.md", "Part"), "join": ("plain.md", "moved.md"),
        "validate": (), "hooks": ("install",), "index": ("--rebuild",), "maintain": (), "eval": (),
        "merge": ("--repair",), "demo": (), "feedback": (id, "--good"), "review": (), "duplicates": (), "forget": (id,),
    }  # fmt: skip


def test_each_json_has_the_keys_of_the_contract(scenario, full):
    # Nothing may be uncommitted where something is purged: tests/test_purge.py has its receipt. MCP has its own JSON.
    assert {*KEYS, "completion", "watch", "purge", "chat", "mcp"} == {*COMMANDS}
    seen = set()
    for name, words in scenario.items():
        said = atlas(name, *words, "--json", cwd=full)
        out = said.json
        assert said.code == (1 if name == "validate" else 0), (name, said)
        assert KEYS[name] <= out.keys(), name
        for (of, key), wanted in ROWS.items():
            for row in out[key] if of == name else ():
                assert wanted <= row.keys(), (name, key)
                seen.add((of, key))
    assert seen == set(ROWS)


def test_json_values_mean_what_they_say(full, git):
    stored = atlas("ingest", PORT, "--tag", "db", "--kind", "fact", "--importance", "0.9", "--json", cwd=full).json
    memory = stored["memories"][0]
    assert stored["committed"]
    assert stored["commit"] == git(full, "rev-parse", "HEAD").strip()
    again = atlas("ingest", PORT, "--json", cwd=full).json
    assert again.pop("said") == [f"Nothing was stored: it is stored already, as {memory['id']}."]
    assert again == {"memories": [], "commit": "", "committed": False, "duplicates": [memory["id"]], "note": ""}
    found = atlas("search", "staging port", "-k", "1", "--json", cwd=full).json
    assert [hit["id"] for hit in found["hits"]] == [memory["id"]]
    assert found["index"] == {"tree": stored["commit"], "fresh": True}
    assert found["hits"][0]["why"]["lexical"]["rank"] == 1
    shown = atlas("show", memory["id"], "--json", cwd=full).json
    assert (shown["path"], shown["label"], shown["tags"]) == (memory["path"], memory["label"], ["db"])
    assert shown["meta"]["importance"] == "0.9"
    clusters = atlas("clusters", "--json", cwd=full).json["clusters"]
    assert ("jwt", 3) in [(c["name"], c["size"]) for c in clusters]
    assert len(atlas("clusters", "jwt", "--json", cwd=full).json["clusters"][0]["members"]) == 3
    status = atlas("status", "--json", cwd=full).json
    assert [(f["path"], f["kind"]) for f in status["findings"]] == [("broken.md", "frontmatter")]
    assert status["vault"] == str(full)
    assert status["memories"] == atlas("stats", "--json", cwd=full).json["memories"] == 6
    rebuilt = atlas("index", "--rebuild", "--json", cwd=full).json
    assert (rebuilt["added"], rebuilt["changed"], rebuilt["removed"], rebuilt["unchanged"]) == (6, 0, 0, 0)
    assert atlas("search", "staging", "--kind", "episode", "--json", cwd=full).json["hits"] == []


def test_results_are_on_stdout_and_talk_is_on_stderr(vault):
    said = atlas("ingest", PORT, cwd=vault)
    assert said.out.count("\n") == 1
    assert said.out.split("  ")[1].endswith(".md")
    assert said.err.startswith("Committed ")
    assert atlas("-q", "ingest", JWT[0], cwd=vault).err == ""
    assert atlas("ingest", PORT, cwd=vault).out == ""
    assert atlas("clusters", cwd=vault).out == ""
    assert atlas("search", "zzz", "--kind", "none", cwd=vault) == atlas("search", "", cwd=vault)
    assert atlas("search", "", cwd=vault).err == "Nothing found.\n"
    assert atlas("validate", cwd=vault) == atlas("-q", "validate", cwd=vault)


@pytest.mark.parametrize(
    "words",
    [
        ["frobnicate"], ["search"], ["search", "a", "b"], ["search", "x", "--nope"], ["search", "x", "-k", "0"],
        ["search", "x", "-k", "many"], ["search", "x", "--mode", "slow"], ["search", "x", "--valid-at", "2026-02-30"],
        ["show"], ["show", "x", "--lod", "L9"], ["ingest"], ["ingest", ""], ["ingest", " \n "],
        ["ingest", "a", "--file", "b"], ["ingest", "--file", "absent"], ["ingest", "--file", "."],
        ["ingest", "a", "--importance", "2"], ["ingest", "a", "--valid-from", "soon"], ["ingest", "a", "--tag", "b c"],
        ["changed"], ["log", "--limit", "0"], ["import", "absent"], ["import", "."], ["import", "atlas.toml"],
        ["import", "atlas.toml", "--mode", "mix"], ["export", "no/such/folder.json"], ["completion", "tcsh"],
        ["demo", "--keep", "."], ["stats", "--vault", "x"],
    ],
)  # fmt: skip
def test_wrong_usage_is_one_sentence_and_exit_2(words, still):
    said = atlas(*words, cwd=still)
    assert said.code == 2, said
    assert said.sentence
    assert atlas("-q", *words, cwd=still) == said


@pytest.mark.parametrize(
    "words",
    [
        ["show", "nobody"], ["show", "plain", "--as-of", "nevermore"], ["log", "nobody"], ["why", "nobody"],
        ["restore", "nobody"], ["tag", "nobody", "x"], ["tag", "broken", "x"], ["clusters", "nobody"],
        ["undo", "abcdef"], ["changed", "--since", "never"], ["validate", "absent.md"], ["validate", "../x.md"],
        ["ingest", "x y", "--scope", ".."], ["ingest", "key AKIAIOSFODNN7EXAMPLQ"],
    ],
)  # fmt: skip
def test_what_is_refused_is_one_sentence_and_exit_1(words, still, git):
    before = git(still, "rev-parse", "HEAD"), git(still, "status", "--porcelain")
    said = atlas(*words, cwd=still)
    assert said.code == 1, said
    assert "AKIA" not in said.sentence
    assert before == (git(still, "rev-parse", "HEAD"), git(still, "status", "--porcelain"))


def test_no_words_at_all_is_help_and_exit_2(tmp_path):
    said = atlas(cwd=tmp_path)
    assert (said.code, said.out) == (2, "")
    assert all(name in said.err for name in COMMANDS)
    assert atlas("--help", cwd=tmp_path).out == said.err
    assert atlas("--version", cwd=tmp_path).out.startswith("atlas, version ")


def test_saved_but_not_committed_is_exit_3_and_said_even_when_quiet(vault, git):
    git(vault, "switch", "--quiet", "--detach")
    for words in (["ingest", PORT], ["--quiet", "ingest", JWT[0], "--json"]):
        said = atlas(*words, cwd=vault)
        assert said.code == 3
        assert said.err.startswith("Saved, not committed: HEAD is detached")
    assert not said.json["committed"]
    assert said.json["commit"] == ""
    assert len(atlas("status", "--json", cwd=vault).json["waiting"]) == 2
    git(vault, "switch", "--quiet", "main")
    assert atlas("ingest", JWT[1], cwd=vault).code == 0
    assert atlas("status", "--json", cwd=vault).json["waiting"] == []
    assert git(vault, "status", "--porcelain") == ""


def test_a_busy_writer_is_exit_4(vault):
    write(vault, "atlas.toml", "[index]\nlock_seconds = 0.05\n")
    with FileLock(vault / ".atlas" / "write.lock"):
        said = atlas("ingest", PORT, cwd=vault)
    assert said.code == 4
    assert "try again" in said.sentence
    assert atlas("ingest", PORT, cwd=vault).code == 0


def test_ctrl_c_is_exit_130_and_silent(vault):
    # What a shell starts in the background ignores the signal, and so do its children, unless they say otherwise.
    hears = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{hears}; import atlas.commands as c; print('ready', flush=True); c.main(['ingest', '-'])"
    words = [sys.executable, "-c", code]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, cwd=vault, env=environment(), **pipes) as child:
        assert child.stdout.readline() == b"ready\n"
        # More than a pipe holds: once all is written, it reads, and soon it waits for more. A signal that comes while
        # it loads, or between two reads, would not be heard before the end of stdin.
        child.stdin.write(b"x" * 1_000_000)
        child.stdin.flush()
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err.strip()) == (130, b"", b"")
    assert atlas("stats", "--json", cwd=vault).json["memories"] == 0


def test_a_traceback_is_shown_only_when_asked_for(still):
    quiet = spawn("show", "nobody", cwd=still)
    loud = spawn("show", "nobody", cwd=still, ATLAS_DEBUG="1")
    assert "Traceback" not in quiet.err
    assert "Traceback" in loud.err
    assert loud.err.endswith(quiet.err)
    assert (quiet.code, loud.code) == (1, 1)


@pytest.mark.parametrize("debug", ["", "1"])
def test_an_error_nobody_foresaw_is_one_sentence_too(debug, tmp_path):
    code = "import atlas.commands as c; c.COMMANDS['boom'] = ('absent', ''); c.main(['boom'])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(ATLAS_DEBUG=debug), capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"ModuleNotFoundError" in done.stderr
    assert (b"Traceback" in done.stderr) == bool(debug)


def test_the_clock_can_be_fixed(vault, git):
    memory = atlas("ingest", PORT, "--json", cwd=vault, ATLAS_NOW="2020-02-03T04:05:06+02:00").json["memories"][0]
    assert memory["path"].startswith("memories/2020/02/")
    assert atlas("show", memory["id"], "--json", cwd=vault).json["meta"]["created"] == "2020-02-03T02:05:06Z"
    assert git(vault, "log", "-1", "--format=%at %ct").split() == ["1580695506"] * 2
    for wrong in ("yesterday", "2020-13-01"):
        said = atlas("ingest", JWT[0], cwd=vault, ATLAS_NOW=wrong)
        assert said.code == 2
        assert wrong in said.sentence


def test_undo_and_restore_bring_bytes_back(full, git):
    path = atlas("ingest", PORT, "--json", cwd=full).json["memories"][0]["path"]
    data = (full / path).read_bytes()
    undone = atlas("undo", "--json", cwd=full).json
    assert undone["commit"] == git(full, "rev-parse", "HEAD").strip()
    assert not (full / path).exists()
    assert atlas("search", "staging 5433", "-k", "1", "--json", cwd=full).json["abstained"] is True
    restored = atlas("restore", path, "--json", cwd=full).json
    assert (full / path).read_bytes() == data
    assert restored["restored"] == undone["restored"] == [atlas("show", path, "--json", cwd=full).json["id"]]
    ops = [e["op"] for e in atlas("why", path, "--json", cwd=full).json["entries"]]
    assert ops == ["restore", "undo", "ingest"]
    assert git(full, "status", "--porcelain").split() == ["??", "broken.md", "??", "plain.md"]
    assert atlas("restore", path, cwd=full).code == 2


def test_undo_of_a_named_commit_leaves_later_ones(vault):
    first, second = (atlas("ingest", text, "--json", cwd=vault).json for text in (PORT, "The cat is called Minka."))
    said = atlas("undo", first["commit"], cwd=vault)
    assert said.out == first["memories"][0]["path"] + "\n"
    assert atlas("stats", "--json", cwd=vault).json["memories"] == 1
    assert (vault / second["memories"][0]["path"]).exists()
    assert atlas("undo", cwd=vault).code == 0
    assert "no commit of Atlas to undo" in atlas("undo", cwd=vault).sentence


def test_ids_may_be_files_as_the_shell_names_them(full):
    path = atlas("ingest", PORT, "--json", cwd=full).json["memories"][0]["path"]
    folder, name = (full / path).parent, Path(path).name
    shown = atlas("show", f"./{name}", "--json", cwd=folder).json
    assert shown["path"] == path
    assert atlas("validate", name, cwd=folder).code == 0
    assert atlas("adopt", "../../../plain.md", cwd=folder).out == "plain.md\n"
    assert atlas("tag", name, "port", cwd=folder).out == path + "\n"
    assert len(atlas("log", name, "--json", cwd=folder).json["entries"]) == 2
    assert atlas("--vault", str(full), "show", path, "--json", cwd=full.parent).json["id"] == shown["id"]


def test_the_demo_needs_no_identity_and_touches_no_kept_repository(tmp_path, git):
    bare = {"HOME": str(tmp_path), "GIT_CONFIG_GLOBAL": "/dev/null", "TMPDIR": str(tmp_path)}
    git(tmp_path, "init", "--quiet", "outer")
    said = spawn("demo", "--json", cwd=tmp_path / "outer", **bare)
    assert said.json["undone"]
    assert said.json["answers"]["why do users get logged out?"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["outer"]
    kept = spawn("demo", "--keep", "kept", cwd=tmp_path, **bare)
    assert kept.code == 3
    assert "git config user.name" in kept.err
    assert "demo" not in (tmp_path / "kept" / ".git" / "config").read_text()
    assert "[user]" not in (tmp_path / "outer" / ".git" / "config").read_text()


def test_completion_prints_a_line_that_a_shell_can_use(tmp_path):
    assert atlas("completion", "bash", cwd=tmp_path).out == 'eval "$(_ATLAS_COMPLETE=bash_source atlas)"\n'
    env = environment(_ATLAS_COMPLETE="fish_complete", COMP_WORDS="atlas se", COMP_CWORD="se")
    done = subprocess.run(command(), cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert "search" in done.stdout
