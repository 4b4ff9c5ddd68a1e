"""What somebody said, asked three ways: are these their words, did they name this file, did they
say this address? Pure.

The answer decides whether a call may run unasked, so what could be read either way is a no.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import PurePosixPath

from vivavoce.language.en.addresses import read, said_in
from vivavoce.language.en.answers import plain
from vivavoce.language.en.numbers import figures
from vivavoce.wire.values import Value

_RUN = 8  # words that may be one name: "dot github slash workflows slash test dot yml"
_SPOKEN_MARKS = frozenset({"dot", "slash", "dash", "hyphen", "underscore"})
_WRITTEN_MARKS = "./_"
_EMPTY = frozenset(
    {"a", "an", "the", "of", "in", "on", "at", "to", "for", "and", "or", "is", "are", "was", "be"}
    | {"it", "its", "this", "that", "these", "those", "with", "from", "by", "as", "into", "about"}
    | {"then", "also", "please"}
)
"""Words that say nothing."""
_POINTING = frozenset({"the", "a", "an", "my", "our", "your", "his", "their", "called", "named"})
"""What comes after one of these is a thing: "the make file", "a file called plan"."""
_HANDLING = frozenset(
    {"in", "into", "to", "from", "of", "on", "open", "read", "edit", "update", "fix", "change"}
    | {"rewrite", "write", "tidy", "clean", "shorten", "compare", "check", "show", "create", "make"}
    | {"save", "extend", "correct", "review", "sort", "format", "and", "file"}
)
"""What comes after one of these may be a thing, or not: "to run"."""
_WHICH = frozenset({"first", "last", "next", "new", "old", "other", "same", "whole", "big"})
_DEEDS = frozenset(
    {"run", "look", "test", "build", "check", "update", "help", "call", "start", "move", "copy"}
    | {"print", "change", "fix", "edit", "show", "try", "use", "set", "work", "works"}
)
"""What is done, or, after "the", a thing."""
_NO_THING = frozenset(
    {"i", "me", "you", "he", "she", "we", "us", "they", "them", "him", "her", "one", "ones", "all"}
    | {"what", "which", "who", "where", "when", "why", "how", "here", "there", "now", "again", "so"}
    | {"any", "some", "every", "each", "no", "not", "yes", "out", "up", "off", "back", "over"}
    | {"do", "does", "did", "go", "get", "put", "make", "let", "see", "say", "tell", "give", "take"}
    | {"find", "read", "write", "open", "add", "save", "send", "keep", "stop", "delete", "remove"}
    | {"rename", "create", "have", "has", "had", "been", "being", "were", "am", "done", "better"}
    | {"if", "but", "just", "only", "more", "less", "too", "very", "can", "could", "will", "would"}
    | {"should", "may", "might", "must", "file", "files", "folder", "thing", "names", "shorter"}
    | _WHICH
    | _EMPTY
    | _POINTING
)
_SIGNS = re.compile(r"[^\w\s]{4,}|[^\w\s.,:;'\"?!()\[\]{}/&+*#%$\u20ac@=<>`\u2013\u2014\u2019-]")
"""More of them than a sentence needs: they could carry what was not said."""


class _Word(Value):
    """`marked`: a sign stands right before it, written or said."""

    text: str
    marked: bool


class _Ways(Value):
    """How words that follow each other were said: with a sign among them, as a thing, as what may
    be one, or as one word. `led`: a sign came before the first."""

    signed: bool = False
    pointed: bool = False
    handled: bool = False
    one: bool = False
    led: bool = False

    def means(self, name: str, *, plainly: bool) -> bool:
        """Is this the name of something?"""
        thing = name not in _NO_THING
        return self.signed or (self.pointed and thing) or (plainly and thing and name not in _DEEDS)


class Said:
    """All that the user said or typed."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(texts)

    @cached_property
    def _known(self) -> frozenset[str]:
        """Each word, each number as figures, and without the ending of a plural."""
        every = {
            word
            for text in self._texts
            for word in (*plain(text).replace("'", "").split(), *_figured(text))
        }
        return frozenset(every | {_singular(one) for one in every})

    @cached_property
    def _sentences(self) -> list[list[_Word]]:
        return [one for text in self._texts for one in _sentences(text)]

    def _ways(self, name: str) -> Iterator[_Ways]:
        """Each time that words which follow each other were this name, as it sounds."""
        for sentence in self._sentences:
            for at in range(len(sentence)):
                rest, end = name, at
                while rest and end < min(at + _RUN, len(sentence)):
                    if not rest.startswith(sentence[end].text):
                        break
                    rest = rest.removeprefix(sentence[end].text)
                    end += 1
                if not rest and end > at:
                    yield _ways(sentence, at, end)

    @cached_property
    def _pages(self) -> frozenset[str]:
        return frozenset(page for text in self._texts for page in said_in(text))

    def words(self, text: str) -> bool:
        """Does it hold words, and none beyond these? Those that say nothing do not count."""
        if _SIGNS.search(text):
            return False
        return bool(tokens(text)) and all(
            one in _EMPTY or _singular(one) in self._known or any(self._ways(one))
            for one in tokens(text)
        )

    def names(self, path: str, *, whole: bool = False) -> bool:
        """Was this file named, with or without its folder and its ending? `whole`: by its whole
        name, as a name: "make file names shorter" names no Makefile."""
        place = PurePosixPath(path)
        hidden = any(part.startswith(".") for part in place.parts[:-1])
        spellings = [str(place)] if hidden else [str(place), place.name]
        if any(self._named(one, whole=whole) for one in spellings):
            return True
        return not whole and not hidden and self._stem(place.stem)

    def _named(self, name: str, *, whole: bool) -> bool:
        for one in self._ways(_joined(name)):
            # The first sign of ".env" was said too, or the words pointed at a thing.
            if name.startswith(".") and not (one.led or one.pointed):
                continue
            # "Makefile" is a name wherever it is said, and "run" is not.
            if one.means(_joined(name), plainly=one.one or (one.handled and not whole)):
                return True
        return False

    def _stem(self, stem: str) -> bool:
        name = _joined(stem)
        return any(one.means(name, plainly=one.handled) for one in self._ways(name))

    def address(self, url: str) -> bool:
        """Was this address said, all of it and no more?"""
        address = read(url)
        return address is not None and address.page in self._pages


def tokens(text: str) -> list[str]:
    """Its words; a name in one word with capitals is as many words as it has."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return re.findall(r"[^\W_]+", parted.casefold())


def _figured(text: str) -> list[str]:
    return [word for one in figures(plain(text).split()) for word in tokens(one)]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def _joined(text: str) -> str:
    return "".join(tokens(text))


def _sentences(text: str) -> Iterator[list[_Word]]:
    """Words with the signs before them. "docs slash notes dot txt" is docs/notes.txt; a name does
    not go over the end of a sentence."""
    words: list[_Word] = []
    marked, end = False, 0
    plainly = text.casefold().replace("\u2019", "'")
    for match in re.finditer(r"[^\W_]+(?:'[^\W_]+)*", plainly):
        between = plainly[end : match.start()]
        end = match.end()
        alone = not (between[-1:] + plainly[end : end + 1]).strip(" ,\n\t")
        if words and not marked and re.search(r"[.!?;\n]\s|\n", between):
            yield words
            words = []
        if match[0] in _SPOKEN_MARKS and alone:
            marked = True
            continue
        sign = bool(between) and between[-1] in _WRITTEN_MARKS
        words.append(_Word(match[0].replace("'", ""), marked or sign))
        marked = False
    if words:
        yield words


def _ways(sentence: list[_Word], at: int, end: int) -> _Ways:
    before = [one.text for one in sentence[max(0, at - 3) : at]]
    near = before[-1] if before else ""
    far = next((n for n, one in enumerate(reversed(before)) if one in _POINTING), None)
    # "the app config" is about the config as well, "the tests run" about no run.
    between = before[len(before) - far :] if far else []
    loosely = far is not None and (_NO_THING | _DEEDS).difference(_WHICH).isdisjoint(between)
    return _Ways(
        signed=any(one.marked for one in sentence[at + 1 : end]),
        pointed=near in _POINTING,
        handled=near in _HANDLING or loosely or end - at == len(sentence),
        one=end == at + 1,
        led=sentence[at].marked,
    )
