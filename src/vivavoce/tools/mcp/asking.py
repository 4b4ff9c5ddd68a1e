"""Puts a server's form to the user, question by question, and reads the answers.

The same for both generations: a server that asks by itself (before 2026-07-28)
and a call that comes back with `InputRequiredResult`. Each question says which
server asks, so that no server passes for the voice itself.
"""

from __future__ import annotations

import logging

from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from vivavoce.errors import VivavoceError
from vivavoce.language.en.replies import Misheard, plain, stops
from vivavoce.logs import fields as told
from vivavoce.runtime.ports import Asking
from vivavoce.tools.mcp.questions import Field, Unanswerable, Value, fields, read
from vivavoce.tools.mcp.schemas import plain_text

log = logging.getLogger(__name__)

MAX_TRIES = 3
MAX_ANSWER = 2000


async def elicit(server: str, form: ElicitRequestParams, ask: Asking) -> ElicitResult:
    """The user's answer in the server's shape. Nobody there, or no sense in it: cancelled."""
    if not isinstance(form, ElicitRequestFormParams):
        # A page to open is nothing that can be done by voice, and a way to phish.
        log.info("Declined a page that an MCP server wanted opened", extra=told(server=server))
        return ElicitResult(action="decline")
    try:
        asked, known = fields(form.message, form.requested_schema)
    except Unanswerable as exc:
        log.warning("Declined a form of an MCP server", extra=told(server=server, reason=str(exc)))
        return ElicitResult(action="decline")
    try:
        if not asked:
            return await _confirmed(server, form.message, ask, known)
        content = dict(known)
        for field in asked:
            content[field.name] = await _answer(server, field, ask)
    except _Stopped:
        return ElicitResult(action="cancel")
    except VivavoceError as exc:  # nobody to ask, or nobody answered
        log.info("A question was not answered", extra=told(server=server, reason=exc.message))
        return ElicitResult(action="cancel")
    return ElicitResult(action="accept", content=content)


class _Stopped(Exception):
    """The user wants out."""


async def _confirmed(
    server: str, message: str, ask: Asking, known: dict[str, Value]
) -> ElicitResult:
    field = Field("", {"type": "boolean"}, plain_text(message, 600), ("yes", "no"))
    agreed = await _answer(server, field, ask)
    return (
        ElicitResult(action="accept", content=known) if agreed else ElicitResult(action="decline")
    )


async def _answer(server: str, field: Field, ask: Asking) -> Value:
    question = f"{server} asks: {field.question}"
    for _ in range(MAX_TRIES):
        said = (await ask(question, field.choices))[:MAX_ANSWER]
        if stops(said) and plain(said) not in map(plain, field.choices):
            break
        try:
            return read(field, said)
        except Misheard as exc:
            question = f"{exc}. {server} asks: {field.question}"
            question = question[0].upper() + question[1:]
    raise _Stopped
