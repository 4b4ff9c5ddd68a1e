"""`vivavoce models list | pull | verify`.

`args.needed` names the models that the engine uses as it is configured.
The parser is built at every start of the command, so nothing of weight is
imported before one of them runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from vivavoce.errors import InvalidRequest, ModelUnavailable

if TYPE_CHECKING:
    from vivavoce.models.manifest import Model
    from vivavoce.models.store import ModelStore


def add_actions(models: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]) -> None:
    """The actions of `vivavoce models`: `run` makes the store and hands it to `act`."""
    actions = models.add_subparsers(title="actions", metavar="ACTION")
    for name, act, words in (
        ("list", show_list, "which models there are, and which of them are here"),
        ("pull", pull, "fetch models; without names, those that the engine uses"),
        ("verify", verify, "check every file's hash; without names, of all that are here"),
    ):
        action = actions.add_parser(name, help=words, description=words.capitalize() + ".")
        action.add_argument("--models-dir", help="folder for the models")
        action.set_defaults(run=run, act=act)
        if name != "list":
            action.add_argument("names", nargs="*", metavar="NAME", help="a model's name")
        if name == "pull":
            action.add_argument("--all", action="store_true", help="fetch every model there is")


def show_list(store: ModelStore, args: argparse.Namespace) -> int:
    from vivavoce.models.terminal import megabytes

    rows = [("NAME", "ROLE", "LICENCE", "SIZE", "STATE")]
    for model in store.models:
        state = "ready" if store.have(model.name) else "missing"
        if state == "missing" and store.progress([model.name])[0].received:
            state = "incomplete"
        marked = f"{model.role}{' *' if model.name in args.needed else ''}"
        rows.append((model.name, marked, model.licence, megabytes(model.size), state))
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        cells = (
            cell.rjust(width) if at == 3 else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join(cells).rstrip())
    print(f"\n* used as it is configured; the folder is {store.folder}")
    return 0


def pull(store: ModelStore, args: argparse.Namespace) -> int:
    import asyncio

    from vivavoce.models.terminal import Terminal

    if args.all and args.names:
        raise InvalidRequest("give names or --all, not both")
    names = args.names or ([m.name for m in store.models] if args.all else args.needed)
    terminal = Terminal(sys.stderr)
    try:
        asyncio.run(store.pull(names, terminal.show))
    finally:
        terminal.close()
    total = sum(store.model(name).size for name in set(names))
    print(f"{_count(len(set(names)))} ready in {store.folder} ({total / 1e6:.0f} MB)")
    return 0


def verify(store: ModelStore, args: argparse.Namespace) -> int:
    # What should be there, and whatever else is, though it be only a damaged piece of it.
    there = [m.name for m in store.models if m.name in args.needed or _here(store, m)]
    if not args.names and not any(_here(store, model) for model in store.models):
        raise ModelUnavailable(f"no models in {store.folder}: run `vivavoce models pull`")
    names = args.names or there
    problems = []
    for name in dict.fromkeys(names):
        wrong = store.verify(name)
        print(f"{name}: {_problems(len(wrong)) if wrong else 'every hash is right'}")
        problems += wrong
    if problems:
        damaged = " ".join(dict.fromkeys(problem.model for problem in problems))
        lines = [str(problem) for problem in problems]
        raise ModelUnavailable("\n".join([*lines, f"run `vivavoce models pull {damaged}`"]))
    return 0


def _here(store: ModelStore, model: Model) -> bool:
    return (store.folder / model.name).exists()


def _count(models: int) -> str:
    return "1 model" if models == 1 else f"{models} models"


def _problems(count: int) -> str:
    return "1 file is wrong" if count == 1 else f"{count} files are wrong"
