"""The kit for coding agents: what it puts into a project, that nothing of anybody's is lost, and what its hooks do."""

from __future__ import annotations

import json
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import Said, atlas, environment, new_vault

from atlas import MemoryEngine, jsonsplice, kit, ownblock
from atlas.commands import write
from atlas.errors import UsageError

AGENTS = ("claude-code", "codex", "cursor")
ALL = [word for agent in AGENTS for word in ("--agent", agent)]
#: What people have in these files before, in layouts of their own.
FILES = {
    "CLAUDE.md": "# House rules\r\n\r\nNo tabs.\r\n",
    "AGENTS.md": "no newline at the end",
    ".mcp.json": '{"mcpServers": {"other": {"command": "x", "args": []}}, "note": "ü"}',
    ".claude/settings.json": '{\n    "permissions": {"allow": ["Bash(ls:*)"]},\n'
    '    "hooks": {\n        "SessionStart": [\n'
    '            {"matcher": "startup", "hooks": [{"type": "command", "command": "echo hi"}]}\n        ]\n    }\n}\n',
    ".codex/config.toml": 'model = "gpt"   # mine\n\n[mcp_servers.other]\ncommand = "x"\n',
    ".codex/hooks.json": "{}",
    ".cursor/mcp.json": '{\n\t"mcpServers": {\n\t\t"other": {"url": "http://localhost"}\n\t}\n}\n',
    ".cursor/hooks.json": '{\n  "version": 1,\n  "hooks": {"stop": [{"command": "./mine.sh"}]}\n}\n',
}


@pytest.fixture
def vault(tmp_path):
    return new_vault(tmp_path / "my memory")


@pytest.fixture
def project(tmp_path):
    place = tmp_path / "work"
    place.mkdir()
    return place


def _write(project: Path, files=FILES) -> None:
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_bytes(text.encode())


def _files(project: Path) -> dict[str, bytes]:
    return {f.relative_to(project).as_posix(): f.read_bytes() for f in project.rglob("*") if f.is_file()}


def test_an_empty_project_gets_all_of_it_and_gives_it_back(vault, project):
    said = atlas("init", str(vault), *ALL, "--json", cwd=project).json
    assert {entry["what"] for entry in said["files"]} == {"created"}
    made = _files(project)
    assert made.keys() == FILES.keys() | {".cursor/rules/atlas.mdc"}
    for name in ("CLAUDE.md", "AGENTS.md", ".cursor/rules/atlas.mdc"):
        assert b"call `view` with the task" in made[name]
    assert made[".cursor/rules/atlas.mdc"].startswith(b"---\ndescription: ")
    for name in (".mcp.json", ".cursor/mcp.json"):
        server = json.loads(made[name])["mcpServers"]["atlas"]
        assert server["args"][-5:] == ["--vault", str(vault), "mcp", "--actor", server["args"][-1]]
    assert tomllib.loads(made[".codex/config.toml"].decode())["mcp_servers"]["atlas"]["args"][-1] == "codex"
    hooks = json.loads(made[".claude/settings.json"])["hooks"]
    assert hooks.keys() == {"SessionStart", "SessionEnd", "PreCompact"}
    assert json.loads(made[".cursor/hooks.json"])["version"] == 1
    assert {e["what"] for e in atlas("init", str(vault), *ALL, "--json", cwd=project).json["files"]} == {"unchanged"}
    assert _files(project) == made
    assert atlas("init", str(vault), *ALL, "--remove", cwd=project).code == 0
    assert _files(project) == {}


def test_what_is_there_is_kept_and_comes_back_byte_for_byte(vault, project):
    _write(project)
    before = _files(project)
    assert atlas("init", str(vault), *ALL, cwd=project).code == 0
    after = _files(project)
    for name in ("CLAUDE.md", "AGENTS.md", ".codex/config.toml"):
        assert after[name].startswith(before[name])
    settings = json.loads(after[".claude/settings.json"])
    assert settings["permissions"] == {"allow": ["Bash(ls:*)"]}
    assert [group.get("matcher") for group in settings["hooks"]["SessionStart"]] == ["startup", None]
    assert json.loads(after[".mcp.json"])["mcpServers"].keys() == {"other", "atlas"}
    assert json.loads(after[".cursor/hooks.json"])["hooks"]["stop"] == [{"command": "./mine.sh"}]
    assert tomllib.loads(after[".codex/config.toml"].decode())["mcp_servers"].keys() == {"other", "atlas"}
    for line in before[".claude/settings.json"].splitlines()[:-1]:
        assert line.rstrip() in after[".claude/settings.json"]
    assert b"\r\n<!-- atlas:begin -->\r\n" in after["CLAUDE.md"]
    assert atlas("init", str(vault), *ALL, cwd=project).code == 0
    assert _files(project) == after
    assert atlas("init", str(vault), *ALL, "--remove", cwd=project).code == 0
    left = _files(project)
    assert left.pop(".codex/hooks.json", b"{}") == before.pop(".codex/hooks.json")
    assert left == before


def test_what_somebody_adds_behind_it_stays_there(vault, project):
    atlas("init", str(vault), *ALL, cwd=project)
    place = project / ".claude/settings.json"
    mine = {"hooks": [{"type": "command", "command": "echo mine"}]}
    place.write_text(jsonsplice.appended(place.read_text(), ("hooks", "SessionEnd"), mine))
    (project / "CLAUDE.md").write_text((project / "CLAUDE.md").read_text() + "\n# Mine\n")
    before = _files(project)
    assert atlas("init", str(vault), *ALL, cwd=project).code == 0
    assert _files(project) == before
    atlas("init", str(vault), *ALL, "--remove", cwd=project)
    assert json.loads(place.read_text()) == {"hooks": {"SessionEnd": [mine]}}
    assert (project / "CLAUDE.md").read_text() == "\n# Mine\n"


def test_a_dry_run_prints_and_changes_nothing(tmp_path, project):
    _write(project)
    before = _files(project)
    said = atlas("init", str(tmp_path / "none"), *ALL, "--dry-run", cwd=project)
    assert "mcp_servers.atlas" in said.out
    assert "changed" in said.out
    assert _files(project) == before
    assert not (tmp_path / "none").exists()


UNREADABLE = (
    (".mcp.json", "{broken", "claude-code"),
    (".mcp.json", "[]", "claude-code"),
    (".mcp.json", '{"mcpServers": []}', "claude-code"),
    (".claude/settings.json", "// comment\n{}", "claude-code"),
    (".claude/settings.json", '{"hooks": {"SessionStart": {}}}', "claude-code"),
    (".claude/settings.json", '{"hooks": 3}', "claude-code"),
    (".codex/config.toml", "a = = 1", "codex"),
    (".codex/config.toml", "[mcp_servers.atlas]\ncommand = 'mine'\n", "codex"),
    ("CLAUDE.md", "<!-- atlas:begin -->\nhalf\n", "claude-code"),
    ("AGENTS.md", "\xff", "codex"),
)


def test_what_cannot_be_read_is_refused_and_nothing_is_changed(vault, tmp_path):
    for number, (name, text, agent) in enumerate(UNREADABLE):
        project = tmp_path / str(number)
        (project / name).parent.mkdir(parents=True)
        (project / name).write_bytes(text.encode("latin-1"))
        before = _files(project)
        said = atlas("init", str(vault), "--agent", agent, cwd=project)
        assert said.code == 2
        assert said.err.strip().count("\n") == 0
        assert any(word in said.err for word in (name, "hooks", "mcpServers", "atlas:begin")), said.err
        assert _files(project) == before


def test_the_vault_is_found_as_everywhere(vault, project, tmp_path):
    assert atlas("init", "--agent", "codex", cwd=project, ATLAS_VAULT=str(vault)).code == 0
    assert str(vault) in (project / ".codex/config.toml").read_text()
    assert not (project / "atlas.toml").exists()
    other = tmp_path / "other"
    other.mkdir()
    assert atlas("init", "--agent", "cursor", "--project", str(other), cwd=vault).code == 0
    assert str(vault) in (other / ".cursor/mcp.json").read_text()
    assert atlas("init", "--remove", cwd=project).code == 2
    assert "no folder" in atlas("init", str(vault), "--agent", "codex", "--project", "none", cwd=project).err


def test_a_link_stays_a_link(vault, project):
    (project / "AGENTS.md").write_text("# Rules\n")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    assert atlas("init", str(vault), *ALL, cwd=project).code == 0
    assert (project / "CLAUDE.md").is_symlink()
    assert (project / "AGENTS.md").read_text().count("atlas:begin") == 1
    assert atlas("init", str(vault), *ALL, "--remove", cwd=project).code == 0
    assert (project / "AGENTS.md").read_text() == "# Rules\n"


def test_another_vault_takes_the_place_of_the_first(vault, project, tmp_path):
    atlas("init", str(vault), *ALL, cwd=project)
    second = new_vault(tmp_path / "second")
    atlas("init", str(second), *ALL, cwd=project)
    for name, data in _files(project).items():
        assert str(vault).encode() not in data, name
        assert data.count(b"atlas:begin") <= 1
        assert data.count(b"agent-hook session-start") <= 1


# ---------------------------------------------------------------------- hooks


def _line(kind, content, number, **more):
    return json.dumps(
        {"type": kind, "message": {"role": kind, "content": content}, "uuid": f"u{number}", "sessionId": "s1",
         "timestamp": f"2026-05-0{number}T10:00:00.000Z", "cwd": "/work", "isSidechain": False, **more}
    )  # fmt: skip


CLAUDE = [
    json.dumps({"type": "summary", "summary": "Tokens", "leafUuid": "u9"}),
    _line("user", "We decided to use sliding windows for the refresh token of Kestrel, since fixed ones raced.", 1),
    _line("assistant", [{"type": "thinking", "thinking": "hidden heron"}, {"type": "text", "text": "Noted."}], 2),
    _line("assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}], 3),
    _line("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "error: no heron", "is_error": True}], 4),
    _line("user", "side talk about herons", 5, isSidechain=True),
    _line("user", "<command-name>/clear</command-name><system-reminder>herons everywhere</system-reminder>", 6),
    "not json at all",
    _line("user", "Ana prefers tests without mocks.", 7),
]


def _hook(project: Path, file: str, event: str, sent: dict, *, shell: bool = False) -> Said:
    """Call a hook as the agent does: its command line out of the file, JSON on stdin; with `shell`, through one."""
    found = json.loads((project / file).read_text())["hooks"][event][0]
    line = found["command"] if "command" in found else found["hooks"][0]["command"]
    stdin = json.dumps(sent).encode()
    if not shell:
        words = shlex.split(line)
        return atlas(*words[words.index("atlas") + 1 :], cwd=project, stdin=stdin)
    done = subprocess.run(
        ["sh", "-c", line], input=stdin, cwd=project, env=environment(), capture_output=True, check=False
    )
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_a_session_is_remembered_and_put_before_the_next_one(vault, project, tmp_path):
    atlas("init", str(vault), "--agent", "claude-code", cwd=project)
    transcript = tmp_path / "s1.jsonl"
    transcript.write_text("\n".join(CLAUDE[:2]) + "\n")
    sent = {
        "session_id": "s1",
        "transcript_path": str(transcript),
        "cwd": str(project),
        "hook_event_name": "SessionEnd",
    }
    settings = ".claude/settings.json"
    empty = _hook(project, settings, "SessionStart", {**sent, "source": "startup"})
    assert (empty.code, empty.out) == (0, "")
    assert _hook(project, settings, "PreCompact", {**sent, "trigger": "auto"}).code == 0
    with MemoryEngine(vault) as engine:
        begun = {one.id for one in engine.recent(100)}
        assert begun
    transcript.write_text("\n".join(CLAUDE) + "\n")
    assert _hook(project, settings, "SessionEnd", {**sent, "reason": "other"}, shell=True).code == 0
    with MemoryEngine(vault) as engine:
        stored = {one.id for one in engine.recent(100)}
        assert begun < stored
        assert engine.search("who prefers tests without mocks").hits
        texts = [engine.expand(id).detail for id in stored]
        assert not [text for text in texts if "heron" in text and "no heron" not in text]
        assert engine.history(limit=1)[0].actor == "claude-code"
    assert _hook(project, settings, "SessionEnd", {**sent, "reason": "other"}).code == 0
    with MemoryEngine(vault) as engine:
        assert {one.id for one in engine.recent(100)} == stored
    started = _hook(project, settings, "SessionStart", {**sent, "session_id": "s2", "source": "startup"}, shell=True)
    said = json.loads(started.out)["hookSpecificOutput"]
    assert said["hookEventName"] == "SessionStart"
    assert "sliding windows" in said["additionalContext"]
    assert "<memory-" in said["additionalContext"]


@pytest.mark.parametrize(
    ("agent", "file", "start", "end", "lines"),
    [
        (
            "codex", ".codex/hooks.json", "SessionStart", "Stop",
            [
                {"type": "session_meta", "payload": {"id": "s", "cwd": "/work"}},
                {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": "<environment_context>heron</environment_context>"}]}},
                {"type": "response_item", "timestamp": "2026-05-01T10:00:00Z", "payload": {
                    "type": "message", "role": "user",
                    "content": [{"type": "input_text", "text": "Bo decided that Kestrel deploys on Mondays."}]}},
                {"type": "event_msg", "payload": {"type": "user_message", "message": "Bo decided"}},
            ],
        ),
        (
            "cursor", ".cursor/hooks.json", "sessionStart", "sessionEnd",
            [{"role": "user", "message": {"content": [
                {"type": "text", "text": "Bo decided that Kestrel deploys on Mondays."}]}}],
        ),
    ],
)  # fmt: skip
def test_the_other_agents_do_the_same(vault, project, tmp_path, agent, file, start, end, lines):
    atlas("init", str(vault), "--agent", agent, cwd=project)
    transcript = tmp_path / "t.jsonl"
    transcript.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    sent = {"conversation_id": "c1", "transcript_path": str(transcript), "cwd": str(project)}
    ended = _hook(project, file, end, sent)
    assert (ended.code, ended.out) == (0, "")
    found = json.loads(_hook(project, file, start, sent).out)
    text = found.get("additional_context") or found["hookSpecificOutput"]["additionalContext"]
    assert "deploys on Mondays" in text
    assert "heron" not in text


def test_a_hook_never_orders_the_agent_to_stop(vault, tmp_path):
    cases = (
        (vault, b"not json"),
        (vault, b"[]"),
        (vault, json.dumps({"transcript_path": str(tmp_path / "none.jsonl")}).encode()),
        (tmp_path / "no vault", b"{}"),
    )
    for place, stdin in cases:
        said = atlas("--vault", str(place), "agent-hook", "session-end", cwd=tmp_path, stdin=stdin)
        assert said.code == 1
        assert said.sentence
    assert atlas("--vault", str(vault), "agent-hook", "session-end", cwd=tmp_path).code == 0


# ----------------------------------------------------------------------- laws

_KEYS = st.text(st.sampled_from('ab"\\ü {}[],:'), min_size=1, max_size=4)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(_KEYS, inner, min_size=1, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(_KEYS, _JSON, max_size=4)
_LAYOUTS = st.sampled_from([{}, {"indent": 2}, {"indent": "\t"}, {"indent": 4, "ensure_ascii": False}])


@given(_OBJECTS, _LAYOUTS, st.booleans(), _JSON)
def test_an_entry_put_in_and_taken_out_leaves_every_byte(found, layout, crlf, value):
    text = json.dumps(found, **layout) + "\n"
    text = text.replace("\n", "\r\n") if crlf else text
    for path in (("atlas",), ("servers", "atlas")):
        made = jsonsplice.put(text, path, value)
        assert json.loads(made) == {**found, **({"atlas": value} if len(path) == 1 else {"servers": {"atlas": value}})}
        assert jsonsplice.put(made, path, value) == made
        back = jsonsplice.taken(made, path)
        assert json.loads(back) == found
        assert back == text or not found
    listed = jsonsplice.appended(jsonsplice.appended(text, ("hooks", "x"), 1), ("hooks", "x"), {"ours": value})
    assert json.loads(listed)["hooks"]["x"] == [1, {"ours": value}]
    assert json.loads(jsonsplice.without(listed, ("hooks", "x"), lambda one: one == 1))["hooks"]["x"] == [
        {"ours": value}
    ]


@given(st.text(st.sampled_from("ab\n\r# <!->")), st.sampled_from([("<!--", "-->"), ("#", "")]), st.booleans())
def test_a_block_put_in_and_taken_out_leaves_every_byte(text, marks, twice):
    text = text.replace("\r", "")
    text = text.replace("\n", "\r\n") if twice else text
    made = ownblock.put(text, "ours\n\nand more", *marks)
    assert made.startswith(text)
    assert ownblock.put(made, "ours\n\nand more", *marks) == made
    assert ownblock.put(ownblock.put(made, "other", *marks), "ours\n\nand more", *marks) == made
    assert ownblock.taken(made, *marks) == text
    assert ownblock.taken(f"{made}after\n", *marks).endswith("after\n")


def test_the_kit_knows_the_agents_the_command_names(tmp_path):
    assert write.AGENTS == kit.AGENTS
    with pytest.raises(UsageError, match="claude-code"):
        kit.plan("another", tmp_path, kit.Program(("atlas",), tmp_path))
