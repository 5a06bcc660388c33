"""The vectors of the passages: which model answers, and what still waits to be embedded.

Every distinct text of a passage has a number, and a model's matrix holds the vector of text n in row n, filled from 0
upwards. Another model is another matrix: it is filled batch by batch, each committed, while an older model answers;
the commit of its last batch makes it the one that answers. So no two models' vectors are ever compared.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from atlas import models, vectors
from atlas.errors import AtlasError, Unavailable
from atlas.store import Store, get_meta, set_meta, transaction

if TYPE_CHECKING:  # numpy.typing takes 5 ms to import, in every search
    import duckdb
    from numpy.typing import NDArray

Progress = Callable[[int, int], None]
#: Opens the index for one step and closes it again.
Opened = Callable[[], AbstractContextManager["duckdb.DuckDBPyConnection"]]

#: So many passages are embedded by a slow model while a search waits; more are left to `refresh` or the background.
WAITS_FOR = 64
#: Passages committed together. A kill loses one batch; a slow model takes seconds for it, a fast one less.
_BATCH, _FAST_BATCH = 128, 4096
#: So many models' vectors are kept: who changes back within them embeds nothing again.
_KEPT = 3
#: Seconds before the background tries again after a model could not be used.
_PAUSE = 60.0
_NOTHING: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Model:
    """A model and how far its matrix got: `rows` texts. `ready` once it had all there were; from then on it answers."""

    name: str
    signature: str
    choice: str
    file: str
    dim: int
    rows: int
    ready: bool


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts to embed: those numbered `wanted`, all that is left of the numbers from `model.rows` to `end`."""

    model: Model
    end: int
    wanted: tuple[int, ...]
    texts: tuple[str, ...]


class Embedding:
    """What the vectors of one index need. All but `catch_up` is called with the index open, by one thread at a time."""

    def __init__(self, wanted: models.Choice, store: Store) -> None:
        self.choice, self._store = wanted, store
        self.waiting = 0
        self._answers: Model | None = None
        self._wants: Model | None = None
        self._why = ""
        self._told: set[str] = set()
        self._worker: threading.Thread | None = None
        self._stop = threading.Event()
        self._not_before = 0.0

    @property
    def soon(self) -> bool:
        """Whether something waits for a slow model, and so little that a search can wait for it too."""
        return 0 < self.waiting <= WAITS_FOR

    # ------------------------------------------------------------- answering

    def settle(self, con: duckdb.DuckDBPyConnection, meta: Mapping[str, str]) -> int:
        """Choose the model that answers, after embedding what waits for a fast one; how many passages that were."""
        self._answers, self.waiting = None, 0
        if self.choice.embedding == "none":
            return 0
        texts, known = int(meta.get("texts", 0)), _models(con)
        wanted, new, self._why = None, 0, ""
        try:
            wanted = self._whole(con, self._wanted(con, known, texts), texts)
            wanted, new = self._keep_up(con, wanted, texts)
        except Unavailable as err:
            self._why = str(err)
        self.waiting = texts - wanted.rows if wanted else 0
        if wanted is not None and wanted.ready:
            self._answers = wanted
        else:
            older = [m for m in known if m.ready and (wanted is None or m.file != wanted.file)]
            self._answers, more = self._older(con, older, texts)
            new += more
        self._wants = wanted
        return new

    def state(self) -> dict[str, Any]:
        """What the settings ask for, which model answers ("" is words alone), and how many passages wait for which."""
        wanted = self._wants.name if self._wants and self.waiting else ""
        answers = self._answers.name if self._answers else ""
        return {"embedding": self.choice.embedding, "model": answers, "waiting": self.waiting, "waiting_for": wanted}

    def matrix(self) -> NDArray[np.float32] | None:
        """The vectors of the model that answers; None without one."""
        return self._mapped(self._answers) if self._answers else None

    def mix(self) -> Mapping[str, Any]:
        """The weights of the fusion that are other for the model that answers."""
        return models.MIX.get(json.loads(self._answers.choice)["embedding"], {}) if self._answers else {}

    def ask(self, text: str) -> NDArray[np.float32] | None:
        """The vector of a question by the model that answers; None if words alone have to do."""
        if self._answers is None or not text.strip():
            return None
        embedder = self._embedder(self._answers)
        try:
            return None if embedder is None else embedder.ask(text)
        except Unavailable as err:
            self._say(f"cannot ask {self._answers.name}", f"{err} Until then, words alone rank.")
            return None

    def _embedder(self, model: Model) -> models.Embedder | None:
        return models.load(models.Choice(**json.loads(model.choice)))

    def _wanted(self, con: duckdb.DuckDBPyConnection, known: list[Model], texts: int) -> Model:
        """The model the settings want, entered into the index if it is new there; raises Unavailable."""
        signature = models.signature(self.choice)
        chosen = json.dumps(asdict(self.choice))
        same = next((m for m in known if m.signature == signature), None)
        if same is not None:
            return replace(same, choice=chosen)
        embedder = models.load(self.choice)
        assert embedder is not None
        same = next((m for m in known if m.name == embedder.name), None)
        if same is not None:  # it moved, or was fetched again: the same vectors
            con.execute("UPDATE models SET signature = ?, choice = ? WHERE file = ?", [signature, chosen, same.file])
            return replace(same, signature=signature, choice=chosen)
        file = f"vectors-{secrets.token_hex(6)}.f32"
        made = Model(embedder.name, signature, chosen, file, 0, 0, not texts)
        with transaction(con):
            self._make_room(con, known)
            con.execute("INSERT INTO models VALUES (?, ?, ?, ?, ?, ?, ?)", list(asdict(made).values()))
        return made

    def _make_room(self, con: duckdb.DuckDBPyConnection, known: list[Model]) -> None:
        """Forget the models longest known, those that never got ready first, and files nobody knows."""
        dropped = sorted(known, key=lambda m: m.ready)[: max(len(known) - _KEPT + 1, 0)]
        for model in dropped:
            con.execute("DELETE FROM models WHERE file = ?", [model.file])
        kept = {model.file for model in known} - {model.file for model in dropped}
        for place in self._store.folder.glob("vectors-*.f32"):
            if place.name not in kept:
                place.unlink(missing_ok=True)

    def _older(self, con: duckdb.DuckDBPyConnection, known: list[Model], texts: int) -> tuple[Model | None, int]:
        """The latest other model that can still be used for questions, kept up to date as well."""
        for model in reversed(known):
            choice = models.Choice(**json.loads(model.choice))
            try:
                embedder = models.load(choice)
                if embedder is not None and models.signature(choice) == model.signature:
                    return self._keep_up(con, self._whole(con, model, texts), texts)
            except Unavailable:
                continue
        return None, 0

    def tell(self) -> None:
        """Say what does not rank as the settings want, once for each reason."""
        wanted, why = self._wants, self._why
        answer = f"{self._answers.name} ranks" if self._answers else "words alone rank"
        if self.choice.embedding == "none":
            return
        if wanted is None or (why and not wanted.ready):
            self._say(f"{why} {answer}", f"{why} Until then, {answer}.")
        elif not wanted.ready:
            self._say(
                f"{wanted.name} {answer}",
                f"{wanted.name} has embedded {wanted.rows:,} of {wanted.rows + self.waiting:,} passages: "
                f"until all are, {answer}; `atlas index` embeds the rest.",
            )
        elif self.waiting:
            rest = f"{self.waiting:,} passages wait for their vectors and rank by words alone: run `atlas index`."
            self._say(f"{wanted.name} waits {why}", f"{why} {rest}".strip())

    def _say(self, key: str, sentence: str) -> None:
        if key not in self._told:
            self._told.add(key)
            self._store.said.append(sentence)

    # ------------------------------------------------------------- embedding

    def _whole(self, con: duckdb.DuckDBPyConnection, model: Model, texts: int) -> Model:
        """The model, begun anew if its file is gone or too short."""
        try:
            self._mapped(model)
        except ValueError:
            self._store.said.append("The vectors beside the index were damaged; they are made again.")
            con.execute("UPDATE models SET rows = 0, ready = ? WHERE file = ?", [not texts, model.file])
            return replace(model, rows=0, ready=not texts)
        return model

    def _mapped(self, model: Model) -> NDArray[np.float32] | None:
        """The vectors of a model, None if it has none; raises ValueError when their file is too short."""
        file = self._store.folder / model.file
        return vectors.mapped(file, model.rows, model.dim) if model.rows and model.dim else None

    def _keep_up(self, con: duckdb.DuckDBPyConnection, model: Model, texts: int) -> tuple[Model, int]:
        """Embed what waits for a fast model; the model after it, and how many passages that were."""
        embedder = self._embedder(model) if model.rows < texts else None
        if embedder is None or not embedder.fast:
            return model, 0
        first = model.rows
        while model.rows < texts:
            batch = _next(con, model, texts, _FAST_BATCH)
            model = self._put(con, batch, embedder.embed(batch.texts), texts)
        return model, texts - first

    def _put(self, con: duckdb.DuckDBPyConnection, batch: Batch, made: NDArray[np.float32], texts: int) -> Model:
        """Keep the vectors of a batch: the file first, then the row that says how far it goes."""
        dim = made.shape[1] if len(made) else batch.model.dim
        model = replace(batch.model, dim=dim, rows=batch.end, ready=batch.model.ready or batch.end == texts)
        rows = np.zeros((batch.end - batch.model.rows, dim), dtype=np.float32)
        rows[np.array(batch.wanted, dtype=np.int64) - batch.model.rows] = made
        vectors.append(self._store.folder / model.file, batch.model.rows, rows)
        with transaction(con):
            con.execute(
                "UPDATE models SET dim = ?, rows = ?, ready = ? WHERE file = ?",
                [model.dim, model.rows, model.ready, model.file],
            )
            if model.rows == texts:  # engines that keep the index in memory take up the new vectors
                set_meta(con, {"generation": str(int(get_meta(con)["generation"]) + 1)})
        return model

    def catch_up(self, opened: Opened, progress: Progress | None = None) -> int:
        """Embed all that waits, with the index free for others while the model works; how many. Raises Unavailable."""
        done, batch, made = 0, None, _NOTHING
        while not self._over():
            with opened() as con:
                if batch is not None and self._store_batch(con, batch, made):
                    done += len(batch.wanted)
                batch, texts = self._following(con)
            if progress is not None and (batch or done):
                progress(batch.model.rows if batch else texts, texts)
            if batch is None:
                break
            made = self._vectors(batch)
        return done

    def _vectors(self, batch: Batch) -> NDArray[np.float32]:
        """The vectors of a batch, made a few at a time, so that the end of the program is noticed between them."""
        embedder = self._embedder(batch.model)
        assert embedder is not None
        parts = [
            embedder.embed(batch.texts[start : start + embedder.batch])
            for start in range(0, len(batch.texts), embedder.batch)
            if not self._over()
        ]
        return np.concatenate(parts) if parts else _NOTHING

    def _over(self) -> bool:
        """Whether the engine was closed or the program is ending; a thread that is no daemon has to look."""
        return self._stop.is_set() or not threading.main_thread().is_alive()

    def _following(self, con: duckdb.DuckDBPyConnection) -> tuple[Batch | None, int]:
        """The next texts that wait for the wanted model, if any, and how many texts there are."""
        texts = int(get_meta(con).get("texts", 0))
        model = None if self.choice.embedding == "none" else self._wanted(con, _models(con), texts)
        return (_next(con, model, texts, _BATCH) if model and model.rows < texts else None), texts

    def _store_batch(self, con: duckdb.DuckDBPyConnection, batch: Batch, made: NDArray[np.float32]) -> bool:
        """Keep a batch made while the index was free, unless somebody else made it or the index began anew."""
        now = next((m for m in _models(con) if m.file == batch.model.file), None)
        if now is None or now.rows != batch.model.rows:
            return False
        texts = int(get_meta(con)["texts"])
        if self._put(con, batch, made, texts).rows == texts:
            self._store.publish()
        return True

    # ------------------------------------------------------------ background

    def work_on(self, opened: Opened) -> None:
        """Embed what waits in a thread of its own, if anything waits and none does so yet."""
        idle = self._worker is None or not self._worker.is_alive()
        if self.waiting > 0 and idle and time.monotonic() >= self._not_before:
            self._worker = threading.Thread(target=self._work, args=(opened,), name="atlas embedding")
            self._worker.start()

    def _work(self, opened: Opened) -> None:
        try:
            self.catch_up(opened)
        except AtlasError as err:
            self._not_before = time.monotonic() + _PAUSE
            self._say(f"worker: {err}", str(err))

    def rest(self) -> None:
        """End the work in the background; what was committed stays."""
        if self._worker is not None:
            self._stop.set()
            self._worker.join()
            self._stop.clear()
            self._worker = None


def _models(con: duckdb.DuckDBPyConnection) -> list[Model]:
    """All models the index has vectors of, in the order in which it met them."""
    rows = con.execute("SELECT name, signature, choice, file, dim, rows, ready FROM models ORDER BY rowid").fetchall()
    return [Model(*row) for row in rows]


def _next(con: duckdb.DuckDBPyConnection, model: Model, texts: int, size: int) -> Batch:
    """The next texts without a vector of this model, in the order of their numbers."""
    end = min(model.rows + size, texts)
    rows = con.execute(
        "SELECT vec, min(CASE WHEN context = '' THEN text ELSE context || chr(10) || text END) FROM chunks "
        f"WHERE vec >= {model.rows} AND vec < {end} GROUP BY vec ORDER BY vec"
    ).fetchall()
    return Batch(model, end, tuple(vec for vec, _ in rows), tuple(text for _, text in rows))
