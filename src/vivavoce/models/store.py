"""The models on this machine: where they are, whether they are right, and getting them.

One folder, `<folder>/<model>/<file>`, which may be copied to another machine
or shared by several servers. With everything there no network is touched.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from vivavoce.errors import ModelUnavailable, NotFound
from vivavoce.models.checks import check, stamped
from vivavoce.models.manifest import MODELS, Model, ModelFile

if TYPE_CHECKING:
    from vivavoce.models.pull import Pull
    from vivavoce.models.registries import Registries

State: TypeAlias = Literal["missing", "fetching", "verifying", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class ModelProgress:
    """One model at one moment, for the terminal, `/status`, `/ready` and the page; `received`
    and `total` are bytes of its files."""

    name: str
    state: State
    received: int
    total: int
    error: str | None = None


OnProgress: TypeAlias = Callable[[ModelProgress], None]
"""Called on the event loop, often; must not block."""


class ModelStore:
    """The models in one folder.

    `path`, `have` and `verify` may hash a file, so they belong in a thread;
    where the stamps hold, the first two take no longer than a look at the disk.
    """

    def __init__(
        self,
        folder: Path,
        *,
        models: Sequence[Model] = MODELS,
        registries: Registries | None = None,
    ) -> None:
        self.folder = folder
        self.models = tuple(models)
        self._registries = registries
        self._now: dict[str, ModelProgress] = {}

    # --- What is there

    def model(self, name: str) -> Model:
        for model in self.models:
            if model.name == name:
                return model
        names = ", ".join(model.name for model in self.models)
        raise NotFound(f"there is no model {name!r}; there are: {names}")

    def path(self, model: str, file: str) -> Path:
        """Where a file is that was checked. Raises `ModelUnavailable`."""
        found = self.model(model).file(file)
        if found is None:
            raise NotFound(f"the model {model} has no file {file!r}")
        words = check(self.folder / model, found)
        if words is not None:
            raise ModelUnavailable(
                f"{model}/{file} {words}: run `vivavoce models pull {model}`", model=model
            )
        return self.folder / model / file

    def have(self, model: str) -> bool:
        """Whether the model is there, whole and right."""
        known = self.model(model)
        return all(check(self.folder / model, file) is None for file in known.files)

    def verify(self, model: str) -> list[str]:
        """What is wrong with the model, by the hashes of all its files: a line each."""
        return [
            f"{model}/{file.name} {words}"
            for file in self.model(model).files
            if (words := check(self.folder / model, file, trust_stamp=False))
        ]

    def progress(self, names: Iterable[str] | None = None) -> list[ModelProgress]:
        """How far each model is, or each of those named. Looks, and never hashes."""
        wanted = self.models if names is None else [self.model(name) for name in names]
        return [self._look(model) for model in wanted]

    def _look(self, model: Model) -> ModelProgress:
        now = self._now.get(model.name)
        if now is not None and now.state != "failed":
            return now
        received = self._in_place(model)
        if received < model.size:
            return now or ModelProgress(model.name, "missing", received, model.size)
        # Of the right size, and not checked since it came here: `have` or `pull` will.
        sure = all(stamped(self.folder / model.name, file) for file in model.files)
        return ModelProgress(model.name, "ready" if sure else "verifying", received, model.size)

    def _in_place(self, model: Model) -> int:
        """Bytes of the files that have their place, and the right size."""
        folder = self.folder / model.name
        return sum(file.size for file in model.files if _same_size(folder, file))

    # --- Getting what is not

    async def pull(self, names: Iterable[str], on_progress: OnProgress | None = None) -> None:
        """Fetch what is missing or damaged of these models.

        Goes on with the others when one fails, then raises `ModelUnavailable`
        with what every source said.
        """
        models = [self.model(name) for name in dict.fromkeys(names)]
        board = _Board(self._now, on_progress)
        try:
            if await self._missing(models, board):
                await self._pull(models, board)
        except OSError as exc:
            where = exc.filename or self.folder
            raise ModelUnavailable(f"{where}: {exc.strerror or exc}") from exc
        finally:
            board.clear(models)

    async def _pull(self, models: Sequence[Model], board: _Board) -> None:
        # httpx takes a while to import, and most starts have nothing to fetch.
        from vivavoce.models.download import open_client
        from vivavoce.models.pull import Pull
        from vivavoce.models.registries import Registries

        def waiting() -> None:
            for model in models:
                board.show(model, "fetching", self._in_place(model))

        self.folder.mkdir(parents=True, exist_ok=True)
        failures = []
        async with folder_lock(self.folder, waiting), open_client() as client:
            missing = await self._missing(models, board)
            registries = self._registries or Registries()
            pull = Pull(self.folder, missing, client, registries)
            for model in models:
                files = [file for each, file in missing if each is model]
                try:
                    await _fetch(pull, model, files, board)
                except ModelUnavailable as exc:
                    board.show(model, "failed", self._in_place(model), error=exc.message)
                    failures.append(exc.message)
            pull.close()
        if failures:
            raise ModelUnavailable("\n".join(failures))

    async def _missing(
        self, models: Sequence[Model], board: _Board
    ) -> list[tuple[Model, ModelFile]]:
        missing = []
        for model in models:
            board.show(model, "verifying", 0)
            folder = self.folder / model.name
            wrong = [file for file in model.files if await asyncio.to_thread(check, folder, file)]
            missing += [(model, file) for file in wrong]
            received = model.size - sum(file.size for file in wrong)
            board.show(model, "missing" if wrong else "ready", received)
        return missing


class _Board:
    """Where a pull writes down how far it is."""

    def __init__(self, now: dict[str, ModelProgress], on_progress: OnProgress | None) -> None:
        self._now = now
        self._on_progress = on_progress

    def show(self, model: Model, state: State, received: int, *, error: str | None = None) -> None:
        at = min(received, model.size)
        shown = ModelProgress(model.name, state, at, model.size, error)
        if shown == self._now.get(model.name):
            return
        self._now[model.name] = shown
        if self._on_progress is not None:
            self._on_progress(shown)

    def clear(self, models: Iterable[Model]) -> None:
        """The disk tells from now on; only a failure is remembered."""
        for model in models:
            now = self._now.get(model.name)
            if now is not None and now.state != "failed":
                del self._now[model.name]


async def _fetch(pull: Pull, model: Model, files: Sequence[ModelFile], board: _Board) -> None:
    done = shown = model.size - sum(file.size for file in files)

    def report(received: float) -> None:
        nonlocal shown
        # Never back: an archive that was fetched counts for files not yet in their place.
        shown = max(shown, int(done + received))
        board.show(model, "fetching", shown)

    for file in files:
        report(0)
        await pull.file(model, file, report)
        done += file.size
    board.show(model, "ready", done)


def _same_size(folder: Path, file: ModelFile) -> bool:
    try:
        return (folder / file.name).stat().st_size == file.size
    except OSError:
        return False


# --- One pull at a time in a folder, over all processes --------------------------------

LOCK = ".lock"
_EVERY = 0.2


@asynccontextmanager
async def folder_lock(folder: Path, waiting: Callable[[], None]) -> AsyncIterator[None]:
    """Hold the folder; `waiting` is called again and again while somebody else does.

    Archives are shared by models, so the lock is the folder's. The system lets go of it with
    the process, however that ends.
    """
    held = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        while not _taken(held):
            waiting()
            await asyncio.sleep(_EVERY)
        yield
    finally:
        os.close(held)


if sys.platform == "win32":
    import msvcrt

    def _taken(held: int) -> bool:
        try:
            msvcrt.locking(held, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _taken(held: int) -> bool:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: better than no models
            return True
        return True
