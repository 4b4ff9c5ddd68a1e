"""Words while somebody still speaks: heard again and again, told as far as they are certain.

Owns nothing but its own memory of one speech. What two hearings in a row
agree on is taken for certain, but for the last word, which may be half said.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from vivavoce.engine.ports import EAR_RATE, Ears, Samples, Transcript
from vivavoce.errors import VivavoceError
from vivavoce.language.en.dictation import dictated, settled

log = logging.getLogger(__name__)

EVERY_S = 0.4
_LEAST = int(0.7 * EAR_RATE)
"""Of speech, with what the detector keeps in front of it: less is half a word."""
_SILENCE = int(0.2 * EAR_RATE)
_WORD = re.compile(r"\S+\s*")


def ending(speech: Samples) -> Samples:
    """With a little silence behind it: sound that is cut off in the middle makes ears say it
    again from the beginning."""
    return np.concatenate((speech, np.zeros(_SILENCE, np.float32)))


def written(heard: Transcript) -> Transcript:
    """As it is told to everybody but the ears, whose hints are what they heard."""
    return replace(heard, text=dictated(heard.text))


class Partials:
    """One for each speech. `tell` gets the newest hearing and what of it is certain."""

    def __init__(
        self,
        item_id: str,
        ears: Ears,
        sound: Callable[[], Samples],
        tell: Callable[[Transcript, str], None],
        language: str | None,
        keywords: Sequence[str] = (),
    ) -> None:
        self.item_id = item_id
        self.newest = ""
        self._ears, self._sound, self._tell = ears, sound, tell
        self._language, self._keywords = language, keywords
        self._certain = ""

    async def run(self) -> None:
        """Until it is cancelled; ears that fail are left alone until the turn is over."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            speech = self._sound()
            if len(speech) >= _LEAST:
                try:
                    heard = await self._ears.transcribe(
                        ending(speech),
                        language=self._language,
                        hint=self.newest,
                        urgent=False,
                        keywords=self._keywords,
                    )
                except VivavoceError as fault:
                    log.debug("No words while somebody speaks: %s", fault)
                    return
                except Exception:  # the boundary of this task
                    log.exception("No words while somebody speaks")
                    return
                self._took(heard)
            # Never more than half of the ears' time: others want to be heard too.
            took = loop.time() - began
            await asyncio.sleep(max(EVERY_S - took, took))

    def _took(self, heard: Transcript) -> None:
        agreed = agreement(self.newest, heard.text)
        self.newest = heard.text
        certain = dictated(settled(agreed))
        if len(certain) > len(self._certain) and certain.startswith(self._certain):
            self._certain = certain
        self._tell(written(heard), self._certain)


def agreement(before: str, now: str) -> str:
    """The words that both begin with, as the newer has them, without the last word of either.

    Stops and capitals do not count: they change while a sentence grows. A stop
    at the end is left out, since the sentence may go on.
    """
    older, newer = _WORD.findall(before), _WORD.findall(now)
    same = 0
    for old, new in zip(older[:-1], newer[:-1], strict=False):
        if _bare(old) != _bare(new):
            break
        same += 1
    return "".join(newer[:same]).rstrip().rstrip(".,!?;:…")


def _bare(word: str) -> str:
    return "".join(letter for letter in word.lower() if letter.isalnum())
