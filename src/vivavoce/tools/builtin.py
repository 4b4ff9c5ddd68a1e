"""The tools that are always there: the clock, arithmetic, the rest of a long output, and those by
which the voice delegates work and looks after it.

What they need of the world (the clock, the zone) is handed in. An expression is
parsed, never evaluated as code, and bounded: none takes long, whoever wrote it.
`task` answers as soon as the work is certain to be carried out; its result is
told later, whoever is connected then.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Protocol
from zoneinfo import ZoneInfo

from pydantic import Field

from vivavoce.errors import InvalidArguments, ToolFailed
from vivavoce.language.en.telling import moment_words
from vivavoce.runtime.ports import Clock, ToolContext
from vivavoce.tools.functions import Tool
from vivavoce.tools.wording import worded
from vivavoce.wire.records.talk import ToolCall


class Delegation(Protocol):
    """The runtime's side of it; every answer is words for the model."""

    async def delegate(self, context: ToolContext, instruction: str, agent: str) -> str: ...
    async def standing(self, context: ToolContext) -> str: ...
    async def stop(self, context: ToolContext, task_id: str) -> str: ...
    async def answer(self, context: ToolContext, answer: str, task_id: str) -> str: ...


def task_tools(
    delegation: Delegation, agents: Sequence[str], ready: Callable[[], bool] | None = None
) -> list[Tool]:
    """`agents` are named in the description, so that a model can choose one; `ready`: can any of
    them work now?"""

    @worded(
        lambda given: f"Delegating: {given['instruction']}",
        wants=lambda given: f"hand this over: {given['instruction']}",
    )
    async def task(
        instruction: Annotated[str, Field(min_length=3, max_length=4000)],
        context: ToolContext,
        agent: Annotated[str, Field(description="Who does it; left out, the usual one")] = "",
    ) -> str:
        return await delegation.delegate(context, instruction, agent)

    @worded(lambda given: "Looking at the tasks")
    async def list_tasks(context: ToolContext) -> str:
        return await delegation.standing(context)

    @worded(lambda given: "Cancelling a task")
    async def cancel_task(context: ToolContext, task_id: str = "") -> str:
        return await delegation.stop(context, task_id)

    @worded(
        lambda given: "Passing on the answer",
        wants=lambda given: f"answer a task: {given['answer']}",
    )
    async def answer_task(
        answer: Annotated[str, Field(min_length=1)], context: ToolContext, task_id: str = ""
    ) -> str:
        return await delegation.answer(context, answer, task_id)

    known = ", ".join(name for name in agents if ":" not in name)
    about = f"{task.definition.description} Agents: {known}."
    told = replace(task.definition, description=about)
    naming = replace(task, definition=told, ready=ready, spelled={"task": "instruction"})
    return [naming, list_tasks, cancel_task, answer_task]


@worded(lambda given: "Asking you something")
async def ask_user(
    question: Annotated[str, Field(min_length=3)],
    context: ToolContext,
    choices: Annotated[list[str] | None, Field(max_length=8)] = None,
) -> str:
    answer = await context.ask(question, choices or ())
    if not answer.strip():
        raise ToolFailed("The user said nothing")
    return answer


MOST_LINES = 200
MOST_CHARACTERS = 3_500  # with room for the heading, within what a model gets


class Calls(Protocol):
    """What is read of the store: a user's own calls only."""

    async def tool_call(self, call_id: str, *, user_id: str) -> ToolCall | None: ...


def read_output_tool(calls: Calls) -> Tool:
    @worded(lambda given: f"Reading on from line {given.get('from_line', 1)}")
    async def read_output(
        call_id: str,
        context: ToolContext,
        from_line: Annotated[int, Field(ge=1)] = 1,
        lines: Annotated[int, Field(ge=1, le=MOST_LINES)] = 100,
    ) -> str:
        here = context.conversation_id
        names = [call_id] if here is None else [f"{call_id}@{here}", call_id]
        found = [await calls.tool_call(name, user_id=context.user_id) for name in names]
        # Of another talk's it is not known here whose words they are.
        call = next((one for one in found if one and here in (None, one.conversation_id)), None)
        if call is None:
            raise ToolFailed(f"There is no result of a call '{call_id[:64]}'")
        whole = call.output.split("\n")
        part = "\n".join(whole[from_line - 1 : from_line - 1 + lines])[:MOST_CHARACTERS]
        if not part:
            return f"There are only {len(whole)} lines."
        last = from_line + part.count("\n")
        return f"Lines {from_line} to {last} of {len(whole)}:\n{part}"

    return read_output


MAX_LENGTH = 500
MAX_BITS = 4096
MAX_EXPONENT = 10_000
MAX_PLACES = 300

Number = int | float

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_CONSTANTS: dict[str, Number] = {"pi": math.pi, "e": math.e, "tau": math.tau}


def _round(value: Number, digits: int = 0) -> Number:
    # Unbounded, round(5, -10**9) would work out ten to the thousand-millionth.
    places = max(-MAX_PLACES, min(MAX_PLACES, digits))
    return round(value, places) if places else round(value)


_OF_MATH = ("sqrt", "exp", "log", "log10", "log2", "sin", "cos", "tan", "floor", "ceil", "hypot")
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "round": _round,
    "min": min,
    "max": max,
    **{name: getattr(math, name) for name in _OF_MATH},
}


def evaluate(expression: str) -> str:
    """The result as text: whole numbers whole, others to 12 digits."""
    if len(expression) > MAX_LENGTH:
        raise ToolFailed(f"the expression is longer than {MAX_LENGTH} characters")
    source = expression.strip().replace("^", "**").replace("×", "*").replace("÷", "/")
    try:
        with warnings.catch_warnings():  # Python has opinions about "2and3"
            warnings.simplefilter("ignore")
            tree = ast.parse(source, mode="eval")
        value = _value(tree.body)
    except (SyntaxError, RecursionError, MemoryError):
        raise ToolFailed("that is no arithmetic I can read") from None
    except ZeroDivisionError:
        raise ToolFailed("that divides by zero") from None
    except (ValueError, OverflowError, TypeError):
        raise ToolFailed("that has no answer among the numbers I can handle") from None
    return _text(value)


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=bool()):
            raise ToolFailed("only numbers can be calculated with")
        case ast.Constant(value=int() | float() as number):
            return _bounded(number)
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _UNARY:
            return _bounded(_UNARY[type(sign)](_value(operand)))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _bounded(_power(_value(left), _value(right)))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _bounded(_BINARY[type(sign)](_value(left), _value(right)))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*[_value(arg) for arg in args]))
        case _:
            raise ToolFailed("only numbers, + - * / // % ^, brackets and simple functions work")


def _power(base: Number, exponent: Number) -> Number:
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and (
        abs(exponent) > MAX_EXPONENT or abs(exponent) * int(base).bit_length() > MAX_BITS
    ):
        raise ToolFailed("that number is too large")
    result = base**exponent
    if isinstance(result, complex):
        raise ToolFailed("that has no real answer")
    assert isinstance(result, int | float)
    return result


def _bounded(value: Any) -> Number:
    if isinstance(value, int) and value.bit_length() <= MAX_BITS:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ToolFailed("that number is too large")


def _text(value: Number) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return str(value) if isinstance(value, int) else f"{value:.12g}"


MAX_WAIT = 300.0


def builtins(clock: Clock, time_zone: str = "UTC") -> list[Tool]:
    """All of them, for `Registry(builtins(clock, zone))`."""
    return [_current_time(clock, time_zone), calculate, _wait(clock)]


def _current_time(clock: Clock, time_zone: str) -> Tool:
    @worded(lambda given: f"Looking at the clock in {given.get('time_zone') or time_zone}")
    async def current_time(time_zone: str = time_zone) -> str:
        now = clock.now().astimezone(_zone(time_zone))
        return f"{moment_words(now)} in {time_zone} ({now.isoformat(timespec='seconds')})"

    return current_time


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # unknown, a path, a folder
        raise InvalidArguments(
            f"'{name[:64]}' is no IANA time zone such as Europe/Berlin", tool="current_time"
        ) from None


@worded(lambda given: f"Calculating {given['expression']}")
async def calculate(
    expression: Annotated[str, Field(min_length=1, max_length=MAX_LENGTH)],
) -> str:
    return evaluate(expression)


def _wait(clock: Clock) -> Tool:
    @worded(lambda given: f"Waiting {given['seconds']:g} seconds", MAX_WAIT + 10)
    async def wait(
        seconds: Annotated[float, Field(ge=0, le=MAX_WAIT)], context: ToolContext
    ) -> str:
        steps = max(1, math.ceil(seconds))
        for step in range(steps):
            left = math.ceil(seconds - seconds * step / steps)
            plural = "" if left == 1 else "s"
            done = {"done": step, "total": steps, "unit": "seconds"}
            await context.report(f"{left} second{plural} left", round(100 * step / steps), done)
            await clock.sleep(seconds / steps)
        return f"Waited {seconds:g} seconds."

    return wait
