"""Our page's settings, its self-test and its login, in Chromium on a real server."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.browser import sound
from tests.browser.scenes import Told, scene
from tests.clients.serving import Served, serve
from tests.server.auth.openid import openid

pytestmark = pytest.mark.timeout(240)  # a browser, ears and a mouth on whatever cores there are
TOKEN = "a-token-of-this-server-0123456789"  # nosec: of a server that lives for one test


async def act(name: str, origin: str, folder: Path, **more: Any) -> Told:
    silence = sound.microphone(folder / "microphone.wav", b"")
    wish = {"act": name, "page": origin, "wav": str(silence), **more}
    return await scene("settings", wish, seconds=200)


def asked(served: Served, path: str) -> Any:
    with httpx.Client(base_url=served.origin, trust_env=False) as http:
        return http.get(path).raise_for_status().json()


async def test_what_was_chosen_is_there_after_a_reload_and_holds_for_the_next_talk(
    served: Served, tmp_path: Path
) -> None:
    usual = asked(served, "/status")["openai"]["voice"]
    voices = [one["id"] for one in asked(served, "/config/voices")["voices"]]
    voice = next(one for one in voices if one != usual)
    choices = {"voice": voice, "verbosity": "brief"}
    told = await act("kept", served.origin, tmp_path, choices=choices)
    assert [one["status"] for one in told.all("changed")] == [200, 200]
    assert told.one("shown")["shown"] == choices
    assert told.one("session")["voice"] == voice


async def test_who_refuses_the_microphone_reads_how_to_allow_it_and_writes_at_once(
    served: Served, tmp_path: Path
) -> None:
    flags = ["--use-fake-ui-for-media-stream=deny"]
    words = "What is six times seven?"
    told = (await act("refused", served.origin, tmp_path, flags=flags, words=words)).one("refused")
    assert "may not hear you" in told["problem"]
    assert len(told["steps"]) == 3
    assert "42" in told["answer"]


async def test_the_self_test_finds_what_is_broken_and_leaves_nothing_behind(
    served: Served, tmp_path: Path
) -> None:
    before = asked(served, "/api/v1/conversations")["total"]
    told = (await act("tested", served.origin, tmp_path)).one("tested")
    found = {part: verdict for part, verdict, _ in told["parts"]}
    good = dict.fromkeys(("server", "brain", "ears", "webrtc", "websocket"), "good")
    assert found == good | dict.fromkeys(("mouth", "microphone", "speaker"), "bad"), told
    words = {part: text for part, _, text in told["parts"]}
    assert "only silence comes" in words["microphone"]
    assert "The voice is away." in words["mouth"]
    assert told["verdict"] == "3 parts do not work."
    assert asked(served, "/api/v1/conversations")["total"] == before


async def test_a_wrong_token_is_told_a_right_one_lasts_as_long_as_the_tab(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"VIVAVOCE_AUTH": "token", "VIVAVOCE_AUTH_TOKEN": TOKEN}
    with serve(tmp_path / "server", **settings) as served:
        told = await act("login", served.origin, tmp_path, token=TOKEN)
    assert told.one("wrong")["problem"] == "This token is not right."
    assert TOKEN not in told.one("out")["kept"]


async def test_at_a_provider_the_page_logs_in_renews_its_token_and_logs_out(tmp_path: Path) -> None:
    async with openid() as provider:
        given = {f"VIVAVOCE_{name.upper()}": value for name, value in provider.settings().items()}
        with ExitStack() as stack:
            # The provider answers meanwhile, in this loop.
            served = await asyncio.to_thread(
                stack.enter_context, serve(tmp_path / "server", **given)
            )
            provider.origin, provider.seconds = served.origin, 31  # it is renewed in the last 30
            told = await act("openid", served.origin, tmp_path, patience=1500)
    assert told.one("in")["address"] == f"{served.origin}/?transport=websocket#work"
    profile = told.one("profile")
    assert (profile["user_id"], profile["name"]) == ("ada", "Ada")
    assert provider.renewed >= 1
    out = urlsplit(told.one("out")["address"])
    assert f"{out.scheme}://{out.netloc}" == provider.url
    assert parse_qs(out.query)["post_logout_redirect_uri"] == [f"{served.origin}/"]
