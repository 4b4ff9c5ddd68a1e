"""Names of files as they are written, from how they are said: "kit dash list dot m d" is
`kit-list.md`, "the git ignore" is `.gitignore`. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from vivavoce.language.en.dictation import dictated
from vivavoce.language.en.numbers import CARDINALS, found, number

_BETWEEN = {
    **dict.fromkeys(("dash", "hyphen", "minus"), "-"),
    **dict.fromkeys(("underscore", "underline"), "_"),
    **dict.fromkeys(("dot", "point", "period"), "."),
    "slash": "/",
}
_STAR = re.compile(r"(?i)\b(?:star|asterisk)\b\s*(?=(?:dot|point|slash|dash|underscore|[./_-])|$)")
_BY_CHARACTER = re.compile(rf"(?i)\s*\b({'|'.join(_BETWEEN)})\b\s*")
_LETTERS = re.compile(r"(?i)(?<![\w'’])[a-z0-9](?:[ .]+[a-z0-9])+(?![\w'’])")
_FIGURE = "|".join(sorted((one for one in CARDINALS if one != "a"), key=len, reverse=True))
_FIGURES = re.compile(
    rf"(?i)\b(?:{_FIGURE})(?:[ -]+(?:hundred|thousand|and (?=(?:{_FIGURE})\b)|{_FIGURE}))*\b"
)
_MANNER = re.compile(
    r"(?i)[\s,]*\b(?:all|written|spelled|spelt|in|as|with)?[\s,]*\b(?P<how>(?:one|single) word|"
    r"no spaces?|lower ?case|small letters|small|caps|capitals?|capital letters|upper ?case|"
    r"together|digits?(?: \w+)?|figures?)(?: letters)?(?=[\s,.!?]*$)"
)
"""How a name is written, said after it."""
_CAPITAL = re.compile(r"(?i)\b(?:capital|big) ([a-z])\b")
_CALLED = re.compile(r"(?i)^.*\b(?:called|named|titled|entitled)\b[\s,:]*(?=\S)")
_LEADING = re.compile(
    r"(?i)^(?:(?:a|an|the|my|our|your|this|that|new|fresh|empty|blank|little|small|short|quick|"
    r"plain|simple|proper|another|one|just|file|script|document|folder|name|called|text|as|to|be|"
    r"it|in|into|of|for)\s+)+(?=\S)"
)
_TRAILING = re.compile(
    r"(?i)(?:[\s,]+(?:file|script|document|please|instead|then|there|now|for me|again))+$"
)
_SMALL = re.compile(
    r"(?i)\b(?:the|a|an|of|in|on|at|for|with|to|and|that|which|is|are|from|by|my|our|your)\b"
)
_TIDY = " ,;:!?'\"“”`"

_WELL_KNOWN = {
    "gitignore": ".gitignore",
    "gitignorefile": ".gitignore",
    **dict.fromkeys(("ignorefile", "ignorefileforgit", "ignorelist"), ".gitignore"),
    "getignore": ".gitignore",
    "gitattributes": ".gitattributes",
    "gitkeep": ".gitkeep",
    "dockerignore": ".dockerignore",
    "npmignore": ".npmignore",
    "eslintignore": ".eslintignore",
    "prettierignore": ".prettierignore",
    "editorconfig": ".editorconfig",
    "editorconfigfile": ".editorconfig",
    "env": ".env",
    "envfile": ".env",
    "npmrc": ".npmrc",
    "nvmrc": ".nvmrc",
    "bashrc": ".bashrc",
    "prettierrc": ".prettierrc",
    "makefile": "Makefile",
    "dockerfile": "Dockerfile",
    "procfile": "Procfile",
    "vagrantfile": "Vagrantfile",
    "jenkinsfile": "Jenkinsfile",
    "gemfile": "Gemfile",
    "license": "LICENSE",
    "licence": "LICENSE",
    "licensefile": "LICENSE",
    "licencefile": "LICENSE",
    "codeowners": "CODEOWNERS",
    "readme": "README.md",
    "readmefile": "README.md",
    "changelog": "CHANGELOG.md",
}
"""What every project calls the same."""
_TOPS = {"readme": "README", "changelog": "CHANGELOG", "license": "LICENSE", "licence": "LICENSE"}
_MOST_WORDS = 6


def joined(text: str) -> str:
    """The same with its names written, where their characters were said: "old underscore rota dot
    csv" is `old_rota.csv`. What is no name stays as it was said."""
    written = dictated(_STAR.sub("*", text))
    if not _BY_CHARACTER.search(written) and not re.search(r"(?i)(?<![a-z])v \w+\b", written):
        return written
    words = _LETTERS.sub(lambda one: re.sub(r"[ .]", "", one[0]), _CAPITAL.sub(r"\1", written))
    made = _BY_CHARACTER.sub(lambda one: _BETWEEN[one[1].lower()], words)
    made = re.sub(rf"(?i)(?<![a-z])v ({_FIGURE}|\d+)\b", lambda v: f"v{_digits(v[1])}", made)
    return re.sub(r"\S*[-_./*]\S*", lambda one: _with_figures(one[0]), made)


def joined_figures(text: str) -> str:
    """With its numbers as figures: "twenty twenty-three" is 2023."""
    return _FIGURES.sub(lambda one: _digits(one[0]), text)


def written(text: str, files: Iterable[str] = ()) -> str:
    """A name for a file that is not there yet; nothing where no name was said. Words with nothing
    between them are put together as in the names that are there."""
    said, upper, close = text.strip(_TIDY + "."), False, False
    said = _CALLED.sub("", said)
    while manner := _MANNER.search(said):
        how = manner["how"].lower()
        upper |= "cap" in how or how.startswith("upper")
        close |= "word" in how or "space" in how or how == "together"
        said = said[: manner.start()].rstrip(_TIDY)
    said = _TRAILING.sub("", _LEADING.sub("", said)).strip(_TIDY)
    name = re.sub(r"(?i)^dot\b|\bfor (?:it|this|that|the (?:project|repo|repository))$", "", said)
    if known := _WELL_KNOWN.get(re.sub(r"[^a-z]", "", name.lower())):
        return known
    first = name.lower().split()
    for many in range(len(first) - 1, 1, -1):  # "a git ignore dot env": what it shall leave out
        if known := _WELL_KNOWN.get(re.sub(r"[^a-z]", "", "".join(first[:many]))):
            return known
    said = _LETTERS.sub(lambda one: re.sub(r"[ .]", "", one[0]), dictated(said))
    made = joined(re.sub(r"(?i)\bread me\b", "readme", said)).strip(_TIDY)
    if not made:
        return ""
    if len(made.split()) > 1:
        made = _FIGURES.sub(lambda one: _digits(one[0]), made)
    words = made.split()
    ended = next(
        (at for at, one in enumerate(words) if _ENDED.search(one.rstrip(_TIDY))), len(words)
    )
    words = words[: ended + 1]  # what is said behind its ending is no part of the name
    made = " ".join(words).strip(_TIDY)
    words = made.split()
    dotted = [word for word in words if re.search(r"\w[.]\w|^[.]\w|/", word)]
    if dotted and (len(words) > _MOST_WORDS or _SMALL.search(" ".join(words))):
        made = dotted[0]
    elif len(words) > 1:
        made = ("" if close else _style(made, files)).join(words)
    stem, dot, ending = made.rpartition(".")
    if not dot:
        return made.upper() if upper else made
    stem = stem.upper() if upper else stem
    return f"{_TOPS.get(stem.lower(), stem)}.{ending}"


# --- Folders

_FOLDER = r"(?:sub-?)?(?:folder|directory|dir)\b"
_FOLDER_CALLED = re.compile(
    rf"(?i)\b(?:(?:a|an|another|new|empty|separate|own) (?:new |empty |separate |fresh "
    rf")?{_FOLDER}[\s,:]+|"
    rf"the {_FOLDER}\s+)(?:(?:called|named|for|by the name of) )?"
    r"(?P<name>(?!in\b|inside\b|under\b|and\b|with\b|there\b|to\b)[^,?!;:]+)"
)
_CALLED_FOLDER = re.compile(
    rf"(?i)\b(?:a|an|another|new|the)\s+(?:(?:new|empty|fresh|separate)\s+)*"
    rf"(?P<name>(?!new\b|empty\b|separate\b|fresh\b)[\w./-]+(?: [\w./-]+)?) {_FOLDER}"
)
_INSIDE = re.compile(r"(?i)\s*\b(?:in|inside|under|within)(?: of)?\s+(?P<where>[^,.?!;:]+)")
_FURTHER = re.compile(
    r"(?i)\s*(?:[.?!](?:\s|$)|\b(?:and|then|please|for me|where|so that|so i)\b).*$", re.S
)


def folder(said: str) -> str:
    """The name of a folder that is spoken of as one; nothing where none is."""
    told = _FOLDER_CALLED.search(said) or _CALLED_FOLDER.search(said)
    if told is None:
        return ""
    name = _INSIDE.sub("", _FURTHER.sub("", told["name"])).strip(_TIDY + ".")
    return written(name).removesuffix("/") if name else ""


def folder_around(said: str) -> str:
    """In which other one it is said to be."""
    told = _FOLDER_CALLED.search(said) or _CALLED_FOLDER.search(said)
    rest = _FURTHER.sub("", said[told.start("name") :]) if told else ""
    inside = _INSIDE.search(rest) or (_INSIDE.search(said[: told.start()]) if told else None)
    return inside["where"].strip() if inside else ""


# --- Two of them

_ONE = r"(?:the |my |our |your |this |that )*(?P<{}>(?:[^,?.!;:]|\.(?=\w)){{1,50}}?)"
_TWO = r"(?P<b>(?:[^,?.!;:]|\.(?=\w)){1,50}?)(?=[,?!;:]|\.(?!\w)|$| for me\b| please\b| then\b)"
_ANY = r"(?:[^?.!]|\.(?=\w))*?"
_A = _ONE.format("a")
_NOT = (
    r"(?:(?:is|are|was|were|does|do|did|has|have|had)(?: not|n['’]?t)|not|missing|lacking|absent)"
)
_COMPARED = tuple(
    re.compile(rf"(?i){rule}")
    for rule in (
        rf"\b(?:differences?|changed?|differs?|different)\b{_ANY}\bbetween {_A},? and {_TWO}",
        rf"\b(?:compare|diff) {_A},? (?:with|to|and|against|versus) {_TWO}",
        rf"\bcheck {_A} against {_TWO}",
        rf"\bhow (?:does|do|is|are) {_A} (?:differ|different) from {_TWO}",
        rf"\b(?:in|on) {_A},? (?:(?:but|and|that|which|who) )*{_NOT}\b{_ANY}\b(?:in|on|from) "
        rf"{_TWO}",
        rf"\bwhat(?:['’]s| is| has| have| does| do) {_A} (?:have|got|has){_ANY} {_TWO}"
        r"(?: has(?:n['’]t| not)| does(?:n['’]t| not)| have(?:n['’]t| not))",
        rf"\b(?:are|is|do|does|have|has) {_A},? (?:and|as) (?P<b>(?:[^,?.!;:]|"
        rf"\.(?=\w)){{1,50}}?) (?:the same|identical|"
        r"alike|equal|match|differ\w*|agree|have the same|exactly the same)\b",
        rf"\bare\b[^,?.!]* the same,? {_A},? and {_TWO}",
    )
)
_LACKS = re.compile(
    rf"(?i)\b(?:missing|lacking|left out|forgotten|absent|not translated|untranslated)\b{_ANY}"
    rf"\b(?:from|in|on|of) {_ONE.format('a')}(?=[,?!;:]|\.(?!\w)|$| that | which | compared )"
    rf"(?:{_ANY}\b(?:compared (?:to|with)|against|(?:that|which){_ANY} in)"
    r" (?:the |my |our )*(?P<b>(?:[^,?.!;:]|\.(?=\w)){1,50}))?"
)
_LIKE_FILES = re.compile(
    r"(?i)\w\.\w|\bdot\b|\b(?:files?|configs?|configuration|settings|lists?|sheets?|tables?|csvs?|"
    r"versions?|yamls?|jsons?|tomls?|envs?|environments?|menus?|logs?|ones?|folder|scripts?)\b"
)
_NO_FILES = re.compile(r"(?i)^an?\s|\b(?:branch(?:es)?|commits?|main|master|head)\b")


def compared(said: str) -> tuple[str, str] | None:
    """The names of two files that are to be compared, as they were said; the second may be left
    out ("what's missing from the German one"). None where nothing is compared."""
    text = dictated(said)
    for rule in _COMPARED:
        two = rule.search(text)
        if two is not None and _LIKE_FILES.search(text):
            names = two["a"].strip(), two["b"].strip()
            if not any(_NO_FILES.search(one) for one in names):
                return names
    one = _LACKS.search(text)
    if one is None or not _LIKE_FILES.search(text) or _NO_FILES.search(one["a"]):
        return None
    return one["a"].strip(), (one["b"] or "").strip()


def looks_written(text: str) -> bool:
    """Whether a name of a file was said by its characters: "take two dot txt"."""
    return re.search(r"\w[._-]\w", joined(text)) is not None


_ENDED = re.compile(r"(?i)\w\.(?:[a-z]{1,5}\d?)$")


def without_manner(text: str) -> str:
    """Without how it is written: "star dot log, all one word" is star dot log."""
    while manner := _MANNER.search(text):
        text = text[: manner.start()].rstrip(_TIDY)
    return text


def _style(made: str, files: Iterable[str]) -> str:
    """What stands between two words of a name: as was said in this one, else as in the others."""
    if "_" in made or "-" in made:
        return "_" if "_" in made else "-"
    names = [PurePosixPath(one).stem for one in files]
    dashes = sum("-" in one for one in names)
    return "-" if dashes > sum("_" in one for one in names) else "_"


def _with_figures(name: str) -> str:
    """Numbers in a name are written as figures, where they stand beside one of its marks."""
    return "".join(_digits(one) if one else "" for one in re.split(r"([-_./*])", name))


def _digits(words: str) -> str:
    """ "Three" is 3, "twenty twenty-six" the year."""
    plain = words.lower().replace("-", " ")
    try:
        return f"{number(plain)}"
    except ValueError:
        there = [one for one in found(plain.split(), fractions=False) if not one.ordinal]
        made = "".join(f"{int(one.value)}" for one in there)
        whole = there and sum(one.end - one.start for one in there) == len(plain.split())
        return made if whole else words
