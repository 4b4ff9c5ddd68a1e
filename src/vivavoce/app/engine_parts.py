"""Which model plays which part of the embedded engine, and in which process.

Ears, judge and mouth live in one child of the server, a local brain in
another; only the detector, which is asked thirty times a second, stays here.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from vivavoce.app.settings import Settings
from vivavoce.brain.ports import Brain
from vivavoce.brain.script import file as script_file
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.brain.script.demo import DEMO
from vivavoce.errors import InvalidRequest
from vivavoce.models.store import ModelStore

if TYPE_CHECKING:
    from vivavoce.brain.chat.brain import ChatBrain
    from vivavoce.engine.ports import Mouth
    from vivavoce.engine.shell.work import Parts
    from vivavoce.engine.speech.process import Speech

FEW_CORES = 4
LIVE_SLOTS = 3
"""Conversations that a local brain remembers at once; others are put aside and fetched back."""


async def parts_of(settings: Settings, store: ModelStore, processes: AsyncExitStack) -> Parts:
    """Everything loaded and ready. Raises `ModelUnavailable`."""
    from vivavoce.engine.ears import noise
    from vivavoce.engine.ears.silero import load_silero
    from vivavoce.engine.shell.work import Parts

    await asyncio.to_thread(_check, settings, store)
    async with asyncio.TaskGroup() as group:
        # One after the other into the stack, since both end in this task; side by side in time.
        speech = await _speech(settings, store, processes)
        brain = await _brain(settings, store, processes, group)
        group.create_task(speech.ready())
        # A session that wants less noise must not hold up the others while its library loads.
        group.create_task(asyncio.to_thread(noise.Suppressor))
        detector = await asyncio.to_thread(load_silero, store.path("silero-vad", "silero_vad.onnx"))
    assert speech.judge is not None
    return Parts(
        ears=speech.ears,
        mouth=_mouth(speech, brain),
        brain=brain,
        judge=speech.judge,
        detector=detector,
        crowded=lambda: speech.crowded,
        prepare=partial(_prepare, speech),
    )


def _check(settings: Settings, store: ModelStore) -> None:
    """Every file's hash, before anyone loads it."""
    for name in settings.needed_models:
        for file in store.model(name).files:
            store.path(name, file.name)


async def _speech(settings: Settings, store: ModelStore, processes: AsyncExitStack) -> Speech:
    from vivavoce.engine.speech.files import SpeechFiles, SpeechPart
    from vivavoce.engine.speech.process import Speech

    speech = Speech(
        SpeechFiles(
            ears=SpeechPart(settings.ears, store.folder / settings.ears),
            mouth=SpeechPart(settings.mouth, store.folder / settings.mouth),
            judge=SpeechPart("smart-turn", store.path("smart-turn", "smart_turn.onnx")),
        )
    )
    await processes.enter_async_context(speech.running())
    return speech


async def _brain(
    settings: Settings, store: ModelStore, processes: AsyncExitStack, group: asyncio.TaskGroup
) -> Brain:
    if settings.brain == "scripted":
        return scripted(settings)
    if settings.brain_by_url:
        chat = chat_brain(settings)
        processes.push_async_callback(chat.close)
        return chat
    from vivavoce.brain.llama.local import LlamaBrain

    local = LlamaBrain(
        store.path(settings.brain, "model.gguf"),
        settings.data_dir / "brain",
        name=settings.brain,
        live_slots=LIVE_SLOTS,
    )
    await processes.enter_async_context(local.running())
    group.create_task(local.ready())
    return local


def chat_brain(settings: Settings) -> ChatBrain:
    """A brain elsewhere, by its URL."""
    from vivavoce.brain.chat.brain import ChatBrain

    key = settings.brain_key.get_secret_value() if settings.brain_key else None
    return ChatBrain(settings.brain, model=settings.brain_model, key=key)


def scripted(settings: Settings) -> ScriptedBrain:
    """Raises `InvalidRequest` for a script that is none."""
    if settings.script is None:
        return ScriptedBrain(DEMO)
    try:
        return ScriptedBrain(script_file.load(settings.script.read_text()))
    except script_file.ScriptError as exc:
        raise InvalidRequest(f"{settings.script}: {exc}") from None


def _mouth(speech: Speech, brain: Brain) -> Mouth:
    """Where the cores are few, a local brain stands still for the mouth."""
    from vivavoce.brain.llama.local import LlamaBrain
    from vivavoce.engine.speech.first import MouthFirst

    if not isinstance(brain, LlamaBrain) or (os.cpu_count() or 1) > FEW_CORES:
        return speech.mouth
    return MouthFirst(speech.mouth, brain.pause, brain.resume)


async def _prepare(speech: Speech, voice: str) -> None:
    """What is said most often, made before it is wanted; quick where it is there already."""
    from vivavoce.engine.mouth.openings import MANNERS, OPENINGS

    await speech.mouth.prepare(voice, (*MANNERS, *OPENINGS))
