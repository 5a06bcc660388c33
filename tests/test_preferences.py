"""Preferences in a vault: the newest said one holds, a person's notes stay, and the view has them in order."""

from __future__ import annotations

from atlas.ingest import Request

PREFERENCE = {"kind": "preference"}


def meta(engine, id):
    return engine.expand(id).meta


def day(number: int) -> str:
    return f"2026-05-{number:02}T10:00:00Z"


def test_the_newest_said_one_closes_the_older_in_one_commit(engine, git, root):
    (older,) = engine.ingest("I prefer dark mode", created=day(1), **PREFERENCE)
    before = git(root, "rev-list", "--count", "HEAD")
    (newer,) = engine.ingest("I prefer light mode now", created=day(2), **PREFERENCE)
    assert int(git(root, "rev-list", "--count", "HEAD")) == int(before) + 1
    assert meta(engine, older)["superseded_by"] == newer
    assert meta(engine, older)["valid_to"] == day(2)
    assert meta(engine, newer)["stated"] == "explicit"
    assert "dark mode" in engine.expand(older).detail
    engine.undo()
    assert "superseded_by" not in meta(engine, older)


def test_different_topics_and_people_stay(engine):
    texts = ["Ana prefers dark mode", "Bo prefers light mode", "Ana prefers short answers", "Ana prefers tea"]
    ids = engine.ingest_many([Request(text, kind="preference") for text in texts])
    engine.ingest("Ana prefers long commit messages now", **PREFERENCE)
    assert not any("superseded_by" in meta(engine, id) for id in ids)


def test_what_is_only_drawn_overrules_nothing_that_was_said(engine):
    (said,) = engine.ingest("Ana prefers dark mode", created=day(1), **PREFERENCE)
    for text in ("Ana uses light mode", "Ana usually uses the light theme"):
        (drawn,) = engine.ingest(text, created=day(2), **PREFERENCE)
        assert meta(engine, drawn)["stated"] == "implicit"
    assert "superseded_by" not in meta(engine, said)


def test_what_was_drawn_gives_way_to_what_is_said_and_to_what_is_drawn_later(engine):
    (first,) = engine.ingest("Ana uses dark mode", created=day(1), **PREFERENCE)
    (second,) = engine.ingest("Ana uses light mode", created=day(2), **PREFERENCE)
    assert meta(engine, first)["superseded_by"] == second
    (said,) = engine.ingest("Ana prefers dark mode", created=day(3), **PREFERENCE)
    assert meta(engine, second)["superseded_by"] == said


def test_an_old_chat_that_is_imported_late_does_not_overrule(engine):
    (held,) = engine.ingest("I prefer light mode", created=day(9), **PREFERENCE)
    (old,) = engine.ingest("I prefer dark mode", created=day(1), **PREFERENCE)
    assert "superseded_by" not in meta(engine, held)
    assert (meta(engine, old)["superseded_by"], meta(engine, old)["valid_to"]) == (held, day(9))


def test_a_whole_conversation_at_once_leaves_the_last_word(engine, git, root):
    before = int(git(root, "rev-list", "--count", "HEAD"))
    said = ["I prefer dark mode", "I prefer light mode now", "Call me Bo", "I prefer dark mode again"]
    made = engine.ingest_many([Request(text, kind="preference", created=day(n)) for n, text in enumerate(said, 1)])
    assert int(git(root, "rev-list", "--count", "HEAD")) == before + 1
    ends = [meta(engine, id).get("superseded_by") for id in made.per_text]
    assert ends == [made.per_text[1], made.per_text[3], None, None]


def test_two_of_one_moment_go_by_the_order_they_were_told_in(engine):
    made = engine.ingest_many([Request(f"I prefer {one} mode", kind="preference") for one in ("dark", "light")])
    assert meta(engine, made[0])["superseded_by"] == made[1]
    assert "superseded_by" not in meta(engine, made[1])


def test_a_persons_own_note_is_never_changed(engine, notes, text):
    note = "---\nkind: preference\ncreated: 2026-05-01\n---\n# I prefer dark mode\n"
    notes({"mine.md": note})
    engine.ingest("I prefer light mode now", created=day(2), **PREFERENCE)
    assert text("mine.md") == note


def test_what_atlas_wrote_and_a_person_edited_is_theirs(engine, root, git):
    (older,) = engine.ingest("I prefer dark mode", created=day(1), **PREFERENCE)
    path = root / engine.expand(older).path
    path.write_text(path.read_text() + "\nExcept on the train.\n")
    git(root, "commit", "-qam", "mine now")
    kept = path.read_text()
    engine.ingest("I prefer light mode now", created=day(2), **PREFERENCE)
    assert path.read_text() == kept


def test_what_is_not_trusted_overrules_nothing(engine):
    (held,) = engine.ingest("I prefer dark mode", created=day(1), **PREFERENCE)
    engine.ingest("I prefer light mode now", created=day(2), trust="untrusted", **PREFERENCE)
    assert "superseded_by" not in meta(engine, held)


def test_a_preference_that_says_two_things_is_left_alone(engine):
    (both,) = engine.ingest("I prefer dark mode. I prefer tea over coffee.", created=day(1), whole=True, **PREFERENCE)
    engine.ingest("I prefer light mode now", created=day(2), **PREFERENCE)
    assert "superseded_by" not in meta(engine, both)


def test_scopes_know_nothing_of_each_other(engine):
    (held,) = engine.ingest("I prefer dark mode", created=day(1), scope="one", **PREFERENCE)
    engine.ingest("I prefer light mode now", created=day(2), scope="two", **PREFERENCE)
    assert "superseded_by" not in meta(engine, held)


def test_the_view_has_what_was_said_first_and_the_newest_of_it(engine):
    texts = {
        "Ana seems to like the terrace": day(9),
        "Ana prefers tea": day(3),
        "Ana wants answers in German": day(7),
        "Ana usually skips lunch": day(8),
        "Ana prefers dark mode": day(1),
    }
    engine.ingest_many(
        [
            Request(text, kind="preference", created=created, source=f"chat-{created[8:10]}")
            for text, created in texts.items()
        ]
    )
    engine.ingest("Ana prefers light mode now", created=day(5), **PREFERENCE)
    shown = [item.label for item in engine.view("terrace and tea", order="relevance").items]
    assert shown[:5] == [
        "Ana wants answers in German",
        "Ana prefers light mode now",
        "Ana prefers tea",
        "Ana seems to like the terrace",
        "Ana usually skips lunch",
    ]
    assert engine.view("boiler", session="other").text.count("dark mode") == 0
    assert "candidate-implicit" in engine.view("terrace and tea").text


def test_where_there_is_little_room_what_was_said_has_it(engine):
    texts = [f"Ana seems to like dish {n}" for n in range(12)]
    engine.ingest_many([Request(text, kind="preference", created=day(20), importance=0.5) for text in texts])
    said = "Ana wants all dates spelled out with their weekday"
    engine.ingest(said, created=day(1), importance=0.5, **PREFERENCE)
    shown = [item.label for item in engine.view("what about the boiler?", budget=90).items]
    assert shown[0] == said
    assert len(shown) < len(texts)
