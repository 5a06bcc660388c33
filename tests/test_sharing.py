"""Several processes at one index: who waited looks again, and who finds it done does not do it again."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import duckdb
from filelock import FileLock
from support import write

from atlas import index
from atlas.reading import ReadingEngine


def test_a_wait_for_the_index_makes_a_look_old_news(root):
    write(root, "a.md", "# A\n")
    with ReadingEngine(root, resident=False) as engine, ThreadPoolExecutor() as pool:
        engine.refresh()
        lock = FileLock(root / ".atlas" / "index.lock")
        with lock:
            going = pool.submit(engine.refresh)
            time.sleep(0.3)
            write(root, "b.md", "# B\n")
        assert going.result().added == 1


def test_what_another_engine_brought_up_to_date_is_current(root):
    write(root, "a.md", "# A\n")
    time.sleep(0.06)  # a file written just now is read again
    with ReadingEngine(root, resident=False) as one, ReadingEngine(root, resident=False) as two:
        assert not two._index.is_current()
        one.refresh()
        assert two._index.is_current()
        write(root, "b.md", "# B\n")
        assert not two._index.is_current()
        time.sleep(0.06)
        one.refresh()
        assert two._index.is_current()
        (root / ".atlas" / "index.duckdb").unlink()
        assert not two._index.is_current()


def test_rows_of_notes_long_gone_are_dropped_in_time(root, monkeypatch):
    monkeypatch.setattr(index, "_DEAD_FLOOR", 0)
    monkeypatch.setattr(index, "_DEAD_FACTOR", 0)
    write(root, "a.md", "# A\n")
    with ReadingEngine(root, resident=False) as engine:
        for number in range(index._SELDOM + 2):
            write(root, "b.md", f"# B {number}\n")
            engine.refresh()
    with duckdb.connect(str(root / ".atlas" / "index.duckdb"), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM notes").fetchall()[0][0] < index._SELDOM
