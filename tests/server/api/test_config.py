"""`/config`: what is configured, and changing a session while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.server.doors import doors, refused
from vivavoce import __version__


async def test_the_configuration_tells_neither_instructions_nor_secrets(tmp_path: Path) -> None:
    async with doors(tmp_path, port=8123) as d:
        response = await d.http.get("/config")
        assert response.json() == {
            "service": {"version": __version__, "host": "127.0.0.1", "port": 8123},
            "realtime": {"model": "gpt-realtime", "voice": "marin"},
            "amplifier": {
                "bundle": "workbench",
                "cwd": str(tmp_path),
                "auto_approve": False,
                "tool_timeout": 60.0,
                "approval_policy": "ask",
            },
            "agent": {
                "name": "workbench",
                "description": d.here.profile.agent.description,
                "hints": list(d.here.profile.agent.hints),
            },
        }
        assert d.here.profile.agent.hints
        assert d.here.profile.agent.prompt[:40] not in response.text


async def test_voices_are_those_of_the_model(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        voices = (await d.get("/config/voices"))["voices"]
        assert {"marin", "cedar", "ash", "coral", "sage"} <= {voice["id"] for voice in voices}
        for voice in voices:
            assert set(voice) == {"id", "name", "description", "recommended"}
        assert [voice["id"] for voice in voices if voice["recommended"]][:1] == ["marin"]
        for voice in voices:
            await d.post("/session", {"voice": voice["id"]})


async def test_another_provider_gives_no_samples_of_its_voices(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        refused(await d.http.get("/config/voices/marin/sample"), 404, "not_found")
        refused(await d.http.get("/config/voices/nobody/sample"), 404, "not_found")


async def test_ways_to_end_a_turn_are_told_with_their_parameters(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        options = (await d.get("/config/turn-detection"))["options"]
        assert [option["type"] for option in options] == ["server_vad", "semantic_vad", None]
        parameters = {o["type"]: [p["name"] for p in o["parameters"]] for o in options}
        assert parameters == {
            "server_vad": ["threshold", "prefix_padding_ms", "silence_duration_ms"],
            "semantic_vad": ["eagerness"],
            None: [],
        }
        assert options[0]["parameters"][0] == {
            "name": "threshold",
            "type": "number",
            "description": "How sure it must be that it hears speech; higher for noisy rooms.",
            "default": 0.5,
            "minimum": 0.0,
            "maximum": 1.0,
        }


async def test_a_change_reaches_the_live_session_at_the_provider(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, call = await d.talk()
        wanted = {
            "voice": "cedar",
            "instructions": "Talk like a pirate.",
            "turn_detection": {"type": "semantic_vad", "eagerness": "low"},
            "tools_enabled": ["calculate"],
        }
        changed = await d.patch(f"/config/session/{session_id}", wanted)
        assert set(changed) == {"session_id", "updated", "effective_config"}
        assert sorted(changed["updated"]) == sorted(wanted)
        effective = changed["effective_config"]
        assert (effective["voice"], effective["tools"]) == ("cedar", ["calculate"])
        assert effective["turn_detection"]["type"] == "semantic_vad"
        assert effective["turn_detection"]["eagerness"] == "low"
        update = (await call.expect("session.update"))["session"]
        assert update["instructions"].startswith("Talk like a pirate.")
        assert update["audio"]["output"]["voice"] == "cedar"
        assert update["audio"]["input"]["turn_detection"]["eagerness"] == "low"
        assert [found["name"] for found in update["tools"]] == ["calculate"]
        told = await d.until(session_id, "session.updated")
        assert sorted(told["changes"]) == sorted(wanted)
        here = {"x-session-id": session_id}
        response = await d.http.post("/execute/current_time", json={"arguments": {}}, headers=here)
        refused(response, 404, "tool_not_found")


async def test_what_was_changed_before_the_call_holds_for_it(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened = await d.post("/session")
        session_id = opened["session_id"]
        manual = {"voice": "ash", "turn_detection": {"type": None}}
        changed = await d.patch(f"/config/session/{session_id}", manual)
        assert changed["effective_config"]["turn_detection"] is None
        call = await d.connect(opened["client_secret"]["value"])
        assert call.session["audio"]["output"]["voice"] == "ash"
        assert call.session["audio"]["input"]["turn_detection"] is None
        # And after it: a resumed session is as its user left it.
        resumed = await d.post(f"/sessions/{session_id}/resume")
        again = await d.connect(resumed["realtime"]["client_secret"]["value"])
        assert again.session["audio"]["output"]["voice"] == "ash"
        assert again.session["audio"]["input"]["turn_detection"] is None


async def test_a_voice_that_has_sounded_stays(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, call = await d.talk()
        await call.assistant_says("Hello.")
        await d.until(session_id, "assistant.done")
        response = await d.http.patch(f"/config/session/{session_id}", json={"voice": "cedar"})
        refused(response, 409, "conflict")
        assert call.session["audio"]["output"]["voice"] == "marin"
        same = await d.patch(f"/config/session/{session_id}", {"voice": "marin"})
        assert same["effective_config"]["voice"] == "marin"


async def test_nothing_wanted_is_nothing_changed(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, call = await d.talk()
        for body in ({}, {"voice": None}):
            assert (await d.patch(f"/config/session/{session_id}", body))["updated"] == []
        assert await d.events(session_id, "session.updated") == []
        assert [f["type"] for f in call.received].count("session.update") == 1


@pytest.mark.parametrize("words", [None, "manual", {"type": None}, {"type": "manual"}])
async def test_manual_turns_go_by_several_names(tmp_path: Path, words: object) -> None:
    async with doors(tmp_path) as d:
        session_id, call = await d.talk()
        changed = await d.patch(f"/config/session/{session_id}", {"turn_detection": words})
        assert changed["updated"] == ["turn_detection"]
        assert changed["effective_config"]["turn_detection"] is None
        await call.expect("session.update", where=_is_manual)


def _is_manual(frame: Mapping[str, Any]) -> bool:
    manual: bool = frame["session"]["audio"]["input"]["turn_detection"] is None
    return manual


async def test_a_session_that_is_over_or_unknown_cannot_change(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id = (await d.post("/session"))["session_id"]
        await d.post(f"/sessions/{session_id}/end")
        over = await d.http.patch(f"/config/session/{session_id}", json={"voice": "cedar"})
        refused(over, 409, "conflict")
        nothing = await d.http.patch("/config/session/nothing", json={"voice": "cedar"})
        refused(nothing, 404, "session_not_found")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"voice": "vader"}, 400, "invalid_request"),
        ({"instructions": ""}, 400, "invalid_request"),
        ({"tools_enabled": ["teleport"]}, 404, "tool_not_found"),
        ({"turn_detection": {}}, 400, "invalid_request"),
        ({"turn_detection": {"type": "psychic"}}, 400, "invalid_request"),
        ({"turn_detection": {"type": "server_vad", "threshold": 2}}, 400, "invalid_request"),
        ({"turn_detection": {"type": "server_vad", "threshold": True}}, 400, "invalid_request"),
        ({"turn_detection": {"type": "server_vad", "eagerness": "low"}}, 400, "invalid_request"),
        ({"turn_detection": {"type": "semantic_vad", "threshold": 0.5}}, 400, "invalid_request"),
        ({"turn_detection": {"type": None, "threshold": 0.5}}, 400, "invalid_request"),
        ({"model": "another"}, 400, "invalid_request"),
    ],
)
async def test_a_change_that_makes_no_sense_changes_nothing(
    tmp_path: Path, body: dict[str, Any], status: int, code: str
) -> None:
    async with doors(tmp_path) as d:
        session_id = (await d.post("/session"))["session_id"]
        wanted = {"voice": "cedar"} | body
        refused(await d.http.patch(f"/config/session/{session_id}", json=wanted), status, code)
        unchanged = await d.patch(f"/config/session/{session_id}", {})
        assert unchanged["effective_config"]["voice"] == "marin"


@pytest.mark.parametrize(
    ("turns", "field", "words"),
    [
        ({"type": "server_vad", "threshold": "x"}, "turn_detection.threshold", "a number"),
        ({"type": "server_vad", "odd": 1}, "turn_detection.odd", "not permitted"),
        ({"type": "odd"}, "turn_detection", "Its type should be one of 'server_vad'"),
        (5, "turn_detection", "an object that says its type"),
    ],
)
async def test_what_is_wrong_is_named_as_it_was_sent_and_once(
    turns: object, field: str, words: str, tmp_path: Path
) -> None:
    async with doors(tmp_path) as d:
        session_id, _ = await d.talk()
        path, body = f"/config/session/{session_id}", {"turn_detection": turns}
        response = await d.http.patch(path, json=body)
        [wrong] = refused(response, 400, "invalid_request")["details"]["fields"]
        assert wrong["field"] == f"body.{field}"
        assert words in wrong["message"]
        assert not wrong["message"].startswith("Value error")
        assert "union" not in response.text.replace(wrong["type"], "")
        assert "_kind" not in response.text
