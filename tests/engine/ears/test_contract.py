"""What all ears promise, whoever they are."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from tests.speech import WORDS, model_folder, noise, silence, word_errors
from vivavoce.engine.ears.moonshine import MoonshineEars
from vivavoce.engine.ears.whisper import WhisperEars
from vivavoce.engine.ports import EAR_RATE, Ears, Samples, Transcript
from vivavoce.errors import EarsError
from vivavoce.testing.engine import ScriptedEars


class Scripted(ScriptedEars):
    """Ears that know the president's words, and nothing else."""

    async def transcribe(
        self,
        speech: Samples,
        *,
        language: str | None = None,
        hint: str = "",
        urgent: bool = True,
        keywords: Sequence[str] = (),
    ) -> Transcript:
        self.texts.clear()
        # Sound with pauses in it is speech: that is all there is to know here.
        power = np.square(speech[: len(speech) // 160 * 160].reshape(-1, 160)).mean(axis=1)
        spoken = len(power) > 0 and power.max() > 20 * np.median(power) > 0
        self.otherwise = WORDS["jfk.wav"] if spoken else ""
        return await super().transcribe(speech, language=language, hint=hint, urgent=urgent)


@pytest.fixture(
    scope="module",
    params=[
        "scripted",
        "moonshine-base",
        "moonshine-tiny",
        pytest.param("whisper-small", marks=[pytest.mark.full, pytest.mark.timeout(600)]),
    ],
)
def every(request: pytest.FixtureRequest) -> Iterator[Ears]:
    match request.param:
        case "scripted":
            yield Scripted()
            return
        case "moonshine-base":
            yield request.getfixturevalue("ears")
            return
        case "whisper-small":
            ears: WhisperEars | MoonshineEars = WhisperEars(model_folder("whisper-small"))
        case name:
            ears = MoonshineEars(model_folder(name))
    yield ears
    ears.close()


async def test_human_speech_is_understood(every: Ears, jfk: Samples) -> None:
    heard = await every.transcribe(jfk)
    assert word_errors(WORDS["jfk.wav"], heard.text) < 0.1
    assert heard.text == heard.text.strip()
    assert 0.5 < heard.confidence <= 1.0


async def test_what_is_no_speech_is_an_empty_text(every: Ears, jfk: Samples) -> None:
    for nothing in (silence(0), silence(2), noise(3, 0.01), noise(3, 0.1), jfk[8000:9000]):
        assert await every.transcribe(nothing) == Transcript("")


async def test_english_is_understood_by_any_of_its_names(every: Ears, jfk: Samples) -> None:
    speech = jfk[: 3 * EAR_RATE]
    plain = await every.transcribe(speech)
    for name in ("en", "en-US", "EN_gb"):
        assert await every.transcribe(speech, language=name) == plain


async def test_a_language_they_do_not_know_is_refused_in_clear_words(
    every: Ears, jfk: Samples
) -> None:
    if isinstance(every, Scripted):
        heard = await every.transcribe(jfk, language="tlh")  # they know every script there is
        assert heard.text
        return
    with pytest.raises(EarsError, match="'tlh'"):
        await every.transcribe(jfk, language="tlh")


async def test_a_hint_never_changes_the_text(every: Ears, jfk: Samples) -> None:
    speech = jfk[: 4 * EAR_RATE]
    plain = (await every.transcribe(speech)).text
    for hint in (plain, plain[: len(plain) // 2], f"{plain} and more", "nobody said this"):
        assert (await every.transcribe(speech, hint=hint)).text == plain


async def test_keywords_that_nobody_said_change_nothing(every: Ears, jfk: Samples) -> None:
    speech = jfk[: 4 * EAR_RATE]
    plain = (await every.transcribe(speech)).text
    keywords = ("pytest", "Redis", "dot", "git status", "\N{SLIGHTLY SMILING FACE}")
    assert (await every.transcribe(speech, keywords=keywords)).text == plain
    assert await every.transcribe(silence(1), keywords=keywords) == Transcript("")


async def test_the_urgent_goes_before_partials(every: Ears, jfk: Samples) -> None:
    order: list[str] = []

    async def listen(name: str, speech: Samples, urgent: bool) -> None:
        await every.transcribe(speech, urgent=urgent)
        order.append(name)

    async with asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(listen(f"partial {number}", jfk[: 3 * EAR_RATE], False))
        group.create_task(listen("urgent", jfk[: 2 * EAR_RATE], True))
    if not isinstance(every, Scripted):  # which take no time at all
        assert order.index("urgent") <= 1  # one may have had the thread already


async def test_cancelled_work_stops_and_leaves_them_usable(every: Ears, jfk: Samples) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(every.transcribe(np.concatenate([jfk, jfk])))
        await asyncio.sleep(0)
        task.cancel()
    assert await every.transcribe(silence(1)) == Transcript("")
    heard = await every.transcribe(jfk[: 3 * EAR_RATE])
    assert word_errors("and so my fellow americans", heard.text) < 0.3 or every.name == "scripted"
