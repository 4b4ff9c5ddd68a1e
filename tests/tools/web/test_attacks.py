"""Every attack of the corpus is refused with nobody called; every honest use goes through."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from tests.tools.attacks.addresses import ATTACKS, HONEST
from tests.tools.web.internet import PUBLIC, WORLD, Answer, internet
from vivavoce.errors import ToolFailed
from vivavoce.language.en.addresses import Refused, spelled
from vivavoce.tools.web.fetch import Client


def leading(leads: Mapping[str, str]) -> Callable[[str, str], Answer]:
    def answer(host: str, path: str) -> Answer:
        if path in leads:
            return Answer(b"", 302, {"Location": leads[path]})
        return Answer()

    return answer


def test_the_corpus_is_as_large_as_it_should_be() -> None:
    assert len({(one.url, str(one.names), str(one.leads)) for one in ATTACKS}) >= 60
    assert len(set(map(str, HONEST))) >= 15


async def test_every_attack_is_refused_and_nothing_inside_is_called() -> None:
    let_through: list[str] = []
    async with internet() as net:
        for attack in ATTACKS:
            net.names.know(attack.names)
            net.outside.answer = leading(attack.leads)
            net.cable.dialled.clear()
            if not await refused(net.client, attack.url):
                let_through.append(attack.url)
            dialled = set(net.cable.dialled)
            if (
                net.inside.connections
                or not dialled <= set(WORLD)
                or (dialled and not attack.leads)
            ):
                let_through.append(f"{attack.url} ({dialled})")
    assert not let_through


async def refused(client: Client, said: str) -> bool:
    """On purpose, that is: a connection that merely failed is none."""
    try:
        await client.fetch(spelled(said))
    except Refused:
        return True
    except ToolFailed:
        return False
    return False


async def test_every_honest_use_is_allowed() -> None:
    async with internet() as net:
        for use in HONEST:
            net.names.know(use.names)
            net.outside.answer = leading(use.leads)
            page = await net.client.fetch(spelled(use.said))
            assert "Hello from outside" in (page.text or ""), use
            path, headers, _ = net.outside.requests[-1]
            assert (headers["host"], path) == (use.host, use.path)
        assert net.inside.connections == 0


async def test_a_name_is_looked_up_once_and_the_checked_address_is_the_one_dialled() -> None:
    changing = {"twice.example": ([PUBLIC], ["127.0.0.1"])}
    async with internet(names=changing) as net:
        await net.client.fetch("http://twice.example/")
        assert net.names.asked == ["twice.example"]
        assert net.cable.dialled == [PUBLIC]
        with pytest.raises(Refused):
            await net.client.fetch("http://twice.example/")
        assert net.inside.connections == 0


async def test_a_name_that_does_not_exist_is_told_plainly() -> None:
    async with internet(names={"nowhere.example": ([],)}) as net:
        with pytest.raises(ToolFailed, match=r"no website called nowhere\.example"):
            await net.client.fetch("https://nowhere.example/")
