"""A: secrets, paths that leave the vault, and texts that are nearly the same."""

from __future__ import annotations

import json
import zlib

import pytest

from atlas.engine import MemoryEngine
from atlas.errors import AtlasError, NotFound, OutsideVault, SecretFound
from atlas.ingest import Request

#: Made-up values in the shape of real ones, in pieces so that no scanner takes this file for a leak.
SECRETS = {
    "a cloud key": "AKIA" + "Q3EXAMPLE7ZT5WNB",
    "a token": "ghp_" + "a8Kd03mZqLw71RtXbN5vYc2HfJ6sGpE4uQ9o",
    "a private key": "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEpAIBAAKCAQEAx8Zk3v\n-----END RSA PRIVATE " + "KEY-----",
    "an address": "postgres://admin:" + "tr0ub4dor3x@db.example.test/main",
    "a header": "Authorization: Bearer " + "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.Zk3vQx81LmNoPq",
}
#: The part of each that must appear nowhere.
TELLING = [
    "Q3EXAMPLE7ZT5WNB", "a8Kd03mZqLw71RtXbN5vYc2HfJ6sGpE4uQ9o", "MIIEpAIBAAKCAQEAx8Zk3v", "tr0ub4dor3x",
    "Zk3vQx81LmNoPq",
]  # fmt: skip
HARMLESS = (
    "Rotate the API key monthly, and the password with it.",
    "The fix is in commit 9f21ef47618f7deecfcebbab9e495514388e8cd8.",
    "The device is 5e0f2f0a-8c55-4a0e-9d3c-0d4f7b1a2c3e in the inventory.",
    'The script reads os.environ["TOKEN"] at start.',
)


def test_a2_an_agent_stores_no_secret(vault):
    """Refused before anything is written, wherever in the call it stands; the value is not even repeated."""
    head = vault.git("rev-parse", "HEAD")
    for name, secret in SECRETS.items():
        with pytest.raises(SecretFound) as refused:
            vault.engine.ingest(f"Here is {name}:\n{secret}\nKeep it.")
        assert not any(value in str(refused.value) for value in TELLING)
    token = SECRETS["a token"]
    for options in ({"label": f"The token {token}"}, {"source": f"https://x.example.test/?t={token}"}):
        with pytest.raises(SecretFound):
            vault.engine.ingest("An innocent text.", **options)
    with pytest.raises(SecretFound):
        vault.engine.append("kettle.md", f"The token is {token}.")
    said = vault.cli("ingest", f"The token is {token}.")
    assert (said.code, said.out) == (1, "")
    assert "secret" in said.err
    assert vault.git("rev-parse", "HEAD") == head
    assert _places_of(vault, said.err) == []
    vault.holds()


def test_a2_ordinary_text_about_secrets_is_stored(vault):
    """Advice, hashes, ids and code pass word for word."""
    stored = [vault.engine.ingest(text) for text in HARMLESS]
    assert [len(s) for s in stored] == [1] * len(HARMLESS)
    for text, (id,) in zip(HARMLESS, stored, strict=True):
        assert text in vault.engine.expand(id).detail
    assert vault.engine.validate() == []
    vault.holds()


def test_a2_a_hand_written_secret_stops_at_the_commit(vault):
    """Named by file, line and kind, staged or not, and never echoed; it is in no log, message or index."""
    text = "".join(f"# {name}\n\n{secret}\n\n" for name, secret in SECRETS.items())
    vault.put("keys.md", text)
    vault.put("advice.md", "\n\n".join(HARMLESS) + "\n")
    vault.stage("keys.md", "advice.md")
    refused = vault.cli("validate", "--staged", "--json")
    assert refused.code == 1
    named = {(f["path"], f["kind"], text.splitlines()[f["line"] - 1]) for f in refused.json["findings"]}
    assert {path for path, _, _ in named} == {"keys.md"}
    assert len(named) == len(SECRETS)
    assert all(any(line in secret for secret in SECRETS.values()) for _, _, line in named)
    vault.engine.search("cloud key")
    vault.engine.status()
    assert _places_of(vault, refused.out, refused.err) == []
    assert [vault.first(name) for name in SECRETS] == ["keys.md"] * len(SECRETS)
    vault.holds({("keys.md", f["line"], "secret") for f in refused.json["findings"]})


def _places_of(vault, *said):
    """Where a secret can be read: what was said, `.atlas`, commits. The notes and the blobs staged by hand may."""
    staged = {line.split()[1] for line in vault.git("ls-files", "-s").splitlines()}
    found = [text for text in said if any(value in text for value in TELLING)]
    found += [vault.git("log", "--all", "-p")] if any(v in vault.git("log", "--all", "-p") for v in TELLING) else []
    for place in [*(vault.root / ".atlas").rglob("*"), *(vault.root / "memories").rglob("*")]:
        if place.is_file() and any(value.encode() in place.read_bytes() for value in TELLING):
            found.append(str(place))
    for place in (vault.root / ".git" / "objects").glob("??/*"):
        blob = place.parent.name + place.name
        if blob not in staged and any(value.encode() in zlib.decompress(place.read_bytes()) for value in TELLING):
            found.append(blob)
    return found


ESCAPES = (
    "../escape.md", "..\\..\\escape.md", "/outside/escape.md", "~/.bashrc.md", "a/../../b.md", "%2e%2e/x.md",
    ".git/hooks/pre-commit.md", "C:evil.md", "nul\0.md", ".atlas/x.md", "GIT~1/x.md", "a/\u200b.git/x.md",
)  # fmt: skip


def test_a4_a_title_is_no_path(vault):
    """Labels that look like paths become plain file names below `memories/`."""
    labels = [name.removesuffix(".md").replace("\0", " ") for name in ESCAPES]
    requests = [Request(f"Harmless text number {n}.", label=label) for n, label in enumerate(labels)]
    stored_all = vault.engine.ingest_many(requests).memories
    assert [stored.label for stored in stored_all] == [" ".join(label.split()) for label in labels]
    for stored in stored_all:
        assert stored.path.startswith("memories/")
        assert (vault.root / stored.path).resolve().is_relative_to(vault.root)
        assert len(stored.path.split("/")) == 4
    _nothing_outside(vault)
    vault.holds()


def test_a4_no_door_leads_outside(vault):
    """Scope, show, tag, adopt, validate and import refuse each of these paths, and nothing is created."""
    secret = vault.root.parent / "escape.md"
    secret.write_text("Not of this vault.\n")
    for path in ESCAPES:
        # A scope is always below the vault, so one with a slash in front is refused only where a path would be.
        with pytest.raises(OutsideVault):
            vault.engine.ingest("Harmless.", scope=path.removesuffix(".md").lstrip("/").replace("outside", ".."))
        doors = (vault.engine.expand, lambda p: vault.engine.tag(p, ["x"]), lambda p: vault.engine.adopt([p]))
        for door in (*doors, lambda p: vault.engine.validate([p])):
            with pytest.raises((OutsideVault, NotFound)):
                door(path)
    bundle = vault.root.parent / "evil.json"
    memories = [{"id": "", "path": path, "text": "Evil.\n"} for path in ESCAPES]
    bundle.write_text(json.dumps({"format": "atlas-bundle", "version": 1, "exported": "", "memories": memories}))
    done = vault.engine.import_memories(bundle)
    assert (done.imported, sorted(skipped.path for skipped in done.skipped)) == (0, sorted(ESCAPES))
    refused = vault.cli("ingest", "Harmless.", "--scope", "../escape")
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert secret.read_text() == "Not of this vault.\n"
    secret.unlink()
    _nothing_outside(vault)
    vault.holds()


def test_a4_links_out_of_the_vault_are_named_and_not_followed(vault):
    """A link to a folder outside, a loop and a linked note: listed; neither read, written, committed nor removed."""
    outside = vault.root.parent / "outside"
    outside.mkdir()
    (outside / "diary.md").write_text("A private xylophone.\n")
    (vault.root / "out").symlink_to(outside)
    (vault.root / "up").symlink_to("..")
    (vault.root / "diary.md").symlink_to(outside / "diary.md")
    (vault.root / "loop.md").symlink_to("loop.md")
    (vault.root / "gone.md").symlink_to(outside / "gone.md")
    assert not {p for p in vault.paths("xylophone", k=50) if "diary" in p}
    for path in ("out/diary.md", "up/outside/diary.md", "diary.md", "loop.md"):
        with pytest.raises(AtlasError):
            vault.engine.tag(path, ["x"])
        with pytest.raises(OutsideVault):
            vault.engine.validate([path])
    for scope in ("out", "up", "up/outside"):
        with pytest.raises(OutsideVault):
            vault.engine.ingest("Harmless.", scope=scope)
    assert [place.name for place in outside.iterdir()] == ["diary.md"]
    assert (outside / "diary.md").read_text() == "A private xylophone.\n"
    assert "diary" not in vault.git("log", "--all", "--name-only", "--format=")
    vault.holds({(path, 0, "link") for path in ("out", "up", "diary.md", "loop.md", "gone.md")})


def test_a4_an_engine_of_a_scope_stays_in_it(vault):
    """Opened with a scope, it neither finds, reads nor writes anything beside it."""
    with MemoryEngine(vault.root, create=False, scope="trips") as engine:
        assert {hit.path for hit in engine.search("beans vinegar lighthouse", k=50).hits} == {"trips/harbour.md"}
        for name in ("kettle.md", "Kettle", "../kettle.md"):
            with pytest.raises((NotFound, OutsideVault)):
                engine.expand(name)
        for scope in ("", "trip", "tripsters", "garden"):
            with pytest.raises(OutsideVault):
                engine.search("beans", scope=scope)
        assert engine.search("beans", scope="trips/..").hits == ()
        for scope in ("trips/..", "trips/../garden", "memories"):
            with pytest.raises(OutsideVault):
                engine.ingest("Harmless.", scope=scope)
    vault.holds()


def _nothing_outside(vault):
    """No file beside the vault, and none of the names under `.git` or in the vault itself."""
    assert {place.name for place in vault.root.parent.iterdir()} <= {vault.root.name, "evil.json"}
    names = {place.name for place in vault.root.rglob("*")}
    assert not {
        name for name in names if name in {"pre-commit", "pre-commit.md", "x.md", "b.md", ".bashrc.md", "evil.md"}
    }


NEAR = (
    "Staging listens on port 5433.",
    "Staging listens on port 5434.",
    "Do not restart node A.",
    "Restart node A.",
    "Run 41: recall 0.812.",
    "Run 42: recall 0.821.",
    "The blue pump feeds the north tank.",
    "The blue pump feeds the north tank and the well.",
    "The well was dug by hand in spring.",
)


def test_a6_nearly_the_same_is_not_the_same(vault):
    """Every text is stored, under an id of its own, and found by its number or its `not`."""
    stored = [vault.engine.ingest(text) for text in NEAR]
    assert [(len(s), s.duplicates) for s in stored] == [(1, ())] * len(NEAR)
    ids = [id for (id,) in stored]
    assert len(set(ids)) == len(NEAR)
    for text, id in zip(NEAR, ids, strict=True):
        assert text in vault.engine.expand(id).detail
        assert vault.hits(text)[0].id == id
    assert [vault.hits(word)[0].id for word in ("5433", "5434", "0.812", "0.821")] == [ids[0], ids[1], ids[4], ids[5]]
    vault.holds(queries=("5433", "restart node A"))


def test_a6_only_the_same_words_are_a_duplicate(vault):
    """The same text again, however spaced, stores nothing and says whose it is; another case of letters is news."""
    (id,) = vault.engine.ingest("Use git branch -d to delete.")
    again = vault.cli("ingest", "--json", "Use  git branch -d\nto delete.").json
    assert (again["memories"], again["duplicates"]) == ([], [id])
    assert again["commit"] == ""
    other = vault.engine.ingest("Use git branch -D to delete.")
    assert (len(other), other.duplicates) == (1, ())
    vault.holds()
