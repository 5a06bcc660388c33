"""The journal keeps what was shown, whatever happens to a line of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from atlas import config, journal
from atlas.journal import Event


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "atlas.toml").write_text("")
    return config.load(tmp_path)


def _event(number: int, month: str = "2026-01") -> Event:
    return Event(f"{month}-02T03:04:05Z", journal.VIEW, "main", "", {f"m{number}": "L2"}, (f"m{number}", "é"))


def test_events_come_back_as_they_were_oldest_first(settings):
    later, first = _event(1, "2026-02"), _event(2)
    for event in (later, first):
        journal.append(settings, event)
    assert list(journal.read(settings)) == [first, later]
    assert [file.name for file in journal.files(settings)] == ["2026-01.jsonl", "2026-02.jsonl"]


def test_a_vault_without_a_journal_has_no_events(settings):
    assert list(journal.read(settings)) == []
    assert journal.files(settings) == []


def test_a_torn_line_costs_itself_alone(settings):
    journal.append(settings, _event(1))
    (file,) = journal.files(settings)
    file.write_bytes(file.read_bytes() + b'{"time": "2026-01-02T03')
    journal.append(settings, _event(2))
    assert list(journal.read(settings)) == [_event(1), _event(2)]


@pytest.mark.parametrize(
    "line", [b"[]", b"{}", b"null", b'{"shown": 3}', b"\xff\xfe", b'{"time":1,"op":"view","session":"","scope":""}']
)
def test_what_is_no_event_is_passed_over(settings, line):
    journal.append(settings, _event(1))
    (file,) = journal.files(settings)
    file.write_bytes(line + b"\n" + file.read_bytes())
    assert list(journal.read(settings)) == [_event(1)]


def test_many_write_at_once_and_no_line_is_lost_or_mixed(settings):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: journal.append(settings, _event(number)), range(200)))
    assert sorted(next(iter(e.shown)) for e in journal.read(settings)) == sorted(f"m{n}" for n in range(200))
