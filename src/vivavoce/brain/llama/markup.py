"""How a model wants messages marked. Prompts are written in ChatML and put into its own marks.

llama.cpp knows the template in the model's file; it is asked for small talks with words
that no template has, and what it puts around them are the marks. So whoever writes prompts
writes ChatML, whatever model reads them. Pure: asking is the caller's part.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence

from vivavoce.errors import BrainError
from vivavoce.wire.values import Value

START, END = "<|im_start|>", "<|im_end|>"
_MESSAGE = re.compile(r"<\|im_start\|>(system|user|assistant)\n(.*?)(<\|im_end\|>\n?|\Z)", re.S)
_SYSTEM, _USER, _ANSWER, _NEXT = "vvsystemvv", "vvuservv", "vvanswervv", "vvnextvv"

Message = Mapping[str, str]
Render = Callable[[Sequence[Message], bool], Awaitable[str]]
"""A talk as the model's template writes it; True: with the beginning of the next answer. Raises
`BrainError`."""


class Marks(Value):
    """What comes before and after a message of one role."""

    before: str
    after: str


class Markup(Value):
    """Without `system` marks the model has no such role: what it should know is told by the user,
    who goes first. `first` comes before a talk that begins with the user."""

    user: Marks
    assistant: Marks
    system: Marks | None = None
    first: str = ""

    @property
    def end(self) -> str:
        """What it writes when an answer is over."""
        return self.assistant.after.strip()

    @property
    def is_chatml(self) -> bool:
        ours, known = [(m.user, m.assistant, m.system) for m in (self, CHATML)]
        return ours == known

    def put(self, chatml: str) -> str:
        """The prompt in this model's marks. An unfinished message stays unfinished."""
        if self.is_chatml:
            return chatml
        text, told = "", ""
        for found in _MESSAGE.finditer(chatml):
            role, content, closed = found[1], self._safe(found[2]), bool(found[3])
            if role == "system" and self.system is None:
                told += f"{content}\n\n" if closed else content
                continue
            if told and role == "user":
                content, told = told + content, ""
            elif told:
                text += self.first + self.user.before + told.rstrip() + self.user.after
                told = ""
            marks = {"system": self.system, "user": self.user, "assistant": self.assistant}[role]
            assert marks is not None
            text += "" if text or role == "system" else self.first
            text += marks.before + content + (marks.after if closed else "")
        return text + (self.first + self.user.before + told.rstrip() if told else "")

    def _safe(self, content: str) -> str:
        """Text from outside must not end a message or begin another."""
        for mark in self._words:
            if mark in content:
                content = content.replace(mark, f"{mark[0]} {mark[1:]}")
        return content

    @property
    def _words(self) -> set[str]:
        """The marks by themselves: `[INST]`, `<end_of_turn>`, not the line ends around them."""
        every = [m.before + m.after for m in (self.user, self.assistant, self.system) if m]
        return {mark for text in every for mark in re.findall(r"<[^<>\s]+>|\[/?[A-Z_]+\]", text)}


CHATML = Markup(
    user=Marks(f"{START}user\n", f"{END}\n"),
    assistant=Marks(f"{START}assistant\n", f"{END}\n"),
    system=Marks(f"{START}system\n", f"{END}\n"),
)


async def learned(render: Render) -> Markup:
    """The marks of a model. Raises `BrainError` where its template cannot be understood."""
    system, user = _said("system", _SYSTEM), _said("user", _USER)
    answer, more = _said("assistant", _ANSWER), _said("user", _NEXT)
    one = await render([user], False)
    asked = await render([user], True)
    answered = await render([user, answer], False)
    again = await render([user, answer, more], False)
    head, after_user = _around(one, _USER)
    _, after_answer = _around(answered, _ANSWER)
    between = _between(again, _ANSWER, _NEXT)
    before_user = between.removeprefix(after_answer)
    # What begins an answer, where one is awaited; some templates add a space when it is there.
    begun = asked.removeprefix(one) if asked != one else _between(answered, _USER, _ANSWER)
    before_answer = begun.removeprefix(after_user)
    if not head.endswith(before_user) or not after_answer.strip():
        raise BrainError("The model's chat template cannot be understood.")
    user_marks, first = Marks(before_user, after_user), head.removesuffix(before_user)
    answer_marks = Marks(before_answer, after_answer)
    try:
        told = await render([system, user], False)
        before_system, _ = _around(told, _SYSTEM)
        after_system = _between(told, _SYSTEM, _USER)
    except BrainError:  # many models have no such role, and say so
        return Markup(user=user_marks, assistant=answer_marks, first=first)
    if not after_system.endswith(before_user):  # it is put into the user's message
        return Markup(user=user_marks, assistant=answer_marks, first=first)
    system_marks = Marks(before_system, after_system.removesuffix(before_user))
    return Markup(user=user_marks, assistant=answer_marks, system=system_marks, first=first)


def _said(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _around(text: str, word: str) -> tuple[str, str]:
    before, found, after = text.partition(word)
    if not found or word in after:
        raise BrainError("The model's chat template leaves a message out, or says it twice.")
    return before, after


def _between(text: str, one: str, other: str) -> str:
    return _around(_around(text, one)[1], other)[0]
