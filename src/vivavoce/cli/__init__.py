"""The `vivavoce` command: serve, talk, look after the database and the models, check an agent.

Imports of weight happen inside the commands, so that `--help` is quick. What
goes wrong on purpose is one clear line on stderr and exit code 2.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from vivavoce import __version__
from vivavoce.cli import talk
from vivavoce.errors import InvalidRequest, ModelUnavailable, VivavoceError
from vivavoce.processes.starting import ONE_THREAD

if TYPE_CHECKING:
    from vivavoce.app.settings import Settings
    from vivavoce.models.manifest import Model
    from vivavoce.models.store import ModelStore
    from vivavoce.models.terminal import Terminal
    from vivavoce.runtime.people.data import UserData
    from vivavoce.store import SqlStore
    from vivavoce.wire.records.talk import Put
    from vivavoce.wire.records.work import Approval

DEFAULT_USER = "local"
T = TypeVar("T")
PROG = "vivavoce"

_EPILOG = """\
examples:
  vivavoce serve                                the workbench on http://127.0.0.1:8080
  vivavoce serve --port 9000 --agent ./my-agent another port, an agent of your own
  vivavoce serve --https --host 0.0.0.0         for a phone: a certificate, and a QR code
  vivavoce agent check ./my-agent               is everything in the folder right?
  vivavoce db sweep                             delete what is older than it should be
  vivavoce data export ada --output ada.json    all that is kept of a user
  vivavoce talk                                 talk to it from this terminal
  vivavoce doctor                               what holds on this machine, and what does not
  vivavoce audit                                who did what; --verify: is all of it there?
  vivavoce grants list                          what was allowed for good, or for a session
  vivavoce mcp                                  its tools and tasks for an MCP host, over stdio
  vivavoce replay vs_20260131_143022_a3f2       play a session again: would it go the same way?
  vivavoce models pull                          fetch the models before they are needed
  vivavoce token create grafana --days 30       a token of its own for whoever watches the server

environment (all of it in docs/settings.md; a .env file works too):
  OPENAI_API_KEY          the provider's key (or VIVAVOCE_API_KEY)
  VIVAVOCE_PROVIDER_URL   embedded (our own engine), openai, or any Realtime server's base URL
  VIVAVOCE_MODEL          its model
  VIVAVOCE_DATA_DIR       folder for everything that is written
  VIVAVOCE_MODELS_DIR     folder for the models
  VIVAVOCE_DATABASE_URL   sqlite:////path/to.db or postgresql://…
  VIVAVOCE_AUTH           off (this machine only) or token, with VIVAVOCE_AUTH_TOKEN
"""


class Complaint(Exception):
    """Something the user can mend, in words that are ready to print."""


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point of the command; returns its exit code."""
    args = _parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = args.run
    try:
        return run(args)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # or Python complains about the pipe once more at exit
        return 1
    except Complaint as exc:
        return _complain(str(exc))
    except VivavoceError as exc:
        return _complain(exc.message)
    except OSError as exc:
        where = f"{exc.filename}: " if exc.filename else ""
        return _complain(f"{where}{exc.strerror or exc}")


def _complain(message: str) -> int:
    for line in message.splitlines() or ["something went wrong"]:
        print(f"{PROG}: {line}", file=sys.stderr)
    return 2


# --- The parser -------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROG,
        description="A self-hosted realtime voice-agent server.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"{PROG} {__version__}")
    parser.set_defaults(run=_help_of(parser))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    serve = commands.add_parser("serve", help="serve an agent until Ctrl-C")
    serve.set_defaults(run=_serve)
    serve.add_argument("--host", help="address to listen on (127.0.0.1)")
    serve.add_argument("--port", help="port to listen on (8080); 0 takes a free one")
    serve.add_argument(
        "--https",
        action="store_true",
        default=None,
        help="speak https: with VIVAVOCE_HTTPS_CERT and VIVAVOCE_HTTPS_KEY, or a certificate that "
        "is made and kept",
    )
    serve.add_argument("--agent", help="name of an agent, or path of its folder (workbench)")
    serve.add_argument("--data-dir", help="folder for everything that is written")
    serve.add_argument("--log-level", help="debug, info, warning or error")

    def group(name: str, words: str) -> Callable[..., argparse.ArgumentParser]:
        found = commands.add_parser(name, help=words)
        found.set_defaults(run=_help_of(found))
        return found.add_subparsers(title="actions", metavar="ACTION").add_parser

    add = group("db", "look after the database")
    for name, run, words in (
        ("upgrade", _db_upgrade, "bring it to this version's schema, or create it"),
        ("current", _db_current, "show which schema it has"),
        ("sweep", _db_sweep, "delete what is older than the retention settings allow"),
    ):
        action = add(name, help=words, description=words.capitalize() + ".")
        action.add_argument("--data-dir", help="folder for everything that is written")
        action.set_defaults(run=run)

    add = group("token", "the bearer tokens of those who run the server")
    made = add("create", help="make one; its secret is shown this once")
    made.add_argument("name", metavar="NAME", help="whose it is, or what for")
    made.add_argument(
        "--days", type=float, default=90, help="until it expires (%(default)s); 0 is never"
    )
    made.add_argument(
        "--role",
        choices=("user", "developer", "operator"),
        default="operator",
        help="what it allows (%(default)s)",
    )
    made.set_defaults(run=_token_create)
    listed = add("list", help="which there are, and until when")
    listed.set_defaults(run=_token_list)
    revoked = add("revoke", help="from now on it opens nothing")
    revoked.add_argument("name", metavar="NAME", help="as `list` shows it")
    revoked.set_defaults(run=_token_revoke)
    for action in (made, listed, revoked):
        action.add_argument("--data-dir", help="folder for everything that is written")

    add = group("data", "what is kept of a user")
    for name, run, words in (
        ("export", _data_export, "write all that is kept of a user"),
        ("delete", _data_delete, "delete all that is kept of a user, while no server runs"),
    ):
        action = add(name, help=words, description=words.capitalize() + ".")
        action.add_argument("user", metavar="USER", help="the user's id; without users: local")
        action.add_argument("--data-dir", help="folder for everything that is written")
        action.set_defaults(run=run)
        if name == "export":
            action.add_argument(
                "--format", choices=("json", "markdown"), default="json", help="(%(default)s)"
            )
            action.add_argument("--output", metavar="FILE", help="a new file (standard output)")
        else:
            action.add_argument("--yes", action="store_true", help="do it without being asked")

    add = group("models", "look after the models")
    for name, act, words in (
        ("list", show_list, "which models there are, and which of them are here"),
        ("pull", pull, "fetch models; without names, those that the engine uses"),
        ("verify", verify, "check every file's hash; without names, of all that are here"),
    ):
        action = add(name, help=words, description=words.capitalize() + ".")
        action.add_argument("--models-dir", help="folder for the models")
        action.set_defaults(run=_models, act=act)
        if name != "list":
            action.add_argument("names", nargs="*", metavar="NAME", help="a model's name")
        if name == "pull":
            action.add_argument("--all", action="store_true", help="fetch every model there is")

    add = group("grants", "what was allowed for good, or for the rest of a session")
    for name, run, words in (
        ("list", _grants_list, "each yes that goes on, the newest first"),
        ("revoke", _grants_revoke, "take one back: it is asked again"),
    ):
        action = add(name, help=words, description=words.capitalize() + ".")
        action.add_argument("--user", default=DEFAULT_USER, help="whose (%(default)s)")
        action.add_argument("--data-dir", help="folder for everything that is written")
        action.set_defaults(run=run)
        if name == "revoke":
            action.add_argument("grant", metavar="ID", help="as `list` shows it")

    audit = commands.add_parser("audit", help="who did what, and whether all of it is there")
    audit.set_defaults(run=_audit)
    audit.add_argument("--user", help="of this user only")
    audit.add_argument("--last", type=int, default=100, help="so many lines (%(default)s)")
    audit.add_argument("--verify", action="store_true", help="check the chain of all lines instead")
    audit.add_argument("--data-dir", help="folder for everything that is written")

    replay = commands.add_parser(
        "replay",
        help="play a recorded session again, and say where it goes differently now",
        description=(
            "Gives a new session what a stored one was told, step by step, with the same times: "
            "no network, no tools, no sound. Prints the first thing that it wants done "
            "differently now. Exit code 0: all is the same; 1: something differs; 2: it cannot "
            "be played."
        ),
        epilog=(
            "Recordings are kept for VIVAVOCE_RETENTION_RECORDINGS_HOURS (24), without sound and "
            "with secrets redacted; VIVAVOCE_RECORDING=false turns them off. A case that was "
            "saved in tests/session/recorded is played by `make test`. It has what was said in "
            "it: look before you share it."
        ),
    )
    replay.set_defaults(run=_replay)
    replay.add_argument(
        "session", metavar="SESSION", help="a session's id (vs_…), or a file that --save made"
    )
    replay.add_argument("--save", metavar="FILE", help="make a regression test case of it")
    replay.add_argument("--data-dir", help="folder for everything that is written")

    doctor = commands.add_parser("doctor", help="what would `serve` find here, and what is amiss?")
    doctor.set_defaults(run=_doctor)
    doctor.add_argument("--agent", help="name of an agent, or path of its folder (workbench)")
    doctor.add_argument("--data-dir", help="folder for everything that is written")

    talk.add_arguments(
        spoken := commands.add_parser(
            "talk",
            help="talk to a server from this terminal",
            description=talk.DESCRIPTION,
            epilog=talk.EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )
    spoken.set_defaults(run=talk.run)

    mcp = commands.add_parser("mcp", help="offer a server's tools and tasks to an MCP host")
    mcp.set_defaults(run=_mcp)
    mcp.add_argument(
        "--url", default="http://127.0.0.1:8080", help="where the server is (%(default)s)"
    )
    mcp.add_argument(
        "--token", help="its token; better in VIVAVOCE_AUTH_TOKEN, which ps does not show"
    )

    add = group("agent", "work with agent folders")
    check = add("check", help="is everything in the folder right?")
    check.add_argument(
        "agent_checked", metavar="AGENT", help="name of an agent, or path of its folder"
    )
    check.set_defaults(run=_agent_check)
    return parser


def _help_of(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], int]:
    """For a command that lacks the rest of it."""

    def run(args: argparse.Namespace) -> int:
        parser.print_help(sys.stderr)
        return 2

    return run


# --- The commands -----------------------------------------------------------------


def _settings(args: argparse.Namespace) -> Settings:
    from vivavoce.app.settings import (
        SettingsError,
        load_settings,
        unknown_variables,
        variable,
    )

    names = ("host", "port", "https", "agent", "data_dir", "models_dir", "log_level")
    given = {name: getattr(args, name, None) for name in names}
    try:
        settings = load_settings(**given)
    except SettingsError as exc:
        problems = str(exc)
        for name, value in given.items():
            if value is not None:  # named as it was given
                problems = problems.replace(f"{variable(name)}:", f"--{name.replace('_', '-')}:")
        raise Complaint(problems) from None
    if args.run not in (_serve, _doctor):  # these say more
        from vivavoce.app.workspace import ADVICE, planted

        for problem in planted(settings.workspace):
            raise Complaint(f"{problem}\nTools write there. {ADVICE}")
    for line in unknown_variables():
        print(f"{PROG}: warning: {line}", file=sys.stderr)
    return settings


def _serve(args: argparse.Namespace) -> int:
    gc.disable()  # a start makes no garbage worth looking for; `listen` turns it on again
    os.environ |= ONE_THREAD  # before numpy is loaded
    try:
        return _serve_quickly(args)
    finally:
        gc.enable()


def _serve_quickly(args: argparse.Namespace) -> int:
    from vivavoce.app.agent import open_agent
    from vivavoce.runtime.agents.agent import AgentError

    settings = _settings(args)
    try:
        # Before what takes long to import.
        source = open_agent(settings.agent, settings.agents_dir, settings.agent_overrides())

        from vivavoce.app.workspace import prepare
        from vivavoce.server.gate.auth import check_bind

        check_bind(settings.host, settings.auth)
        if prepare(settings, source.current.folder):
            words = f"{PROG}: made {settings.workspace}, the folder that its tools work in"
            print(words, file=sys.stderr)

        from vivavoce.app.listen import serve

        return serve(settings, source)
    except AgentError as exc:
        raise Complaint(str(exc)) from None


def _db_upgrade(args: argparse.Namespace) -> int:
    from vivavoce.store import open_store
    from vivavoce.store.migrate import HEAD

    store = open_store(_settings(args).database_url)

    async def upgrade() -> None:
        await store.open()
        await store.close()

    asyncio.run(upgrade())
    print(f"schema {HEAD}, up to date")
    return 0


def _db_current(args: argparse.Namespace) -> int:
    from sqlalchemy.exc import DBAPIError

    from vivavoce.store.database import parse
    from vivavoce.store.migrate import HEAD, current
    from vivavoce.store.sql_store import cannot_open

    database = parse(_settings(args).database_url)
    engine = database.readers(1)
    try:
        if not database.postgres and not Path(str(database.url.database)).exists():
            print(f"no database yet; `{PROG} db upgrade` or the first `serve` makes one")
            return 0
        with engine.connect() as connection:
            found = current(connection)
    except (DBAPIError, OSError) as exc:
        raise cannot_open(database, exc) from None
    finally:
        engine.dispose()
    state = "up to date" if found == HEAD else f"this version has {HEAD}"
    print(f"schema {found or 'none'}, {state}")
    return 0


def _db_sweep(args: argparse.Namespace) -> int:
    from vivavoce.wire.records.talk import utc_now

    settings = _settings(args)
    deleted = _with_store(settings, lambda store: store.sweep(settings.retention, utc_now()))
    print(f"{deleted} rows deleted")
    return 0


def _with_store(settings: Settings, do: Callable[[SqlStore], Awaitable[T]]) -> T:
    from vivavoce.store import open_store

    store = open_store(settings.database_url)

    async def work() -> T:
        await store.open()
        try:
            return await do(store)
        finally:
            await store.close()

    return asyncio.run(work())


def _token_create(args: argparse.Namespace) -> int:
    import re
    from datetime import timedelta

    from vivavoce.server.gate.auth import AUTH_TOKEN
    from vivavoce.server.gate.tokens import minted
    from vivavoce.wire.records.talk import Put, utc_now

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}", args.name):
        raise Complaint("a token's name has letters, digits and ._@-, at most 64")
    if args.name == AUTH_TOKEN:
        raise Complaint(f"{AUTH_TOKEN} is the name of the token that is a setting")
    if not 0 <= args.days <= 3660:
        raise Complaint("--days: should be from 0 to 3660")
    now = utc_now()
    until = now + timedelta(days=args.days) if args.days else None
    value, token = minted(args.name, args.role, now, until)

    async def create(store: SqlStore) -> None:
        for known in await store.access_tokens():
            if known.name == args.name and known.works(now):
                again = f"`{PROG} token revoke {args.name}` makes room for another"
                raise Complaint(f"there is a token '{args.name}' already; {again}")
        await _audited(store, Put(token))

    _with_store(_settings(args), create)
    lasts = f"until {until:%Y-%m-%d}" if until else "until it is revoked"
    told = f"'{args.name}' is made, for the role {args.role}, {lasts}; it is shown this once"
    print(f"{PROG}: {told}", file=sys.stderr)
    print(value)
    return 0


def _token_list(args: argparse.Namespace) -> int:
    from vivavoce.wire.records.talk import utc_now

    now = utc_now()
    rows = [("NAME", "ROLE", "MADE", "EXPIRES", "STATE")]
    for token in _with_store(_settings(args), lambda store: store.access_tokens()):
        state = "works" if token.works(now) else "revoked" if token.revoked_at else "expired"
        until = f"{token.expires_at:%Y-%m-%d}" if token.expires_at else "never"
        rows.append((token.name, token.role, f"{token.created_at:%Y-%m-%d}", until, state))
    _print_table(rows)
    return 0


def _token_revoke(args: argparse.Namespace) -> int:
    from vivavoce.wire.records.talk import Put, utc_now

    async def revoke(store: SqlStore) -> None:
        for token in await store.access_tokens():
            if token.name == args.name:
                at = token.revoked_at or utc_now()
                await _audited(store, Put(replace(token, revoked_at=at)))
                return
        raise Complaint(f"there is no token '{args.name}'; `{PROG} token list` shows them")

    _with_store(_settings(args), revoke)
    print(f"'{args.name}' opens nothing any more; a server that runs knows within seconds")
    return 0


def _print_table(rows: Sequence[Sequence[str]], right: int | None = None) -> None:
    """`right` is the column of numbers."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        cells = (
            cell.rjust(width) if at == right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join(cells).rstrip())


async def _audited(store: SqlStore, *changes: Put) -> None:
    from vivavoce.runtime.journal.log import audited
    from vivavoce.wire.records.talk import Audited, utc_now

    await store.commit([*changes, *map(Audited, audited(changes, utc_now()))])


def _grants(args: argparse.Namespace, revoke: str | None = None) -> list[Approval]:
    """Those of one user; with `revoke`, that one is taken back."""
    from vivavoce.wire.records.talk import Put, utc_now

    async def read(store: SqlStore) -> list[Approval]:
        found = await store.standing_approvals(user_id=args.user)
        chosen = [one for one in found if one.id == revoke]
        await _audited(store, *(Put(replace(one, revoked_at=utc_now())) for one in chosen))
        return found if revoke is None else chosen

    return _with_store(_settings(args), read)


def _grants_list(args: argparse.Namespace) -> int:
    for one in _grants(args):
        when = f"{one.resolved_at:%Y-%m-%d %H:%M}" if one.resolved_at else ""
        given = json.dumps(one.arguments, ensure_ascii=False)
        print(f"{one.id}  {when}  {one.reach} by {one.resolved_by}  {one.tool} {given}")
    return 0


def _grants_revoke(args: argparse.Namespace) -> int:
    if not _grants(args, args.grant):
        raise Complaint(f"there is no yes '{args.grant}' of {args.user} that goes on")
    print("taken back")
    return 0


def _audit(args: argparse.Namespace) -> int:
    from vivavoce.wire.records.talk import iso
    from vivavoce.wire.records.work import AuditEnds, AuditLine, first_break

    async def read(store: SqlStore) -> tuple[list[AuditLine], AuditEnds]:
        found: list[AuditLine] = []
        user = None if args.verify else args.user
        while page := await store.audit(after=found[-1].position if found else 0, user_id=user):
            found += page
        return found, await store.audit_ends()

    lines, ends = _with_store(_settings(args), read)
    if args.verify:
        if (at := first_break(lines, ends)) is not None:
            words = "is missing, or does not follow from the one before: the trail was changed"
            raise Complaint(f"line {at} {words}")
        since = f", since line {lines[0].position}" if lines else ""
        print(f"{len(lines)} lines, each follows from the one before{since}")
        return 0
    for one in lines[-max(0, args.last) :] if args.last else []:
        role = ":".join(filter(None, (one.role, one.token)))
        who = f"{one.user_id or '-'} {role or '-'} {one.address or '-'} {one.request_id or '-'}"
        line = f"{one.position} {iso(one.at)} {who} {one.action} {one.what}: {one.outcome}"
        print(f"{line} {one.digest[:12]}".rstrip())
    return 0


def _data_export(args: argparse.Namespace) -> int:
    import os

    if args.output is None:
        asyncio.run(_with_data(args, lambda data: _write(data, args, sys.stdout.buffer)))
        return 0
    # For its owner's eyes only, and never over something else.
    made = os.open(args.output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(made, "wb") as file:
        asyncio.run(_with_data(args, lambda data: _write(data, args, file)))
    return 0


async def _write(data: UserData, args: argparse.Namespace, file: BinaryIO) -> None:
    async for piece in data.export(args.user, args.format):
        file.write(piece)
    file.flush()


def _data_delete(args: argparse.Namespace) -> int:
    from vivavoce.app.listen import sole_server

    if not args.yes:
        asked = f"Delete all that is kept of {args.user!r}, for good? Type the name to do it: "
        print(asked, end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip() != args.user:
            raise Complaint("nothing was deleted")
    with sole_server(_settings(args).database_url):
        gone = asyncio.run(_with_data(args, lambda data: data.delete(args.user, counts=True)))
    print(f"{sum(gone.rows.values())} rows and {gone.files} files deleted")
    if gone.not_reached:
        raise Complaint(f"did not answer, and still has files: {', '.join(gone.not_reached)}")
    return 0


async def _with_data(
    args: argparse.Namespace, act: Callable[[UserData], Coroutine[Any, Any, T]]
) -> T:
    from vivavoce.app.tools import resting_data
    from vivavoce.runtime.clock import SystemClock
    from vivavoce.store import open_store

    settings = _settings(args)
    store = open_store(settings.database_url)
    await store.open()
    try:
        return await act(resting_data(settings, store, SystemClock()))
    finally:
        await store.close()


def _models(args: argparse.Namespace) -> int:
    """`args.needed`: the models that the engine uses as it is configured; `args.brain` fetches the
    one that a hub has."""
    from vivavoce.models.store import ModelStore

    settings = _settings(args)
    args.needed = settings.needed_models
    args.brain = partial(_from_hub, settings) if settings.brain_at_hub else None
    act: Callable[[ModelStore, argparse.Namespace], int] = args.act
    code = act(ModelStore(settings.models_dir), args)
    if act is verify and settings.brain_at_hub and not args.names:
        _verify_from_hub(settings)
    return code


def _verify_from_hub(settings: Settings) -> None:
    from vivavoce.models import hub

    reference = hub.parse(settings.brain)
    assert reference is not None  # the settings have seen to it
    if words := hub.Hub(settings.models_dir).verify(reference):
        raise ModelUnavailable(f"{settings.brain} {words}\nrun `vivavoce models pull`")
    print(f"{settings.brain}: every hash is right")


def show_list(store: ModelStore, args: argparse.Namespace) -> int:
    from vivavoce.models.terminal import megabytes

    rows = [("NAME", "ROLE", "LICENCE", "SIZE", "STATE")]
    for model in store.models:
        state = "ready" if store.have(model.name) else "missing"
        if state == "missing" and store.progress([model.name])[0].received:
            state = "incomplete"
        marked = f"{model.role}{' *' if model.name in args.needed else ''}"
        rows.append((model.name, marked, model.licence, megabytes(model.size), state))
    _print_table(rows, right=3)
    print(f"\n* used as it is configured; the folder is {store.folder}")
    return 0


def pull(store: ModelStore, args: argparse.Namespace) -> int:
    from vivavoce.models.terminal import Terminal

    if args.all and args.names:
        raise InvalidRequest("give names or --all, not both")
    names = args.names or ([m.name for m in store.models] if args.all else args.needed)
    terminal = Terminal(sys.stderr)
    try:
        asyncio.run(store.pull(names, terminal.show))
        if args.brain is not None and not args.names:
            print(asyncio.run(args.brain(terminal)))
    finally:
        terminal.close()
    total = sum(store.model(name).size for name in set(names))
    print(f"{_count(len(set(names)))} ready in {store.folder} ({total / 1e6:.0f} MB)")
    return 0


async def _from_hub(settings: Settings, terminal: Terminal) -> Path:
    """The brain that the settings name, where a hub has it."""
    from vivavoce.app.settings import plain
    from vivavoce.models import hub
    from vivavoce.models.store import ModelProgress

    def show(received: int, total: int) -> None:
        terminal.show(ModelProgress(settings.brain, "fetching", received, total))

    reference = hub.parse(settings.brain)
    assert reference is not None  # the settings have seen to it
    at = hub.Hub(settings.models_dir, url=settings.hub_url, key=plain(settings.brain_key))
    return await at.get(reference, show)


def verify(store: ModelStore, args: argparse.Namespace) -> int:
    # What should be there, and whatever else is, though it be only a damaged piece of it.
    there = [m.name for m in store.models if m.name in args.needed or _here(store, m)]
    if not args.names and not any(_here(store, model) for model in store.models):
        raise ModelUnavailable(f"no models in {store.folder}: run `vivavoce models pull`")
    names = args.names or there
    lines, damaged = [], []
    for name in dict.fromkeys(names):
        wrong = store.verify(name)
        print(f"{name}: {_problems(len(wrong)) if wrong else 'every hash is right'}")
        lines += wrong
        damaged += [name] if wrong else []
    if damaged:
        again = f"run `vivavoce models pull {' '.join(damaged)}`"
        raise ModelUnavailable("\n".join([*lines, again]))
    return 0


def _here(store: ModelStore, model: Model) -> bool:
    return (store.folder / model.name).exists()


def _count(models: int) -> str:
    return "1 model" if models == 1 else f"{models} models"


def _problems(count: int) -> str:
    return "1 file is wrong" if count == 1 else f"{count} files are wrong"


def _mcp(args: argparse.Namespace) -> int:
    from vivavoce.cli.mcp import serve

    token: str | None = args.token
    if token is None and (secret := _settings(args).auth_token) is not None:
        token = secret.get_secret_value()
    asyncio.run(serve(args.url, token))
    return 0


def _replay(args: argparse.Namespace) -> int:
    from vivavoce.session.replay import Unplayable, runs

    file = Path(args.session)
    kept = _saved(file) if file.is_file() else _recorded(args)
    try:
        if args.save:
            # What was said is for its owner's eyes only.
            made = os.open(args.save, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(made, "w", encoding="utf-8") as out:
                json.dump(kept, out, ensure_ascii=False, indent=1)
                out.write("\n")
            print(f"saved {args.save}", file=sys.stderr)
        steps = 0
        for number, found in runs(kept["runs"]):
            steps = number
            if found is not None:
                print("\n".join(found.told()))
                return 1
    except Unplayable as exc:
        raise Complaint(f"{args.session}: {exc}") from None
    except FileExistsError:
        raise Complaint(f"{args.save} is there already") from None
    print(f"{steps} steps, all the same")
    return 0


def _saved(file: Path) -> dict[str, Any]:
    try:
        kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if all({"began", "steps"} <= run.keys() for run in kept["runs"]):
            return kept
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise Complaint(f"{file} is no file that `{PROG} replay --save` made")


def _recorded(args: argparse.Namespace) -> dict[str, Any]:
    from vivavoce.session.replay import runs_of

    session: str = args.session
    parts = _with_store(_settings(args), lambda store: store.recording(session))
    if parts is None:
        raise Complaint(f"there is no session '{session}', and no file of that name")
    found = runs_of(part.data for part in parts)
    if not found:
        raise Complaint(
            f"nothing is recorded of session '{session}': recordings are kept for "
            "VIVAVOCE_RETENTION_RECORDINGS_HOURS (24), and VIVAVOCE_RECORDING may be off"
        )
    return {"session": session, "version": __version__, "runs": found}


def _doctor(args: argparse.Namespace) -> int:
    from vivavoce.cli.doctor import examine

    return examine(_settings(args))


def _agent_check(args: argparse.Namespace) -> int:
    """What `serve` would say of it, and no server."""
    from vivavoce.app.agent import check_agent, described, open_agent
    from vivavoce.app.engine import voices_of
    from vivavoce.app.tools import known_tools
    from vivavoce.runtime.agents.agent import AgentError
    from vivavoce.runtime.clock import SystemClock

    settings = _settings(args)
    given = Path(args.agent_checked)
    registry = known_tools(settings, SystemClock())
    try:
        named = given.absolute() if given.is_dir() else args.agent_checked
        source = open_agent(named, settings.agents_dir)
        agent, intents = source.current, source.intents
        voices = [voice.id for voice in voices_of(settings)]
        tools = [tool.name for tool in registry.definitions()]
        check_agent(agent, intents, voices=voices, tools=registry)
    except AgentError as exc:
        raise Complaint(str(exc)) from None
    there = [*tools, *intents.tool_names]
    chosen = agent.chosen(there)
    print("\n".join(described(agent, intents, there if chosen is None else chosen)))
    return 0
