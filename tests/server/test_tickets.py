"""The keys we hand out: once, for one session, for a while."""

from __future__ import annotations

import base64
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.errors import TokenExpired, Unauthorized
from vivavoce.server.gate.tickets import Grant, StreamTokens, Tickets
from vivavoce.testing.fakes import EPOCH, ManualClock

ADA = Grant("vs_1", "ada")


def test_a_ticket_opens_its_session_once() -> None:
    tickets = Tickets(ManualClock())
    issued = tickets.issue(session_id="vs_1", user_id="ada")
    assert issued.value.startswith("ek_")
    assert len(issued.value) >= 3 + 43
    assert issued.expires_at == EPOCH + timedelta(seconds=60)
    assert tickets.redeem(issued.value) == ADA
    with pytest.raises(Unauthorized) as used:
        tickets.redeem(issued.value)
    assert used.value.code == "unauthorized"


@pytest.mark.parametrize("value", [None, "", "ek_", "ek_unknown", "ek_" + "ü" * 40])
def test_an_unknown_ticket_opens_nothing(value: str | None) -> None:
    with pytest.raises(Unauthorized):
        Tickets(ManualClock()).redeem(value)


async def test_a_ticket_lapses_after_a_minute_at_most() -> None:
    clock = ManualClock()
    tickets = Tickets(clock, seconds=3600)
    late, just = (tickets.issue(session_id="vs_1", user_id="ada") for _ in range(2))
    await clock.advance(59)
    assert tickets.redeem(just.value) == ADA
    await clock.advance(1)
    with pytest.raises(TokenExpired):
        tickets.redeem(late.value)


async def test_tickets_are_bounded_in_number_and_the_oldest_go() -> None:
    tickets = Tickets(ManualClock(), limit=3)
    issued = [tickets.issue(session_id=f"vs_{n}", user_id="ada") for n in range(5)]
    for old in issued[:2]:
        with pytest.raises(Unauthorized):
            tickets.redeem(old.value)
    assert [tickets.redeem(each.value).session_id for each in issued[2:]] == [
        "vs_2",
        "vs_3",
        "vs_4",
    ]


async def test_lapsed_tickets_are_forgotten_in_time() -> None:
    clock = ManualClock()
    tickets = Tickets(clock)
    tickets.issue(session_id="vs_1", user_id="ada")
    await clock.advance(3600)
    tickets.issue(session_id="vs_2", user_id="ada")
    assert len(tickets._open) == 1


def test_only_a_hash_of_a_ticket_is_kept() -> None:
    tickets = Tickets(ManualClock())
    issued = tickets.issue(session_id="vs_1", user_id="ada")
    assert issued.value not in repr(vars(tickets))
    assert issued.value.removeprefix("ek_") not in repr(vars(tickets))


def test_a_session_that_ended_opens_no_more() -> None:
    tickets = Tickets(ManualClock())
    ended = tickets.issue(session_id="vs_1", user_id="ada")
    other = tickets.issue(session_id="vs_2", user_id="ada")
    tickets.revoke("vs_1")
    with pytest.raises(Unauthorized):
        tickets.redeem(ended.value)
    assert tickets.redeem(other.value).session_id == "vs_2"


async def test_a_stream_token_opens_its_session_until_it_lapses() -> None:
    clock = ManualClock()
    tokens = StreamTokens(clock)
    issued = tokens.issue(session_id="vs_1", user_id="ada")
    assert issued.value.startswith("st_")
    assert issued.expires_at == EPOCH + timedelta(minutes=10)
    await clock.advance(599)
    assert tokens.verify(issued.value) == tokens.verify(issued.value) == ADA
    renewed = tokens.renew(tokens.verify(issued.value), ended_at=None)
    await clock.advance(1)
    with pytest.raises(TokenExpired):
        tokens.verify(issued.value)
    assert tokens.verify(renewed.value) == ADA


async def test_a_stream_token_alone_is_renewed_for_a_day_and_no_longer() -> None:
    clock = ManualClock()
    tokens = StreamTokens(clock)
    token = tokens.issue(session_id="vs_1", user_id="ada").value
    for _ in range(24 * 12 - 1):
        await clock.advance(300)
        token = tokens.renew(tokens.verify(token), ended_at=None).value
    await clock.advance(300)
    last = tokens.verify(token)
    with pytest.raises(TokenExpired, match="authenticate"):
        tokens.renew(last, ended_at=None)


async def test_a_stream_token_alone_is_renewed_until_soon_after_the_end() -> None:
    clock = ManualClock()
    tokens = StreamTokens(clock)
    grant = tokens.verify(tokens.issue(session_id="vs_1", user_id="ada").value)
    await clock.advance(599)
    tokens.renew(grant, ended_at=EPOCH)
    await clock.advance(1)
    tokens.renew(grant, ended_at=None)
    with pytest.raises(TokenExpired, match="authenticate"):
        tokens.renew(grant, ended_at=EPOCH)


def test_a_token_of_another_process_is_not_ours() -> None:
    issued = StreamTokens(ManualClock()).issue(session_id="vs_1", user_id="ada")
    with pytest.raises(Unauthorized):
        StreamTokens(ManualClock()).verify(issued.value)


def test_a_token_with_another_user_in_it_is_refused() -> None:
    tokens = StreamTokens(ManualClock())
    body, _, signature = tokens.issue(session_id="vs_1", user_id="ada").value[3:].partition(".")
    forged = base64.urlsafe_b64decode(body + "==").replace(b"ada", b"eve")
    with pytest.raises(Unauthorized):
        tokens.verify(f"st_{base64.urlsafe_b64encode(forged).rstrip(b'=').decode()}.{signature}")


@given(st.text())
def test_whatever_is_no_token_is_refused_quietly(text: str) -> None:
    tokens = StreamTokens(ManualClock())
    for value in (text, "st_" + text, f"st_{text}.{text}"):
        with pytest.raises(Unauthorized):
            tokens.verify(value)


def test_processes_with_the_same_secret_take_each_others_tokens() -> None:
    clock = ManualClock()
    one, other = (StreamTokens(clock, secret="the same secret") for _ in range(2))
    issued = one.issue(session_id="vs_1", user_id="ada")
    assert other.verify(issued.value) == ADA
    for stranger in (StreamTokens(clock, secret="another secret"), StreamTokens(clock)):
        with pytest.raises(Unauthorized):
            stranger.verify(issued.value)


def test_only_what_says_it_is_a_stream_token_is_read_as_one() -> None:
    tokens = StreamTokens(ManualClock())
    issued = tokens.issue(session_id="vs_1", user_id="ada").value
    with pytest.raises(Unauthorized, match="no other key"):
        tokens.verify(issued.removeprefix("st_"))
