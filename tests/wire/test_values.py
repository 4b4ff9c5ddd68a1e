"""What every value is: frozen, compared by its fields, made by position or by name."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, field, fields, replace

import pytest

from vivavoce.wire.values import Record, Value


class Point(Value):
    x: int
    y: int = 2
    names: list[str] = field(default_factory=list)


class Deep(Point):
    """Has a field more."""

    z: int = 0


class Named(Record):
    given: str
    own: bool = False
    other: str = "no"
    told: str = field(default="", repr=False)


class Checked(Value):
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("the wrong way round")


def test_a_value_is_made_by_position_or_name_and_filled_up() -> None:
    assert Point(1) == Point(x=1, y=2, names=[])
    assert Point(1).names is not Point(1).names


def test_a_class_below_a_value_has_an_init_of_its_own_whichever_is_made_first() -> None:
    assert Deep(1, 2, [], 3).z == 3
    assert Point(5).x == 5
    assert Deep(1).z == 0


def test_a_record_is_made_by_name_alone() -> None:
    assert Named(given="a").other == "no"
    with pytest.raises(TypeError):
        Named("a")  # type: ignore[call-arg]


@pytest.mark.parametrize("wrong", [{}, {"x": 1, "w": 2}])
def test_what_is_missing_or_unknown_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(TypeError):
        Point(**wrong)  # type: ignore[arg-type]


def test_a_value_does_not_change() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.x
    assert replace(point, x=3) == Point(3)
    assert point.x == 1


def test_values_are_equal_by_class_and_fields() -> None:
    assert Named(given="a") == Named(given="a")
    assert hash(Named(given="a")) == hash(Named(given="a"))
    assert Point(1) != Deep(1)


def test_what_is_not_to_be_shown_is_not() -> None:
    assert repr(Named(given="a", told="secret")) == "Named(given='a', own=False, other='no')"
    assert [f.name for f in fields(Named)] == ["given", "own", "other", "told"]


def test_a_value_is_checked_after_it_is_made() -> None:
    with pytest.raises(ValueError, match="wrong way"):
        Checked(2, 1)


def test_a_value_can_be_copied_and_pickled() -> None:
    assert copy.deepcopy(Deep(1)) == Deep(1) == pickle.loads(pickle.dumps(Deep(1)))


def test_a_value_can_be_matched_by_position() -> None:
    match Point(1, 4):
        case Point(x, y):
            assert (x, y) == (1, 4)
