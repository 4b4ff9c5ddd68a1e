"""What people say and ears write otherwise, written as it is meant: the name `main dot pie` is
`main.py`, the time "5:00, past 8:00" is "5 past 8". Pure.

Names only after the word "dot", or a written one, and only for endings that files
and hosts have; times only around "past"; everything else is prose and stays as it was
heard. Says too how much of a sentence that is still being said is written already.
"""

from __future__ import annotations

import re

_ENDINGS = {
    "py": "py|pie|pi|pot|pye|p y|p why|pee why",
    "txt": "txt|text|t x t|tax",
    "md": "md|emd|emdy|em d|m d|em dee|m dee|empty",
    "json": "json|jason|jayson|j son|j s o n",
    "js": "js|j s|j's|jay s|jays|jay ess",
    "ts": "ts|t s|t's|tee s|tee ess",
    "jsx": "jsx|j s x",
    "tsx": "tsx|t s x",
    "toml": "toml|tumble|tommel|tom l|tom ell|tomal|tomel|tommle|t o m l",
    "yaml": "yaml|yamal|yammel|yamel|y a m l",
    "yml": "yml|y m l",
    "sh": "sh|s h|ess h|es h",
    "css": "css|c s s|see s s",
    "html": "html|h t m l",
    "svg": "svg|s v g",
    "png": "png|p n g",
    "jpg": "jpg|j p g|jay peg|jpeg",
    "pdf": "pdf|p d f",
    "csv": "csv|c s v",
    "xml": "xml|x m l",
    "sql": "sql|s q l|sequel",
    "cfg": "cfg|c f g",
    "ini": "ini|i n i",
    "log": "log",
    "lock": "lock",
    "rs": "rs|r s",
    "rb": "rb|r b",
    "cpp": "cpp|c p p",
    "java": "java",
    "com": "com",
    "org": "org",
    "net": "net",
    "io": "io|i o",
    "dev": "dev",
}
_LETTERS = {
    letter: names.split("|")
    for letter, names in (
        one.split(":")
        for one in [
            "a:ay",
            "b:bee",
            "c:cee|see|sea",
            "d:dee",
            "e:ee",
            "f:eff|ef",
            "g:gee",
            "h:aitch|haitch",
            "i:eye",
            "j:jay",
            "k:kay",
            "l:ell|el",
            "m:em",
            "n:en",
            "o:oh",
            "p:pee",
            "q:queue|cue",
            "r:ar",
            "s:ess|es",
            "t:tee|tea",
            "u:you",
            "v:vee",
            "x:ex",
            "y:why|wye",
            "z:zed|zee",
        ]
    )
}
"""What letters are called, where somebody spells."""
_CALLED = {name: letter for letter, names in _LETTERS.items() for name in names}
_WRITTEN = {
    re.sub(r"\s", "", alias): ending
    for ending, said in _ENDINGS.items()
    for alias in said.split("|")
}
_WINDOW = 1 + max(len(alias.split()) for said in _ENDINGS.values() for alias in said.split("|"))


_SPELLED = 4
"""Letters; nobody spells an ending that has more."""
_ALIASES = sorted({a for said in _ENDINGS.values() for a in said.split("|")}, key=len, reverse=True)
# Letters that were said one by one come as "P.Y.", "p-y" or "P Y".
_HEARD = (
    *(r"[.\s-]+".join(map(re.escape, alias.split())) for alias in _ALIASES),
    *(
        r"[.\s-]+".join(f"(?:{'|'.join((one, *_LETTERS.get(one, ())))})" for one in ending)
        for ending in sorted(_ENDINGS, key=len, reverse=True)
        if len(ending) <= _SPELLED
    ),
)
_OVER = r"(?![\w'’]|[-/]\w)"
_END = rf"(?P<end>{'|'.join(_HEARD)})(?:\.(?=\.))?{_OVER}"
_NAME = r"(?<![\w'’.])(?P<name>[\w/-]*\w)"
_SAID = re.compile(rf"{_NAME}(?P<more>(?:,?\s+dot,?\s+[\w-]+){{0,3}}?),?\s+dot,?\s+{_END}", re.I)
_DOTTED = re.compile(rf"{_NAME}\.(?P<end>pot|pie|pi|text|jason|tumble|emd|emdy|yamal){_OVER}", re.I)
_DOT = re.compile(r",?\s+dot,?\s+", re.I)

_HOUR = r"1[0-2]|[1-9]|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_MINUTES = r"5|10|15|20|25|five|ten|(?:a\s+)?quarter|twenty(?:[\s-]five)?|half"
# Ears put a stop where people take a breath, and hours where they hear a number.
_CLOCK = re.compile(
    rf"(?<![\w:.])(?P<minutes>{_MINUTES})(?::00)?,?\s+(?:a\s+)?past\s+"
    rf"(?P<hour>{_HOUR})(?::00)?(?![\w:%]|[.,]\d|[-'’]\w)",
    re.I,
)

_PATH = rf"[\w.-]*(?:/[\w./-]*\w|\.(?:{'|'.join(_ENDINGS)}))"
_SLASH = re.compile(
    rf"(?<![\w'’./-])(?P<left>src|lib|{_PATH}),?\s+slash,?\s+(?=\w)"
    rf"|(?<![\w'’./-])(?P<name>[\w-]+),?\s+slash,?\s+(?={_PATH}\b)",
    re.I,
)
_NO_NAMES = frozenset(
    re.findall(
        r"\w+",
        "a an the this that these those each every any some no one two three another other "
        "which what my your his her its our their me him them us of in on at to by with from "
        "for into as is are was were be and or but if than then so not it he she we you they "
        "i black white red blue green yellow orange polka big small little tiny single first "
        "last next dot slash colon ",
    )
)
"""Words in front of a dot that is only a dot."""


def ending_of(word: str) -> str | None:
    """The ending that a file has where this is said for it: "pie" is py."""
    return _WRITTEN.get(word.lower())


def dictated(text: str) -> str:
    """The text with its names and times written. Applied twice it does no more than once."""
    text = _CLOCK.sub(r"\g<minutes> past \g<hour>", text)
    while (written := _slashes(_DOTTED.sub(_named, _SAID.sub(_named, text)))) != text:
        text = written
    return text


def whole_name(text: str, start: int, end: int) -> tuple[int, int]:
    """All of a name of which these places have only a part: "kit dot em" of "kit dot em dee"."""
    for said in _SAID.finditer(text):
        if said.start() < end < said.end() and said["name"].lower() not in _NO_NAMES:
            return min(start, said.start()), said.end()
    return start, end


def settled(text: str) -> str:
    """As much of what was heard so far as is written the same whatever follows."""
    words = text.split()
    held = len(words)
    for place in reversed(range(len(words))):
        if held - place > _WINDOW:
            break
        if words[place].lower().strip(",.") in ("dot", "slash"):
            held = place
    if words and words[-1].lower() == "past":
        held = min(held, max(0, len(words) - 2))
    return text if held == len(words) else " ".join(words[:held]).rstrip(".,!?;:…")


def _named(found: re.Match[str]) -> str:
    name = found["name"]
    if name.lower() in _NO_NAMES:
        return found[0]
    ending = ending_of(re.sub(r"[.\s-]", "", found["end"])) or _spelled(found["end"])
    more = _DOT.sub(".", found["more"]) if "more" in found.re.groupindex else ""
    return f"{name}{more}.{ending}"


def _spelled(names: str) -> str:
    """ "Tee ex tee" is txt."""
    return "".join(_CALLED.get(one, one) for one in re.split(r"[.\s-]+", names.lower()))


_LETTER = rf"(?:[a-z]|{'|'.join(sorted(_CALLED, key=len, reverse=True))})"
_SPELT = re.compile(
    rf"(?P<word>\b[a-z]{{2,}}\b)[\s,–—-]+(?:(?:that['’]?s|that is|spelt|spelled|so|as in)[\s,:]+)*"
    rf"(?P<letters>{_LETTER}(?:[\s.,-]+{_LETTER})+)(?![\w'’])",
    re.I,
)


def unspelt(text: str) -> str:
    """Without letters that only say the word before them again: "chk, c h k" is chk."""
    return _SPELT.sub(lambda one: one["word"] if _spells(one) else one[0], text)


def _spells(found: re.Match[str]) -> bool:
    letters = re.split(r"[\s.,-]+", found["letters"].lower())
    return "".join(_CALLED.get(one, one) for one in letters) == found["word"].lower()


def _slashes(text: str) -> str:
    def join(found: re.Match[str]) -> str:
        name = found["left"] or found["name"]
        return found[0] if name.lower() in _NO_NAMES else f"{name}/"

    return _SLASH.sub(join, text)
