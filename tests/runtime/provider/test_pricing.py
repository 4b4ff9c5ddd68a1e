"""What tokens cost."""

from __future__ import annotations

import json
from datetime import date

import pytest

from vivavoce.runtime.provider.known_models import (
    AS_OF,
    FREE,
    PRICES,
    Budget,
    cost_micros,
    price_of,
)
from vivavoce.wire.realtime.facts import ResponseDone, Usage, UserTranscript
from vivavoce.wire.realtime.server import decode


def test_each_kind_of_token_has_its_price() -> None:
    usage = Usage(
        input=1000,
        output=300,
        cached=400,
        input_audio=600,
        input_image=100,
        cached_audio=200,
        cached_image=50,
        output_audio=250,
    )
    price = PRICES["gpt-realtime"]
    text = 300 - 150  # 1000 without sound and pictures, without what was cached of it
    expected = text * 4 + 150 * 0.4 + 400 * 32 + 200 * 0.4 + 50 * 5 + 50 * 0.5 + 50 * 16 + 250 * 64
    assert cost_micros(usage, price) == round(expected)
    assert cost_micros(usage, FREE) == 0


def test_a_provider_that_contradicts_itself_costs_no_less_than_nothing() -> None:
    assert cost_micros(Usage(input=1, cached=10, input_audio=99), PRICES["gpt-realtime"]) >= 0


@pytest.mark.parametrize(
    ("model", "like"),
    [
        ("gpt-realtime", "gpt-realtime"),
        ("gpt-realtime-2025-08-28", "gpt-realtime"),
        ("gpt-realtime-1.5", "gpt-realtime"),
        ("gpt-realtime-mini-2025-10-06", "gpt-realtime-mini"),
        ("gpt-realtime-2", "gpt-realtime-2"),
        ("gpt-realtime-2.1-mini", "gpt-realtime-mini"),
        ("gpt-9-realtime", "gpt-"),
    ],
)
def test_models_are_known_by_their_families(model: str, like: str) -> None:
    assert price_of(model) == PRICES[like]


@pytest.mark.parametrize("model", ["vivavoce", "vivavoce-small", "", "somebody-elses"])
def test_the_engine_inside_and_servers_we_do_not_know_cost_nothing(model: str) -> None:
    assert price_of(model) is FREE


def test_transcripts_cost_by_the_second_or_by_the_token() -> None:
    frame = {
        "type": "conversation.item.input_audio_transcription.completed",
        "item_id": "u1",
        "transcript": "Hello",
    }

    def cost(model: str, told: object) -> int:
        event = decode(json.dumps({**frame, "usage": told}))
        assert isinstance(event, UserTranscript)
        return cost_micros(event.usage, price_of(model))

    assert cost("whisper-1", {"type": "duration", "seconds": 60}) == 6000
    tokens = {"input_tokens": 100, "output_tokens": 10, "input_token_details": {"audio_tokens": 90}}
    assert cost("gpt-4o-mini-transcribe", {"type": "tokens", **tokens}) == 175
    assert cost("whisper-1", {"seconds": -5}) == cost("whisper-1", "nonsense") == 0


def test_prices_have_a_date() -> None:
    assert date.fromisoformat(AS_OF) >= date(2025, 8, 28)


def test_a_budget_is_spent_by_tokens_or_by_money() -> None:
    assert not Budget(used_tokens=10**9, used_micros=10**9).spent
    assert Budget(tokens=10, used_tokens=10).spent
    assert Budget(micros=10, used_micros=11).spent
    assert not Budget(tokens=10, micros=10, used_tokens=9, used_micros=9).spent


def test_a_look_at_the_store_loses_nothing_that_was_used_meanwhile() -> None:
    budget = Budget(tokens=100)
    budget.add(10, 5)
    mark = budget.mark
    budget.add(20, 1)
    budget.found(70, 9, mark)  # what others took, and our ten
    assert (budget.used_tokens, budget.used_micros, budget.spent) == (90, 10, False)
    budget.add(10, 0)
    assert budget.spent


def test_a_look_at_the_store_loses_nothing_that_is_on_its_way_there() -> None:
    budget = Budget(tokens=100)
    budget.add(10, 5)
    budget.found(10, 5, budget.mark)
    budget.add(20, 1)
    budget.found(10, 5, budget.mark)  # the twenty are not written yet
    assert (budget.used_tokens, budget.used_micros) == (30, 6)
    budget.found(90, 6, budget.mark)  # now they are, with what others took
    assert (budget.used_tokens, budget.used_micros) == (90, 6)
    budget.found(20, 1, budget.mark)  # and a day later
    assert (budget.used_tokens, budget.used_micros) == (20, 1)


def test_the_details_of_usage_are_read_and_nonsense_in_them_is_nothing() -> None:
    told = {
        "input_tokens": 120,
        "output_tokens": 40,
        "input_token_details": {
            "text_tokens": 70,
            "audio_tokens": 40,
            "image_tokens": 10,
            "cached_tokens": 64,
            "cached_tokens_details": {"text_tokens": 60, "audio_tokens": 4, "image_tokens": "x"},
        },
        "output_token_details": {"text_tokens": 10, "audio_tokens": 30},
    }
    assert _usage(told) == Usage(120, 40, 64, 40, 10, 4, 0, 30)
    assert _usage({"input_tokens": 5, "input_token_details": [1], "output_token_details": 3}) == (
        Usage(input=5)
    )
    assert Usage(1, 2, 3, 4, 5, 6, 7, 8) + Usage(input=1, output_audio=2) == (
        Usage(2, 2, 3, 4, 5, 6, 7, 10)
    )


def _usage(told: dict[str, object]) -> Usage:
    frame = {"type": "response.done", "response": {"id": "r", "usage": told}}
    event = decode(json.dumps(frame))
    assert isinstance(event, ResponseDone)
    return event.usage
