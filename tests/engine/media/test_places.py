"""Whom a call makes us write to: few, however many places a peer names or writes from."""

from __future__ import annotations

from typing import Any

import pytest
from aioice import Candidate, stun
from aioice.ice import CandidatePair, StunProtocol

from vivavoce.engine.media.options import MediaOptions
from vivavoce.engine.media.peer import MOST_CHECKS, MOST_PLACES, ChosenConnection

Place = tuple[str, int]


class Written(StunProtocol):
    """Keeps what would be sent; nobody ever answers."""

    def __init__(self, connection: ChosenConnection, own: str = "192.0.2.1") -> None:
        super().__init__(connection)
        self.local_candidate = candidate((own, 5000))
        self.asked: list[Place] = []
        self.answered: list[Place] = []

    async def request(self, request: stun.Message, addr: Place, **_: Any) -> Any:  # type: ignore[override]
        self.asked.append(addr)
        raise stun.TransactionTimeout

    def send_stun(self, message: stun.Message, addr: Place) -> None:
        self.answered.append(addr)


def candidate(place: Place) -> Candidate:
    made = Candidate("1", 1, "udp", 1, place[0], place[1], "host")
    made._network_host = place[0]
    return made


def connection() -> ChosenConnection:
    made = ChosenConnection(MediaOptions())
    made.remote_username, made.remote_password = "them", "x" * 22
    return made


async def check(ours: ChosenConnection, line: Written, place: Place) -> CandidatePair:
    pair = CandidatePair(line, candidate(place))
    await ours.check_start(pair)
    return pair


def request(ours: ChosenConnection, password: str) -> stun.Message:
    message = stun.Message(message_method=stun.Method.BINDING, message_class=stun.Class.REQUEST)
    message.attributes["USERNAME"] = f"{ours.local_username}:{ours.remote_username}"
    message.attributes["PRIORITY"] = 1
    message.attributes["ICE-CONTROLLING"] = 1
    message.add_message_integrity(password.encode())
    return message


async def test_of_many_places_that_a_peer_names_few_are_asked() -> None:
    ours = connection()
    line = Written(ours)
    for port in range(4000, 4200):
        pair = await check(ours, line, ("198.51.100.4", port))
        assert pair.state is CandidatePair.State.FAILED
    assert len(line.asked) == MOST_PLACES


async def test_one_place_is_not_asked_for_ever() -> None:
    ours = connection()
    line = Written(ours)
    for _ in range(1000):
        await check(ours, line, ("198.51.100.4", 4000))
    assert len(line.asked) == MOST_CHECKS


@pytest.mark.parametrize("place", ["127.0.0.1", "127.8.8.8", "::1"])
async def test_the_machine_itself_is_asked_only_from_within(place: str) -> None:
    for own, asked in (("192.0.2.1", False), ("127.0.0.1", True)):
        ours = connection()
        line = Written(ours, own)
        await check(ours, line, (place, 4000))
        assert bool(line.asked) is asked


async def test_of_many_that_write_in_the_peers_name_few_are_answered() -> None:
    ours = connection()
    line = Written(ours)
    ours._early_checks_done = True
    try:
        for number in range(200):
            message = request(ours, ours.local_password)
            ours.request_received(message, ("203.0.113.9", 4000 + number), line)
        assert len(line.answered) == MOST_PLACES
        assert len(ours.remote_candidates) == MOST_PLACES
        ours.request_received(request(ours, ours.local_password), ("203.0.113.9", 4000), line)
        assert len(line.answered) == MOST_PLACES + 1  # whoever was there is answered still
    finally:
        await ours.close()


async def test_without_the_password_nobody_is_answered_and_no_place_is_taken() -> None:
    ours = connection()
    line = Written(ours)
    for number in range(200):
        ours.request_received(request(ours, "wrong"), ("203.0.113.9", 4000 + number), line)
    assert line.answered == []
    early = request(ours, ours.local_password)
    ours.request_received(early, ("198.51.100.4", 4000), line)
    assert line.answered == [("198.51.100.4", 4000)]
