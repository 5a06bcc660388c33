"""A3, from the first word to the answer: what was told on day 1, 9 and 30, and what becomes of it."""

from __future__ import annotations

import pytest
from shell import atlas

QUESTION = "on which floor does Ana sit?"


class Told:
    """A vault on a calendar: each day something is told, and upkeep runs in the evening."""

    def __init__(self, vault) -> None:
        self.vault = vault

    def run(self, day, *words):
        done = atlas(*words, "--json", cwd=self.vault.root, ATLAS_NOW=f"{day}T12:00:00Z")
        assert done.code == 0, done.err
        return done.json

    def tell(self, day, text):
        stored = self.run(day, "ingest", text)
        self.run(day, "maintain")
        return stored

    def floors(self, day, *options):
        """The floors that a search names for Ana, best first."""
        hits = self.run(day, "search", QUESTION, "--kind", "fact", "--no-abstain", *options)["hits"]
        return [hit["text"].split("floor ")[1][0] for hit in hits if "Ana" in hit["text"] and "floor" in hit["text"]]

    def meta(self, day, name):
        return self.run(day, "show", name)["meta"]


@pytest.fixture
def told(vault):
    return Told(vault)


def test_a3_each_answer_on_its_day(told):
    first = told.tell("2026-01-01", "Ana's desk is on floor 2")
    again = told.tell("2026-01-01", "Ana's desk is on floor 2")
    assert (again["memories"], again["duplicates"]) == ([], [first["memories"][0]["id"]])
    told.tell("2026-01-01", "Ben's desk is on floor 2")
    assert told.floors("2026-01-01") == ["2"]

    moved = told.tell("2026-01-09", "Ana moved to floor 5 yesterday")["memories"][0]["id"]
    assert told.floors("2026-01-09") == ["5", "2"]
    assert told.meta("2026-01-09", moved)["valid_from"] == "2026-01-08", "yesterday means day 8 for good"
    old = told.meta("2026-01-09", first["memories"][0]["id"])
    assert (old["valid_to"], old["superseded_by"]) == ("2026-01-08", moved)

    back = told.tell("2026-01-30", "Ana is back on floor 2")["memories"]
    assert len(back) == 1, "the return is a memory of its own"
    assert told.floors("2026-01-30")[0] == "2"
    found = told.run("2026-01-30", "search", QUESTION, "--kind", "fact")["hits"]
    assert found[0]["id"] == back[0]["id"]
    assert told.meta("2026-01-30", moved)["superseded_by"] == back[0]["id"]
    now = told.meta("2026-01-30", first["memories"][0]["id"])
    assert (now["valid_to"], now["superseded_by"]) == ("2026-01-08", moved), "the first period is not revived"

    assert told.floors("2026-01-30", "--valid-at", "2026-01-05") == ["2"]
    assert told.floors("2026-01-30", "--valid-at", "2026-01-20") == ["5"]
    assert told.floors("2026-01-30", "--valid-at", "2026-01-30T13:00") == ["2"]
    assert told.floors("2026-01-30", "--as-of", "2026-01-05") == ["2"]
    assert told.floors("2026-01-30", "--as-of", "2026-01-20")[0] == "5"

    ben = told.meta("2026-01-30", "Ben's desk is on floor 2")
    assert not {"valid_to", "superseded_by", "trust"} & ben.keys(), "nobody said anything of Ben"
    said = told.run("2026-01-30", "log", first["memories"][0]["id"])["entries"]
    assert next(entry["op"] for entry in said if entry["time"].startswith("2026-01-09")) == "ingest"


def test_a3_the_words_stay_as_they_were_told(told):
    stored = told.tell("2026-01-09", "Ana moved to floor 5 yesterday")["memories"][0]["id"]
    told.tell("2026-01-30", "Ana is back on floor 2")
    assert "Ana moved to floor 5 yesterday" in told.run("2026-01-30", "show", stored)["summary"]


def test_a3_a_date_of_the_callers_counts(told):
    told.run("2026-01-09", "ingest", "Ana moved to floor 5 yesterday", "--valid-from", "2026-01-02")
    assert told.meta("2026-01-09", "Ana moved to floor 5 yesterday")["valid_from"] == "2026-01-02"


def test_a3_the_same_words_after_a_change_are_news(told):
    """A repeat stores nothing; but what held once, and then no longer, can be told again."""
    first = told.tell("2026-01-01", "Ana's desk is on floor 2")["memories"][0]["id"]
    told.tell("2026-01-09", "Ana moved to floor 5 yesterday")
    again = told.tell("2026-01-30", "Ana's desk is on floor 2")
    assert [one["id"] for one in again["memories"]] != [first]
    assert len(again["memories"]) == 1


def test_a3_an_end_without_a_new_place(told):
    first = told.tell("2026-01-01", "Ana's desk is on floor 2")["memories"][0]["id"]
    told.tell("2026-01-09", "Ana is no longer on floor 2")
    assert told.meta("2026-01-09", first)["valid_to"].startswith("2026-01-09")


def test_a3_who_wrote_it_by_hand_is_left_alone(told):
    told.vault.put("desk.md", "---\ncreated: 2026-01-01\n---\n# Ana's desk is on floor 2\n")
    told.vault.commit("desk.md")
    told.run("2026-01-09", "ingest", "Ana moved to floor 5")
    ran = told.run("2026-01-09", "maintain")["ran"]
    assert [r["note"] for r in ran if r["task"] == "consolidate" and "desk.md says" in r["note"]]
    told.vault.b1_files_are_as_they_were_left()


@pytest.mark.parametrize(
    "later",
    [
        "Ana might move to floor 5",
        "Will Ana move to floor 5?",
        "Ben said Ana moved to floor 5",
        "Ana's lab is on floor 5",
        "Ana's sister moved to floor 5",
        "Ana is in room 5 now",
        "Ana moved to floor 5 in a dream, she said",
        "Ana is not on floor 5",
        "The team is now on issue 5",
    ],
)
def test_a3_what_is_no_change_of_it_changes_nothing(told, later):
    first = told.tell("2026-01-01", "Ana's desk is on floor 2")["memories"][0]["id"]
    told.tell("2026-01-09", later)
    assert not {"valid_to", "superseded_by", "trust"} & told.meta("2026-01-09", first).keys()
