"""What the user's own words mean where a machine must not guess: yes, no, stop.

Only whole utterances count, from a short list. A yes is a yes and nothing
else; whatever begins with a no is a no; everything else is neither, and the
conversation goes on. No model is asked: text that a tool or a page brought
into the conversation can persuade a model, and cannot get in here.
"""

from __future__ import annotations

import re
from typing import Literal

_FILLER = r"(?:um|uh|well|so|oh|hey|hm+|please|thanks|thank you|now|just|ok|okay|right|then)"
_YES = (
    r"yes|yeah|yep|yup|sure|sure thing|of course|certainly|absolutely|definitely|ok|okay|alright|"
    r"all right|go ahead|go for it|do it|do that|do so|run it|please do|approve|approved|"
    r"i approve|approve it|allow|allow it|allow that|allowed|confirm|confirmed|i confirm|"
    r"that is fine|that's fine|that is ok|that's ok|that's okay|fine|fine by me|sounds good|"
    r"you may|you can|correct|that's right|proceed|yes you may|yes you can|make it so"
)
_NO = (
    r"no|nope|nah|don't|do not|dont|stop|cancel|deny|denied|refuse|never|never mind|nevermind|"
    r"not now|not yet|wait|hold on|leave it|forget it|abort|reject|i'd rather not|better not|"
    r"absolutely not|of course not|certainly not|definitely not"
)
_STOP = (
    r"stop|cancel|abort|never mind|nevermind|forget it|forget about it|forget that|"
    r"stop it|stop that|stop this|cancel it|cancel that|cancel this|abort it|abort that|"
    r"don't bother|leave it|drop it|quit it|enough|that's enough|stop right there|"
    r"stop the search|stop the tests|stop running|cancel the task|cancel everything|stop everything"
)
_ALL_YES = re.compile(rf"(?:(?:{_FILLER}) )*(?:{_YES})(?: (?:{_YES}|{_FILLER}|it|that))*")
_BEGINS_NO = re.compile(rf"(?:(?:{_FILLER}) )*(?:{_NO})(?: .*)?")
_ALL_STOP = re.compile(rf"(?:(?:{_FILLER}) )*(?:{_STOP})(?: (?:{_STOP}|{_FILLER}))*")
_LONGEST = 60
"""Characters: nobody says yes in a paragraph."""


def consent(words: str) -> Literal["yes", "no"] | None:
    """Whether this is an answer to "May I?"."""
    said = _plain(words)
    if _BEGINS_NO.fullmatch(said):
        return "no"
    if "?" in words or "\uff1f" in words:
        return None  # "Allow it?" asks back
    return "yes" if len(said) <= _LONGEST and _ALL_YES.fullmatch(said) else None


def stops(words: str) -> bool:
    """Whether this tells us to stop what is running, and says nothing else."""
    said = _plain(words)
    return len(said) <= _LONGEST and bool(_ALL_STOP.fullmatch(said))


def _plain(words: str) -> str:
    said = words.lower().replace("\u2019", "'")
    # Letters of other alphabets stay: "ok" with a no in another language is no yes.
    return " ".join(re.sub(r"[^\w']|_", " ", said).split())
