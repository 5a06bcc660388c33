"""Which vault a command means, making and adopting one, and terminals that are not what one hopes for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from shell import atlas, command, environment, new_vault, spawn
from support import write

from atlas.template import shipped

NOTE = b"\xef\xbb\xbf---\r\ntags: [a]\r\n---\r\n# One\r\n\r\nno newline at the end"
LATIN = b"# Caf\xe9\n"


@pytest.fixture(scope="module")
def vault(tmp_path_factory) -> Path:
    """A vault with one memory, for tests that change nothing."""
    made = new_vault(tmp_path_factory.mktemp("vault") / "vault")
    assert atlas("ingest", "The café of Zoë closes at five: 日本語.", cwd=made).code == 0
    return made


def test_the_vault_is_the_option_then_the_variable_then_the_nearest_parent(tmp_path):
    places = {}
    for name in ("option", "variable", "parent"):
        places[name] = tmp_path / name
        assert atlas("init", str(places[name]), "--json", cwd=tmp_path).json["vault"] == str(places[name])
    below = places["parent"] / "a" / "b"
    below.mkdir(parents=True)

    def chosen(*words: str, **env: str) -> str:
        return atlas(*words, "status", "--json", cwd=below, **env).json["vault"]

    variable = str(places["variable"])
    assert chosen() == str(places["parent"])
    assert chosen(ATLAS_VAULT="") == str(places["parent"])
    assert chosen(ATLAS_VAULT=variable) == variable
    assert chosen("--vault", "../../../option", ATLAS_VAULT=variable) == str(places["option"])


@pytest.mark.parametrize(("words", "env"), [([], {}), (["--vault", "absent"], {}), ([], {"ATLAS_VAULT": "absent"})])
def test_no_vault_says_how_to_make_one(words, env, tmp_path):
    said = atlas(*words, "stats", cwd=tmp_path, **env)
    assert said.code == 1
    assert "atlas init" in said.sentence
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"[vault", "not valid TOML"),
        (b"vault = 3", "[vault] must be a table"),
        (b"[git]\ncommit = 'yes'", "git.commit cannot be 'yes'"),
        (b"[vault]\nignore = [1]", "vault.ignore cannot be [1]"),
        (b"[index]\nlock_seconds = 0", "index.lock_seconds cannot be 0"),
        (b'[search]\nembedding = "bert"', "search.embedding cannot be 'bert'"),
        (b"\xff\xfe[", "not valid TOML"),
    ],
)
@pytest.mark.parametrize("word", ["stats", "init"])
def test_a_broken_atlas_toml_is_named_and_left_alone(text, expected, word, tmp_path):
    write(tmp_path, "atlas.toml", text)
    said = atlas(word, cwd=tmp_path)
    assert said.code == 2
    assert expected in said.sentence
    assert str(tmp_path / "atlas.toml") in said.sentence
    assert [p.name for p in tmp_path.iterdir()] == ["atlas.toml"]
    assert (tmp_path / "atlas.toml").read_bytes() == text


def test_a_new_vault_is_the_template_in_one_commit(repo, git):
    made = atlas("init", "--json", cwd=repo).json
    assert (made["vault"], made["adopted"], made["memories"], made["note"]) == (str(repo), False, 0, "")
    assert git(repo, "ls-files").split() == sorted(made["added"]) == [".gitattributes", ".gitignore", "atlas.toml"]
    assert git(repo, "status", "--porcelain", "--ignored").split() == ["!!", ".atlas/"]
    for name in made["added"]:
        assert (repo / name).read_bytes() == (shipped("vault-template") / name).read_bytes()
    head = git(repo, "rev-parse", "HEAD")
    again = atlas("init", "--json", cwd=repo).json
    assert (again["added"], again["adopted"], git(repo, "rev-parse", "HEAD")) == ([], False, head)
    assert atlas("init", cwd=repo).out == f"A vault already: {repo} (0 memories)\n"


def test_a_new_vault_without_an_identity_says_what_git_needs(tmp_path):
    said = atlas("init", "new/vault", cwd=tmp_path)
    assert said.code == 0
    assert said.out == f"New vault: {tmp_path / 'new' / 'vault'} (0 memories)\n"
    assert "git config user.name" in said.err
    assert atlas("--vault", "other", "init", cwd=tmp_path).code == 0
    assert (tmp_path / "other" / "atlas.toml").exists()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, b"# Atlas: everything derived from the notes\n/.atlas/\n.atlas-tmp-*\n"),
        (b"", b"# Atlas: everything derived from the notes\n/.atlas/\n.atlas-tmp-*\n"),
        (b"private/", b"private/\n# Atlas: everything derived from the notes\n/.atlas/\n.atlas-tmp-*\n"),
        (b"a\r\nb\r\n", b"a\r\nb\r\n# Atlas: everything derived from the notes\r\n/.atlas/\r\n.atlas-tmp-*\r\n"),
        (b"/.atlas/\nx", b"/.atlas/\nx\n# Atlas: everything derived from the notes\n.atlas-tmp-*\n"),
        (b"caf\xe9", b"caf\xe9\n# Atlas: everything derived from the notes\n/.atlas/\n.atlas-tmp-*\n"),
    ],
)
def test_adopting_touches_no_note_and_keeps_what_is_ignored(before, after, repo, git):
    write(repo, "One.md", NOTE)
    write(repo, "sub folder/Café.markdown", LATIN)
    write(repo, "picture.png", b"\x89PNG")
    if before is not None:
        write(repo, ".gitignore", before)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "mine")
    made = atlas("init", "--json", cwd=repo).json
    assert (made["adopted"], made["memories"]) == (True, 2)
    assert (repo / "One.md").read_bytes() == NOTE
    assert (repo / "sub folder/Café.markdown").read_bytes() == LATIN
    assert (repo / ".gitignore").read_bytes() == after
    changed = git(repo, "status", "--porcelain").split("\n")
    assert {line[3:] for line in changed if line} == {".gitattributes", ".gitignore", "atlas.toml"}
    assert git(repo, "log", "--format=%s") == "mine\n"
    assert atlas("init", "--json", cwd=repo).json["added"] == []
    assert (repo / ".gitignore").read_bytes() == after


def test_a_folder_without_git_gets_a_repository_and_no_commit(tmp_path, git):
    write(tmp_path, "One.md", NOTE)
    said = atlas("init", cwd=tmp_path)
    assert said.out == f"Adopted {tmp_path} (1 memory)\n"
    assert "when you are ready" in said.err
    assert git(tmp_path, "status", "--porcelain").count("??") == 4
    assert (tmp_path / "One.md").read_bytes() == NOTE


def test_a_vault_inside_a_larger_repository_shares_it(first, git):
    made = atlas("init", "docs/memory", "--json", cwd=first).json
    folder = first / "docs" / "memory"
    assert made["vault"] == str(folder)
    assert not (folder / ".git").exists()
    assert git(first, "show", "--name-only", "--format=").split() == [
        f"docs/memory/{name}" for name in (".gitattributes", ".gitignore", "atlas.toml")
    ]
    assert atlas("ingest", "The bridge opens at noon.", cwd=folder).code == 0
    assert atlas("stats", "--json", cwd=folder).json["memories"] == 1
    assert atlas("stats", cwd=first).code == 1
    assert git(first, "status", "--porcelain") == ""


def test_a_file_is_no_folder(tmp_path):
    write(tmp_path, "file", "x")
    for name in ("file", "file/below"):
        said = atlas("init", name, cwd=tmp_path)
        assert said.code in {1, 2}
        assert "file" in said.sentence
    assert (tmp_path / "file").read_text() == "x"


# ------------------------------------------------------------------- terminals


@pytest.mark.parametrize(
    "env",
    [
        {"LANG": "C", "LC_ALL": "C"},
        {"LANG": "C", "PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "7"},
    ],
)
def test_no_locale_and_no_terminal_breaks_a_result(env, vault):
    said = spawn("search", "Zo", "--tag", "absent", cwd=vault, **env)
    assert (said.code, said.out, said.err) == (0, "", "Nothing found.\n")
    assert "café of Zoë closes at five: 日本語" in spawn("search", "closes", cwd=vault, **env).out
    hits = spawn("search", "closes", "--json", cwd=vault, **env).json["hits"]
    assert "日本語" in hits[0]["text"]


def test_a_reader_that_leaves_early_is_no_error(vault):
    for words in (["log"], ["status", "--json"], ["search", "closes"], ["--help"], ["log", "--help"]):
        with subprocess.Popen(
            command(*words), cwd=vault, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as child:
            child.stdout.close()
            err = child.stderr.read()
        assert (child.returncode, err) == (0, b""), words


@pytest.mark.parametrize(("closed", "code"), [(">&-", 0), ("2>&-", 0), ("<&-", 0), (">/dev/full", 1)])
def test_closed_and_full_streams_end_without_a_traceback(closed, code, vault):
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *command("stats")],
        cwd=vault,
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"foresee" not in done.stderr
    asked = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", *command("ingest", "-")],
        cwd=vault,
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert asked.returncode == 2
    assert b"stdin is closed" in asked.stderr


def test_a_terminal_gets_a_table_and_a_pipe_gets_tabs(vault):
    assert atlas("stats", cwd=vault).out.startswith("memories  1\n")
    for text in ("The JWT is short.", "The JWT is long.", "The JWT is gone."):
        assert atlas("ingest", text, cwd=vault).code == 0
    assert atlas("clusters", cwd=vault).out.split("\t")[:2] == ["jwt", "3"]
    master, slave = os.openpty()
    env = environment(TERM="xterm", COLUMNS="100")
    done = subprocess.run(command("clusters"), cwd=vault, env=env, stdout=slave, stderr=slave, check=False)
    os.close(slave)
    shown = os.read(master, 10_000).decode()
    os.close(master)
    assert done.returncode == 0
    assert "cluster" in shown
    assert "summary" in shown
    assert "\t" not in shown


@pytest.mark.parametrize(
    ("data", "label"),
    [
        ("Die Tür ist zu.".encode(), "Die Tür ist zu"),
        ("\ufeffDie Uhr steht.\r\n".encode(), "Die Uhr steht"),
        ("Die Mühle läuft.".encode("latin-1"), "Die Mühle läuft"),
        ("Die Brücke hält.".encode("utf-16"), "Die Brücke hält"),
        ("Der Preis: 5 €.".encode("cp1252"), "Der Preis: 5 €"),
    ],
)
def test_texts_from_stdin_and_files_in_any_encoding(data, label, tmp_path):
    made = new_vault(tmp_path / "vault")
    write(tmp_path, "text", data)
    by_file = atlas("ingest", "--file", "../text", "--json", cwd=made).json["memories"]
    assert [m["label"] for m in by_file] == [label]
    for words in (["-"], ["--file", "-"]):
        assert atlas("ingest", *words, "--json", cwd=made, stdin=data).json["duplicates"] == [by_file[0]["id"]]
    assert (made / by_file[0]["path"]).read_bytes().decode().count(label) >= 1


@pytest.mark.parametrize("data", [b"\x00\x01\x02\xff\xfe\x00", b"%PDF-1.4\x00\x00\xff"])
def test_a_binary_file_is_refused(data, vault):
    said = atlas("ingest", "-", cwd=vault, stdin=data)
    assert said.code == 1
    assert "not text" in said.sentence
