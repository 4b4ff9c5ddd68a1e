"""Arithmetic that nobody can abuse: an expression is parsed, never evaluated as code.

Numbers and their size are bounded, so that no expression takes long or much
memory, whoever wrote it.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

from vivavoce.errors import ToolFailed

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


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "round": _round,
    "min": min,
    "max": max,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "floor": math.floor,
    "ceil": math.ceil,
    "hypot": math.hypot,
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
