"""The watcher: it notices what others do to the vault, and brings the index up to date.

    Watcher(config, tell).run()   in the foreground until `stop()`; `tell` is given every Event

A listener (`alarm`) only says "look again". One loop in one thread does all else: wait until it is quiet, look, and
refresh the index if the look differs from the last. The index is opened for each refresh and never held.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

from atlas import config as settings
from atlas.alarm import Alarm
from atlas.catchup import CatchUp, Stopped
from atlas.config import MARKER, Config
from atlas.errors import AtlasError, NotAVault
from atlas.head import head_commit
from atlas.listing import Report
from atlas.sightings import PATIENCE, Debounce
from atlas.standing import Post
from atlas.survey import Survey, survey

Tend = Callable[[], Sequence[str]]
_DAY = 86_400.0
#: The longest pause after errors and refusals, in seconds.
_LONGEST = 60.0
#: At rest, it looks so many times less often whether it still hears: each time it wakes, the system wakes it whole.
_DROWSY = 5
#: Having waited so many seconds for the index, others are busy with it. A single search holds it for a fiftieth.
_BUSY = 0.1


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds. The defaults are what `atlas watch` uses."""

    #: So long it must have been quiet before a look, and so long a look waits at most while it never is.
    quiet: float = 0.05
    most: float = 1.0
    #: A second look follows one that an event caused: the kernel may have dropped events, a save may not be over.
    settle: float = PATIENCE + 0.1
    #: The same while something is held back and may be explained any moment, by a commit or the rest of a save.
    held: float = 0.4
    #: Without events the folder is scanned this often; with them, to be sure.
    scan: float = 2.0
    sure: float = 180.0
    #: The listener itself is looked at this often; refused, it is tried again after so long, then twice as long, …
    tick: float = 1.0
    again: float = 4.0
    #: After so long without a refresh the memory of the index and its model is given back.
    rest: float = 10.0
    #: Upkeep runs once a day, after it was quiet for so long: nobody's commits shall be mixed with it.
    tend: float = 600.0


USUAL = Pace()


@dataclass(frozen=True, slots=True)
class Event:
    """Something to tell: start, refresh, error, degraded, events, root-missing, back, note, stop.

    `lag` is from the first sign of a change until the index had it, `seconds` the time the refresh took of that; `held`
    counts what is not believed yet. `message` says why.
    """

    event: str
    seconds: float = 0.0
    added: int = 0
    changed: int = 0
    removed: int = 0
    held: int = 0
    lag: float = 0.0
    memories: int = 0
    mode: str = ""
    message: str = ""


class Watcher:
    """Watches one vault, in the thread that calls `run`; `stop` may be called from any. `tend` runs upkeep."""

    def __init__(self, config: Config, tell: Callable[[Event], None], pace: Pace = USUAL, tend: Tend = tuple) -> None:
        self._config, self._tell, self._pace, self._tend = config, tell, pace, tend
        self._calls: SimpleQueue[float] = SimpleQueue()
        self._stopping = False
        self._debounce = Debounce(self._pace.quiet, self._pace.most)
        self._post = Post(config)
        self._standing = self._post.standing
        self._file = _stamp(config.root / MARKER)
        self._alarm = Alarm(config, self._poke)
        self._index = CatchUp(config, self._go_on)
        self._current: tuple[str, str] | None = None
        self._folders: tuple[str, ...] = ()
        self._failures, self._failing = 0, ""
        self._began = self._held_since = math.inf
        self._looked = self._worked = time.monotonic()
        self._look_at = self._arm_at = self._lost = math.inf
        self._tend_at = self._looked + self._pace.tend
        self._resting = True
        self._missing = self._started = self._suspected = False
        self._refused = 0

    def stop(self) -> None:
        """End soon; a refresh under way ends at its next batch of notes."""
        self._stopping = True
        self._poke()

    def run(self) -> None:
        """Watch until stopped. Raises Unavailable if another watcher has this vault."""
        self._post.take()
        try:
            self._index.warm()
            self._arm()
            self._look(time.monotonic(), "start")
            while not self._stopping:
                self._wait()
                self._turn(time.monotonic())
            self._say("stop")
        finally:
            self._alarm.disarm()
            self._index.close()
            self._post.save()
            self._post.leave()

    # ------------------------------------------------------------------- the loop

    def _poke(self) -> None:
        """Look again. From the listener's threads and from signal handlers: a SimpleQueue may be put to in both."""
        self._calls.put(time.monotonic())

    def _wait(self) -> None:
        """Until the next look is due, the next tick comes, or somebody calls."""
        tick = self._pace.tick * (_DROWSY if self._resting else 1)
        until = min(self._debounce.due, self._look_at, time.monotonic() + tick)
        try:
            self._heard(self._calls.get(timeout=max(until - time.monotonic(), 0)))
            while True:
                self._heard(self._calls.get_nowait())
        except Empty:
            return

    def _heard(self, when: float) -> None:
        self._debounce.poke(when)
        self._began = min(self._began, when)

    def _turn(self, now: float) -> None:
        if self._stopping:
            return
        if self._missing or not self._is_there():
            self._await_root(now)
        elif not self._post.held or self._lost < math.inf:
            self._take_again(now)
        elif now >= self._debounce.due or now >= self._look_at:
            self._look(now)
        elif self._standing.mode == "events" and not self._alarm.sound:
            # Its threads died, or another folder stands in the place of the one it listens to.
            self._arm()
            self._look(now)
        elif self._standing.mode != "events" and now >= self._arm_at:
            self._arm()
            self._look(now)
        elif not self._resting and now - self._worked > self._pace.rest:
            self._rest()
        elif now >= max(self._tend_at, self._worked + self._pace.tend):
            self._upkeep(now)

    def _look(self, now: float, event: str = "refresh") -> None:
        """One look at the folder, and a refresh if it shows anything new."""
        called = self._began < math.inf
        # What no event told of came after the last look at the latest; what was held then came before it.
        began = self._began if called else min(self._looked, self._held_since)
        self._debounce.clear()
        self._began, self._looked = math.inf, now
        try:
            look = self._surveyed()
            report = self._refreshed(look, now)
            self._check_hearing(look)
        except NotAVault:
            self._await_root(now)
            return
        except (Stopped, BrokenPipeError):
            if not self._stopping:
                raise
            return
        except Exception as err:  # noqa: BLE001 - a watcher that ends at the first surprise is blind from then on
            self._failed(err, event)
            return
        self._failures, self._failing = 0, ""
        self._held_since = min(began, self._held_since) if report is not None and report.held else math.inf
        self._look_at = now + self._interval(report, called=called)
        self._report(report, event, time.monotonic() - began)

    def _interval(self, report: Report | None, *, called: bool) -> float:
        """How long the look may serve that gave this report, if nothing happens."""
        if report is not None and report.held > len(self._index.barred):
            return self._pace.held
        usual = self._pace.sure if self._standing.mode == "events" else self._pace.scan
        doubtful = self._suspected or (report is not None and not report.settled and not report.held)
        return min(self._pace.settle, usual) if called or doubtful else usual

    def _report(self, report: Report | None, event: str, lag: float) -> None:
        """Tell of a refresh that changed something, and keep the state where others find it."""
        standing = self._standing
        news = report is not None and bool(report.added or report.changed or report.removed)
        if report is not None:
            standing.waiting = report.held
        if report is not None and news:
            standing.refreshed, standing.lag = settings.now().isoformat(timespec="seconds"), round(lag, 3)
            standing.refreshes += 1
        if event == "start":
            self._post.save()
            self._say(event, report)
            self._begun()
        elif news:
            self._say(event, report, lag=lag)
        self._post.save()  # after the line: forcing it to disk takes as long as a look
        for line in self._index.said():
            self._say("note", message=line)

    def _begun(self) -> None:
        """After the line that says "start", which is always the first."""
        self._started = True
        if self._standing.reason:
            self._say(self._standing.mode, message=self._standing.reason)

    def _say(self, event: str, report: Report | None = None, *, lag: float = 0.0, message: str = "") -> None:
        done = report or Report()
        counts = (round(done.seconds, 4), done.added, done.changed, done.removed, done.held)
        self._tell(Event(event, *counts, round(lag, 4), done.memories, self._standing.mode, message))

    # ------------------------------------------------------------------- the work

    def _surveyed(self) -> Survey:
        """A look at the folder, with the settings as they are now."""
        file = _stamp(self._config.root / MARKER)
        if file != self._file:
            self._config = settings.load(self._config.root)
            self._file, self._current = file, None
            self._index.close()
            self._index = CatchUp(self._config, self._go_on)
            self._alarm.disarm()
            self._alarm = Alarm(self._config, self._poke)
            self._arm()
        return survey(self._config)

    def _refreshed(self, look: Survey, now: float) -> Report | None:
        """Bring the index up to a look; None if it showed nothing new."""
        seen = (look.digest, head_commit(self._config.root))
        if seen == self._current:
            return None
        if self._started and self._index.is_current(look):  # eight writers and a watcher need not all do it
            self._current = seen
            return None
        self._current, self._resting = None, False
        barred = set(self._index.barred)
        report = self._index.refresh(look, now)
        if report.settled:
            self._current = seen
        self._debounce.busy = self._index.waited > _BUSY
        for path in sorted(self._index.barred.keys() - barred):
            self._wrong(f"{path} cannot be indexed and stays as it was: {self._index.why}")
        self._worked = time.monotonic()
        return report

    def _go_on(self, _done: int, _all: int) -> None:
        if self._stopping:
            raise Stopped

    def _go_on_undisturbed(self, _done: int, _all: int) -> None:
        if self._stopping or not self._calls.empty():
            raise Stopped

    def _rest(self) -> None:
        """Give the memory back, after a slow model has embedded what waits for it."""
        self._resting = True
        try:
            self._index.embed(self._go_on_undisturbed)
        except Stopped:
            self._resting = False
            return
        except Exception as err:  # noqa: BLE001 - as in `_look`
            self._failed(err, "refresh")
        self._index.close()

    def _upkeep(self, now: float) -> None:
        """What is due, once a day. What it changes is looked at like anybody's changes."""
        self._tend_at = now + _DAY
        try:
            for line in self._tend() if self._config.upkeep_on_watch else ():
                self._say("note", message=line)
        except Exception as err:  # noqa: BLE001 - as in `_look`
            self._failed(err, "refresh")

    # --------------------------------------------------------------- what can go wrong

    def _failed(self, err: Exception, event: str) -> None:
        """Say it once, try again later, and later still."""
        self._failures += 1
        said = str(err) if isinstance(err, AtlasError) else f"{type(err).__name__}: {err}"
        self._look_at = time.monotonic() + min(2.0 ** (self._failures - 1), _LONGEST)
        self._current = None
        if event == "start":
            self._say("start")
            self._begun()
        if said != self._failing:
            self._failing = said
            self._wrong(said)

    def _wrong(self, said: str) -> None:
        self._standing.last_error, self._standing.failed = said, settings.now().isoformat(timespec="seconds")
        self._post.save()
        self._say("error", message=said)

    def _arm(self) -> None:
        """Listen, afresh; a look comes next, and `_check_hearing` after it."""
        self._arm_at = time.monotonic() + min(self._pace.again * 2**self._refused, _LONGEST)
        self._refused += 1
        self._folders = ()
        refused = self._alarm.arm()
        if refused:
            self._set_mode(refused)

    def _check_hearing(self, look: Survey) -> None:
        """Whether every folder of the look is listened to: what the kernel refused, nobody else says."""
        folders = tuple(prefix for prefix, _ in look.sheet.folders if prefix not in look.unknown)
        if folders == self._folders or not self._alarm.sound:
            return
        deaf, suspected = self._alarm.deaf_to(folders), self._suspected
        self._suspected = bool(deaf) and self._standing.mode == "events" and not suspected
        if self._suspected:
            return  # a folder just made is listened to in a moment
        if deaf and self._standing.mode == "events":
            deaf = self._alarm.arm() or self._alarm.deaf_to(folders)
            self._poke()  # a look after the listening began
        self._folders = folders
        self._set_mode(deaf)

    def _set_mode(self, reason: str) -> None:
        """Events, or "degraded" for a reason; said when it changes."""
        standing, mode = self._standing, "degraded" if reason else "events"
        self._refused = self._refused if reason else 0
        changed = mode != standing.mode
        standing.mode = mode
        standing.reason = f"{reason}; scanning every {self._pace.scan:g} s instead" if reason else ""
        self._post.save()
        if changed and self._started:
            self._say(mode, message=standing.reason)

    def _is_there(self) -> bool:
        return (self._config.root / MARKER).is_file()

    def _take_again(self, now: float) -> None:
        """`.atlas` was removed: perhaps the first of the whole folder, which nobody shall find filled again."""
        self._debounce.clear()
        self._lost = min(self._lost, now)
        self._look_at = self._lost + self._pace.settle
        if now >= self._look_at and self._taken():
            self._look(now)

    def _taken(self) -> bool:
        """Take the lock of the vault that is there now; whether it is still there."""
        try:
            self._post.take()
        except FileNotFoundError:
            return False
        self._lost, self._current = math.inf, None
        return True

    def _await_root(self, now: float) -> None:
        """The folder is gone, or its disk is not mounted: nothing is known, nothing is deleted."""
        if not self._is_there():
            self._look_at = math.inf
            self._debounce.clear()
            if not self._missing:
                self._missing = True
                self._alarm.disarm()
                self._index.close()
                self._say("root-missing", message=f"{self._config.root} is not there; waiting for it")
            return
        if not self._taken():
            return
        self._missing = False
        self._arm()
        self._say("back")
        self._look(now)


def _stamp(file: Path) -> tuple[int, int, int]:
    """What tells whether a small file was changed."""
    try:
        st = file.stat()
    except OSError:
        return (0, 0, 0)
    return st.st_size, st.st_mtime_ns, st.st_ino
