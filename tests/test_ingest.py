"""From texts to planned files: how many memories, what each file says, what is a repeat, who shares a cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas import markdown
from atlas.errors import NotText, SecretFound, UsageError
from atlas.ingest import SLUG_CHARS, Draft, Plan, Request, plan_batch
from atlas.membership import FEWEST, MOST_CLUSTERS, MOST_MEMBERS, plan_clusters
from atlas.memory import Scope
from atlas.parts import MEMORY_WORDS, size, split
from atlas.paths import check_path

NOW = datetime(2026, 11, 30, 9, 30, 15, 999, tzinfo=UTC)
JWT = ["JWT token expiration bug", "JWT refresh token race condition", "JWT sliding window strategy"]
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
ONE = "JWT refresh token has a race condition. Decided to use sliding window strategy."


@dataclass(frozen=True)
class Stored:
    """A memory that is in the vault."""

    id: str
    path: str
    entities: tuple[str, ...]
    clusters: tuple[str, ...] = ()


class Vault:
    """What a plan asks of a vault, answered from the plans carried out so far."""

    def __init__(self) -> None:
        self.memories: list[Stored] = []
        self.keys: dict[str, str] = {}
        self.ids: Iterator[int] = count(1)

    def plan(self, *requests: Request | str) -> Plan:
        return plan_batch(
            [r if isinstance(r, Request) else Request(r) for r in requests],
            now=NOW,
            new_id=lambda: f"01JDXK3Q8ZV5T9W2M4N6{next(self.ids):06}",
            taken=lambda path: path in {m.path for m in self.memories},
            stored=lambda keys: {k: self.keys[k] for k in keys if k in self.keys},
            related=lambda names: [m for m in self.memories if set(m.entities) & set(names)],
            total=len(self.memories),
        )

    def remember(self, *requests: Request | str) -> Plan:
        plan = self.plan(*requests)
        gained = {path: [t.removeprefix("cluster/") for t in tags] for path, tags in plan.joins.items()}
        self.memories = [
            Stored(m.id, m.path, m.entities, (*m.clusters, *gained.get(m.path, ()))) for m in self.memories
        ]
        for draft in plan.drafts:
            note = markdown.parse(draft.data.decode(), draft.path)
            tags = [t.removeprefix("cluster/") for t in note.tags if t.startswith("cluster/")]
            self.memories.append(Stored(draft.id, draft.path, note.entities, tuple(tags)))
            self.keys[markdown.text_key(markdown.original(note))] = draft.id
        return plan


def one(text: str, **options: object) -> Draft:
    (draft,) = Vault().plan(Request(text, whole=True, **options)).drafts
    return draft


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


# How many memories a text is


def test_three_sentences_on_one_named_thing_are_three_memories():
    assert split(". ".join(JWT) + ".") == [f"{text}." for text in JWT]
    assert split("\n".join(JWT)) == JWT
    assert split("".join(f"- {text}\n" for text in JWT)) == JWT
    assert split("".join(f"* {text}\n\n" for text in JWT)) == JWT
    assert split("Ana's desk is on floor 2. Ana prefers tea. Ana moved in May.") == [
        "Ana's desk is on floor 2.",
        "Ana prefers tea.",
        "Ana moved in May.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        ONE,
        "JWT a b c. JWT d e f.",
        "The API is slow. The API is old. The API must go.",
        "Restart node A now. Restart node B now. Restart node C now.",
        "JWT is old. It was new. JWT must go.",
        "We met at the station\nand walked along the river\nuntil the rain came down.",
        "We walked along the harbour until\nRome came up, and she told the story. It was\nLong after midnight.",
        "- milk\n- eggs\n- bread",
        "Shopping for Friday:\n- two bottles of milk\n- a dozen brown eggs\n- fresh bread from Rossi",
        "1. Open the front lid\n2. Turn the red valve\n3. Close the front lid",
        "- [ ] call the bank\n- [x] pay the rent\n- [ ] book the train",
        "- Postgres holds the orders\n  - with one replica each\n- Redis holds the sessions",
        "Port: 5433 on staging\nHost: db2 in Frankfurt\nUser: readonly for reports",
        "Ana: did you see the mail\nBen: yes I did see it\nAna: then please answer it",
        "Staging listens on 5433\nIt restarts every night\nThis takes two minutes",
        "# Notes of today\nStaging listens on 5433\nProduction listens on 5432",
        "```\nthe first line here\nthe second line here\nthe third line here\n```",
        "total = price * count\nprint(total, file=out)\nreturn total or None",
        "| a b | c d e |\n| --- | --- |\n| f g | h i j |",
        "Dear Ana, thanks for the mail.\n\nThe boiler is fixed now.\n\nBest wishes from Rome.",
        "x",
    ],
)
def test_all_else_stays_one(text):
    assert split(text) == [text]


def test_an_empty_text_holds_nothing():
    assert split(" \n\t\n") == []
    with pytest.raises(UsageError, match="nothing to remember"):
        Vault().plan("  \n ")


def test_a_caller_can_keep_a_list_whole():
    text = "\n".join(JWT)
    assert len(Vault().plan(text).drafts) == 3
    assert len(Vault().plan(Request(text, whole=True)).drafts) == 1
    assert [d.label for d in Vault().plan(Request(text, label="JWT work")).drafts] == ["JWT work"]


def _document(sections: int, paragraphs: int, length: int) -> str:
    blocks = []
    for s in range(sections):
        blocks.append(f"# Heading {s}")
        blocks += [" ".join(f"w{s}x{p}x{n}" for n in range(length)) + "." for p in range(paragraphs)]
    return "\n\n".join(blocks)


@pytest.mark.parametrize(("sections", "paragraphs", "length"), [(20, 3, 100), (1, 60, 100), (3, 1, 2000), (200, 1, 50)])
def test_a_document_is_cut_at_headings_then_paragraphs(sections, paragraphs, length):
    text = _document(sections, paragraphs, length)
    parts = split(text)
    assert len(parts) > 1
    assert words("\n".join(parts)) == words(text)
    whole = set(text.split("\n\n"))
    assert all(block in whole for part in parts for block in part.split("\n\n"))
    assert all(size(part) <= MEMORY_WORDS or len(part.split("\n\n")) <= 2 for part in parts)
    if length < MEMORY_WORDS and paragraphs * length < MEMORY_WORDS:
        assert all(part.startswith("# Heading") for part in parts)


def test_code_is_never_cut():
    code = "````python\n" + "# not a heading\n\n```\nx = 1\n\n" * 900 + "````"
    text = f"# One\n\n{'word ' * 1000}\n\n{code}\n\n# Two\n\n{'word ' * 1000}"
    parts = split(text)
    assert sum(code in part for part in parts) == 1
    assert words("\n".join(parts)) == words(text)


def test_the_parts_of_a_labelled_document_are_numbered():
    drafts = Vault().plan(Request(_document(20, 3, 100), label="Manual")).drafts
    assert [d.label for d in drafts] == [f"Manual ({n}/{len(drafts)})" for n in range(1, len(drafts) + 1)]


@given(st.text(st.sampled_from("ab A.\n-*#`~ 。中"), max_size=300))
def test_splitting_loses_no_word(text):
    assert words("\n".join(split(text))) == words(text)


# One file


def test_a_short_memory_is_its_own_summary():
    draft = one(ONE, tags=["auth"], source="chat", valid_from="2026-11-01")
    assert draft.data.decode() == (
        "---\n"
        f"id: {draft.id}\n"
        "kind: decision\n"
        "tags: [auth]\n"
        "created: 2026-11-30T09:30:15Z\n"
        f"importance: {draft.importance}\n"
        "entities: [JWT, refresh token, race condition, sliding window]\n"
        "source: chat\n"
        "valid_from: 2026-11-01\n"
        "---\n"
        "# JWT refresh token has a race condition\n\n"
        "## Summary\n"
        "JWT refresh token has a race condition. Decided to use sliding window strategy.\n"
    )
    assert draft.path == "memories/2026/11/jwt-refresh-token-has-a-race-condition.md"
    change = draft.change
    assert (change.path, change.data, change.before, change.memory) == (draft.path, draft.data, None, draft.id)


def test_a_long_memory_keeps_its_text_as_detail():
    text = (
        "# Boiler\n\nValve 7 leaks. " + "The plumber came on Monday and found nothing. " * 12 + "\n\n## Detail\n\nend  "
    )
    note = markdown.parse(one(text).data.decode(), "n.md")
    assert note.title == "Boiler"
    assert note.detail == text
    assert 0 < len(note.summary) <= 300
    assert markdown.original(note) == text


def test_only_keys_that_are_known_are_written():
    note = markdown.parse(one("Ana likes tea").data.decode(), "n.md")
    assert list(note.meta) == ["id", "kind", "created", "importance", "entities"]
    bare = markdown.parse(one("so it goes").data.decode(), "n.md")
    assert list(bare.meta) == ["id", "kind", "created", "importance"]


def test_the_caller_knows_better():
    draft = one(
        ONE, kind="recipe", label="  Sliding\nwindow ", importance=1, tags=["#a/b", "c", "#c"], trust="untrusted"
    )
    assert (draft.kind, draft.label, draft.importance, draft.tags) == ("recipe", "Sliding window", 1.0, ("a/b", "c"))
    assert draft.meta["trust"] == "untrusted"


@pytest.mark.parametrize(
    ("given_date", "written", "folder"),
    [
        (None, "2026-11-30T09:30:15Z", "2026/11"),
        ("2023-05-08", "2023-05-08T00:00:00Z", "2023/05"),
        ("2023-05-08T23:30:00-02:00", "2023-05-09T01:30:00Z", "2023/05"),
        (datetime(2024, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=2))), "2023-12-31T22:30:00Z", "2023/12"),
        (datetime(2024, 1, 1), "2024-01-01T00:00:00Z", "2024/01"),  # noqa: DTZ001 - a moment without a zone is UTC
    ],
)
def test_creation_is_a_moment_in_utc(given_date, written, folder):
    draft = one("Ana likes tea", created=given_date)
    assert f"created: {written}\n" in draft.data.decode()
    assert draft.path.startswith(f"memories/{folder}/")


@pytest.mark.parametrize(
    "options",
    [
        {"created": "last Tuesday"},
        {"created": "2026-02-30"},
        {"valid_from": "soon"},
        {"importance": 1.5},
        {"importance": float("nan")},
        {"tags": "auth"},
        {"tags": ["two words"]},
        {"tags": ["#"]},
    ],
)
def test_what_cannot_be_meant_is_refused(options):
    with pytest.raises(UsageError):
        one("Ana likes tea", **options)


@pytest.mark.parametrize("text", ["a\0b", "half \ud83d"])
def test_what_is_not_text_is_refused(text):
    with pytest.raises(NotText):
        one(text)


@pytest.mark.parametrize(
    "text",
    [
        "---",
        "# Title only",
        "# Title\n\n## Summary\nmine\n\n## Detail\nyours",
        "```\n## Detail\n",
        "    indented code\n    more of it",
        "---\ntitle: x\ntags: [a]\n---\n\nbody",
        "two  spaces  and\ta tab",
        "  padded  ",
        "tail \\\n\n",
        "-\n-\n-",
        "C #",
        "!!!",
        "line\u2028separator and \x85 next line",
        "emoji only 🎉\n🎉",
        "Cafe\u0301",
        "x" * 5000,
    ],
)
def test_awkward_texts_come_back(text):
    draft = one(text)
    note = markdown.parse(draft.data.decode(), draft.path)
    assert note.readable
    assert markdown.original(note).strip() == text.strip()


TEXTS = st.one_of(
    st.text(st.sampled_from("aB .#-`~\n\\|>:*=中é1_[]"), min_size=1, max_size=400),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=200),
)


@given(TEXTS)
def test_every_text_can_be_taken_from_its_file_again(text):
    if not text.strip():
        return
    plan = Vault().plan(Request(text, whole=True))
    for draft in plan.drafts:
        note = markdown.parse(draft.data.decode(), draft.path)
        assert note.readable
        assert markdown.text_key(markdown.original(note)) == draft.text_key == markdown.text_key(draft.text)
        assert note.meta["id"] == draft.id
        assert note.entities == draft.entities
    assert words("\n".join(d.text for d in plan.drafts)) == words(text)
    assert Vault().plan(Request(text, whole=True)) == plan


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"text": "the key is\n" + SECRET}, "text:2"),
        ({"text": "Ana likes tea", "label": SECRET}, "label:1"),
        ({"text": "Ana likes tea", "source": "https://ana:" + "pw@example.test/"}, "source:1"),
    ],
)
def test_a_secret_is_refused_and_not_repeated(options, place):
    with pytest.raises(SecretFound, match=place) as caught:
        Vault().plan("Ben likes tea", Request(**options))
    said = str(caught.value).lower()
    assert SECRET[4:].lower() not in said
    assert "pw@" not in said


# Names


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Ana's desk", "anas-desk"),
        ("../../etc/passwd", "etc-passwd"),
        ("C:\\evil", "c-evil"),
        ("Grüße aus Zürich", "grusse-aus-zurich"),
        ("设备清单", "she-bei-qing-dan"),
        ("CON", "con-000001"),
        ("com1", "com1-000001"),
        ("🎉", "memory-000001"),
        ("x" * 200, "x" * SLUG_CHARS),
        ("word " * 40, "-".join(["word"] * 12)),
    ],
)
def test_file_names_are_plain(label, name):
    assert one("text", label=label).path == f"memories/2026/11/{name}.md"


def test_the_same_label_gets_another_name():
    vault = Vault()
    texts = [f"Thanks! That was number {n}" for n in range(30)]
    plan = vault.remember(*(Request(t, label="Thanks") for t in texts[:3]))
    assert [d.path.rpartition("/")[2] for d in plan.drafts] == ["thanks.md", "thanks-2.md", "thanks-3.md"]
    vault.remember(*(Request(t, label="Thanks") for t in texts[3:]))
    paths = [m.path for m in vault.memories]
    assert len(set(paths)) == len(texts)


@given(st.text(max_size=120), st.sampled_from(["", "team/alpha"]))
def test_every_name_can_be_made_on_every_system(label, scope):
    draft = one("some text", label=label, scope=scope) if label.isprintable() else one("some text", scope=Scope(scope))
    assert check_path(draft.path) == draft.path
    assert draft.path.isascii()
    assert draft.path.startswith(f"{scope}/memories/" if scope else "memories/")
    assert len(draft.path.rpartition("/")[2]) <= SLUG_CHARS + len(".md")


# Repeats


def test_the_same_text_again_is_a_duplicate():
    vault = Vault()
    first = vault.remember(ONE).drafts[0]
    again = vault.remember(f"\n  {ONE.replace(' ', '  ')}\n")
    assert (again.drafts, again.duplicates, again.changes) == ((), (first.id,), [])
    long = "# Boiler\n\n" + "Valve 7 leaks and the plumber has not been called. " * 20
    second = vault.remember(long).drafts[0]
    assert vault.remember(long).duplicates == (second.id,)


def test_a_repeat_within_one_call_is_stored_once():
    plan = Vault().plan("Ana likes tea", "Ben likes tea", "Ana  likes tea")
    assert [d.text for d in plan.drafts] == ["Ana likes tea", "Ben likes tea"]
    assert plan.duplicates == (plan.drafts[0].id,)


@pytest.mark.parametrize(
    ("one_text", "other"),
    [
        ("Staging listens on port 5433", "Staging listens on port 5434"),
        ("Do not restart node A", "Restart node A"),
        ("Run 41: recall 0.812", "Run 42: recall 0.821"),
        ("Ana's desk is on floor 2", "Ben's desk is on floor 2"),
        ("It works!", "It works?"),
        ("alpha beta", "beta alpha"),
    ],
)
def test_nearly_the_same_is_not_the_same(one_text, other):
    plan = Vault().plan(one_text, other)
    assert len(plan.drafts) == 2
    assert plan.duplicates == ()
    assert len({d.path for d in plan.drafts}) == 2


# Clusters


def test_three_memories_of_one_entity_form_a_cluster_whatever_the_order():
    vault = Vault()
    assert vault.remember(JWT[0]).joins == {}
    assert vault.remember(JWT[1]).joins == {}
    plan = vault.remember(JWT[2])
    assert plan.drafts[0].tags == ("cluster/jwt",)
    assert set(plan.joins.values()) == {("cluster/jwt",)}
    assert [m.clusters for m in vault.memories] == [("jwt",)] * 3

    for together in (Vault().plan(*JWT), Vault().plan("\n".join(JWT)), Vault().plan(". ".join(JWT) + ".")):
        assert [d.tags for d in together.drafts] == [("cluster/jwt",)] * 3
        assert together.joins == {}


def test_the_tag_stands_in_the_file_in_its_place():
    draft = Vault().plan(*(Request(t, tags=["auth"]) for t in JWT)).drafts[0]
    lines = draft.data.decode().splitlines()
    assert lines[1:4] == [f"id: {draft.id}", "kind: fact", "tags: [cluster/jwt, auth]"]


def test_the_fourth_joins_and_the_others_are_left_alone():
    vault = Vault()
    vault.remember(*JWT)
    plan = vault.remember("JWT audience claim")
    assert plan.drafts[0].clusters == ("jwt",)
    assert plan.joins == {}


def test_a_tag_a_person_removed_does_not_come_back():
    vault = Vault()
    vault.remember(*JWT)
    first, *rest = vault.memories
    vault.memories = [Stored(first.id, first.path, first.entities), *rest]
    assert vault.remember("JWT audience claim").joins == {}


def known(n: int, *entities: str, clusters: tuple[str, ...] = ()) -> list[Stored]:
    return [Stored(f"k{'-'.join(entities)}{i}", f"{'-'.join(entities)}{i}.md", entities, clusters) for i in range(n)]


def draft(*entities: str, clusters: tuple[str, ...] = (), id: str = "new") -> Draft:
    meta = {"id": id, "entities": entities, "tags": tuple(f"cluster/{c}" for c in clusters)}
    return Draft(id, f"{id}.md", "", "", "", "", meta)


def test_two_are_too_few_and_old_memories_alone_change_nothing():
    assert plan_clusters([draft("JWT")], known(FEWEST - 2, "JWT")) == []
    assert plan_clusters([draft("Ana")], known(10, "JWT")) == []
    (made,) = plan_clusters([draft("JWT")], known(FEWEST - 1, "jwt"))
    assert (made.tag, made.drafts, len(made.known)) == ("cluster/jwt", ("new",), FEWEST - 1)


def test_spellings_meet():
    (made,) = plan_clusters([draft("Refresh Token")], [*known(1, "refresh-token"), *known(1, "refresh_token")])
    assert made.cluster == "refresh-token"
    (made,) = plan_clusters([draft("Cafe\u0301")], known(2, "CAFÉ"))
    assert made.cluster == "café"


def test_a_memory_joins_few_clusters_the_rarest_first():
    names = ["Ana", "Ben", "Cleo", "Dan"]
    crowd = [m for i, name in enumerate(names) for m in known(3 + i, name)]
    made = plan_clusters([draft(*names)], crowd)
    assert [m.cluster for m in made] == ["ana", "ben", "cleo"]
    assert len(made) == MOST_CLUSTERS
    assert [m.cluster for m in plan_clusters([draft(*names, clusters=("x", "y"))], crowd)] == ["ana"]


def test_names_come_before_phrases_and_one_bundle_is_made_once():
    (made,) = plan_clusters([draft("refresh token", "JWT")], known(2, "JWT", "refresh token"))
    assert made.cluster == "jwt"


def test_what_everything_is_about_is_no_topic():
    assert plan_clusters([draft("Ana")], known(MOST_MEMBERS, "Ana"), total=10_000) == []
    assert plan_clusters([draft("Ana")], known(29, "Ana"), total=60) == []
    assert plan_clusters([draft("Ana")], known(29, "Ana"), total=50) != []
    assert plan_clusters([draft("Ana")], known(20, "Ana"), total=60) != []


def test_a_cluster_that_is_there_grows_beyond_the_share():
    (made,) = plan_clusters([draft("Ana")], known(40, "Ana", clusters=("ana",)), total=60)
    assert (made.drafts, made.known) == (("new",), ())


ENTITY = st.sampled_from(["JWT", "Ana", "Ben", "DuckDB", "refresh token", "race condition"])


@given(st.lists(st.sets(ENTITY), max_size=8), st.lists(st.sets(ENTITY), max_size=8))
def test_laws_of_clusters(new, old):
    drafts = [draft(*sorted(e), id=f"d{i}") for i, e in enumerate(new)]
    there = [Stored(f"k{i}", f"k{i}.md", tuple(sorted(e))) for i, e in enumerate(old)]
    made = plan_clusters(drafts, there)
    joined = [id for m in made for id in (*m.drafts, *m.known)]
    assert all(joined.count(id) <= MOST_CLUSTERS for id in joined)
    assert all(len(m.drafts) + len(m.known) >= FEWEST and m.drafts for m in made)
    assert len({m.cluster for m in made}) == len(made)
    assert plan_clusters(drafts[::-1], there[::-1]) == [type(m)(m.cluster, m.drafts[::-1], m.known[::-1]) for m in made]


def test_the_subject_says_what_was_remembered():
    assert Vault().plan(ONE).subject == "Remember JWT refresh token has a race condition"
    assert Vault().plan(*JWT).subject == "Remember 3 memories"


def test_what_is_stored_long_after_it_came_to_be_says_when():
    plan = Vault().plan(Request(ONE, created="2024-05-01"))
    assert markdown.parse(plan.drafts[0].data.decode(), "").meta["recorded_at"] == "2026-11-30T09:30:15Z"
    for created in (None, "2026-11-30", "2027-01-01"):
        plan = Vault().plan(Request(ONE, created=created))
        assert "recorded_at" not in markdown.parse(plan.drafts[0].data.decode(), "").meta
