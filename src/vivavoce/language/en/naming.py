"""Names of code and files as people say them, and as they are written. Pure.

"fetch user" is `fetch_user` or `fetchUser`, "T O D O" is TODO, "the config" is config.yaml if that
is there, "sixty" as a value is 60. Nothing is decided where two names fit: whoever asks is given
both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import PurePosixPath

from vivavoce.language.en import answers
from vivavoce.language.en.dictation import dictated, ending_of
from vivavoce.language.en.filenames import joined, joined_figures
from vivavoce.language.en.numbers import CARDINALS, found, number
from vivavoce.language.en.quantities import conversion
from vivavoce.wire.values import Value

_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LETTERS = re.compile(r"\b(?:[A-Za-z][ .-]){2,}[A-Za-z]\b(?!')")
_WRITTEN = re.compile(r"[\w-]+(?:[./][\w-]+)+|\w+_\w+|\w*[a-z][A-Z]\w*")
_QUOTED = re.compile(r"[\"“”`](.+?)[\"“”`]")
_END = ".,!?;:…"


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SMALL = _set(
    "a an the my our your his her their its this that these those of for in on at to from into "
    "with and or is are was were be do does did has have had it we i you they he she me us them "
    "what which where when who how why there here please just now then so well uh um erm like "
    "all any some every each other than up out by as if not no can could would should will shall"
)
_AROUND = _set(
    "called named name thing things one ones bit part function functions method methods class "
    "classes variable variables constant constants setting settings value values key keys option "
    "options property properties field fields parameter parameters argument comment comments "
    "string strings text word words phrase line lines number entry entries currently current "
    "usage usages use uses reference references mention mentions occurrence occurrences call calls "
    "file files folder folders directory script scripts module modules code source anything "
    "everything something anywhere everywhere somewhere again set defined used configured left "
    "marked marker markers tag tags item items set-up actual actually exactly still many much "
    "long big large often high low "
    "statement statements definition"
)
_ALL = re.compile(
    r"(?:(?:in|of|across|over|throughout|through)\s+)?(?:(?:the|this|my|our|all|whole|entire|of)\s+"
    r")*(?:code|codebase|code base|source|project|repo|repository|workspace|folder|directory|"
    r"files?|tree|place|here|anywhere|everywhere|everything|it all|lot)[.!?]*",
    re.IGNORECASE,
)
_PLACES = _set(
    "in into from of to on at inside within check open read see under per for at "
    "according look reading checking"
)


def everywhere(text: str) -> bool:
    """Is that all of the workspace, and no place in it?"""
    return not text.strip() or _ALL.fullmatch(text.strip()) is not None


_UNDERSCORE = re.compile(r"(?<=\w)\s+underscore\s+(?=\w)", re.IGNORECASE)


def pieces(text: str) -> list[str]:
    """Its words in small letters, names taken apart, spelled letters put together."""
    text = _UNDERSCORE.sub("_", text)
    joined = _LETTERS.sub(lambda found: re.sub(r"[ .-]", "", found[0]), text)
    parts = (part for word in re.findall(r"[A-Za-z0-9]+", joined) for part in _taken_apart(word))
    return [part.lower() for part in parts]


def _taken_apart(word: str) -> list[str]:
    return [word] if word.isupper() else _CAMEL.findall(word)


def stem(word: str) -> str:
    """So that "retries" is like "retry", and "logging" like "log"."""
    word = word.lower()
    for end, least in (
        ("ies", 3),
        ("ings", 3),
        ("ing", 3),
        ("es", 4),
        ("s", 3),
        ("ed", 3),
        ("y", 3),
    ):
        if word.endswith(end) and len(word) - len(end) >= least and not word.endswith("ss"):
            word = word[: -len(end)]
            break
    if len(word) > _SILENT and word.endswith("e"):  # "prices" and "price", "caching" and "cache"
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1:] == word[-2:-1] else word


_SILENT = 4
"""Letters: in shorter words an e at the end tells them apart."""


def telling(text: str) -> list[str]:
    """The words of it that can be part of a name."""
    said = pieces(text)
    return [w for w in said if w not in _SMALL | _AROUND] or [w for w in said if w not in _SMALL]


def bare(text: str) -> str:
    """Without what only says that a name follows: "the function calc vat" is "calc vat"."""
    if quoted := _QUOTED.search(text):
        return quoted[1].strip()
    words = _UNDERSCORE.sub("_", text).strip().strip(_END + "'\"").split()
    words = words[_edge(words) :]
    return " ".join(words[: len(words) - _edge(words[::-1])]).strip(_END + "'\"") or text.strip()


def _edge(words: Sequence[str]) -> int:
    """How many of the first only lead to it; never all."""
    noise = _SMALL | _AROUND
    plain = [word.lower().strip(_END) in noise for word in words]
    return next((at for at, one in enumerate(plain) if not one), 0)


# --- To search for it


def patterns(text: str) -> tuple[str, ...]:
    """Regular expressions for a search in which case does not count, the likeliest first."""
    name = bare(dictated(text))
    if _QUOTED.search(text) or (written := _WRITTEN.fullmatch(name)):
        exact = re.escape(name).replace(r"\ ", " ").replace(r"\-", "-")
        if not _QUOTED.search(text) and written and "/" not in name and "." not in name:
            return (rf"\b{exact}\b", exact)
        return (exact,)
    parts = pieces(name)
    if not parts:
        return (re.escape(name),)
    if (figure := _figure(name)) is not None:
        return (rf"\b{figure}\b", figure)
    parts[-1] = _maybe_plural(parts[-1])
    close = "[_-]?".join(map(_one, parts))
    loose = r"[\s_./-]*".join(map(_one, parts))
    tries = [rf"\b{close}\b", close, loose]
    if len(parts) > 1:
        tries.append(".*".join(map(_one, parts)))
        known = [re.escape(stem(part)) for part in telling(name)]
        tries += [r"\w*".join(known)] if known else []
    return tuple(dict.fromkeys(tries))


_EXPLAINS = re.compile(
    r"(?i)[,;:]|\s+(?:not|as in|rather than|i mean|meaning|that|which|who|whose|because|but|from)\b"
    r"|(?<=\w)\s+(?:the|an?)\s"
)
_NAME_SAID = re.compile(r"\b[A-Z][\w'-]{2,}")
_LEAST = 4


def distinctive(text: str) -> tuple[str, ...]:
    """What of a phrase is likeliest to be written as it was said, where all of it is nowhere: what
    comes before the explanation ("Mombasa the port, not the database"), names, long words."""
    name = bare(dictated(text))
    head = bare(_EXPLAINS.split(name, maxsplit=1)[0])
    names = [one for one in _NAME_SAID.findall(name) if one.lower() not in _SMALL | _AROUND]
    words = sorted((w for w in telling(name) if len(w) >= _LEAST), key=len, reverse=True)
    tried = {one.lower(): one for one in reversed([head, *names, *words]) if telling(one)}
    ordered = dict.fromkeys(one.lower() for one in [head, *names, *words] if one.lower() in tried)
    return tuple(tried[one] for one in ordered if one != name.lower())


def named_in(text: str) -> frozenset[str]:
    """Of a phrase the words that stand for all of it, in small letters."""
    name = bare(dictated(text))
    head = bare(_EXPLAINS.split(name, maxsplit=1)[0])
    return frozenset(one.lower() for one in [head, *_NAME_SAID.findall(name)])


def proper(text: str) -> tuple[str, ...]:
    """The names in it, as they were said."""
    return tuple(one for one in _NAME_SAID.findall(text) if one.lower() not in _SMALL | _AROUND)


def shortened(text: str) -> tuple[str, ...]:
    """An expression for the beginnings of its long words, as names are cut short."""
    long_ = [re.escape(word[:4]) for word in telling(text) if len(word) > 6]
    return (rf"(?:{'|'.join(dict.fromkeys(long_))})",) if long_ else ()


def _figure(name: str) -> str | None:
    """ "five hundreds" are 500 each."""
    try:
        return f"{number(re.sub(r'(?<=[a-z0-9])s$', '', name.lower()))}"
    except ValueError:
        return None


def _maybe_plural(word: str) -> str:
    return word[:-1] + "s?" if word.endswith("s") and len(word) > 2 and word[-2] != "s" else word


def _one(word: str) -> str:
    """A number may be written either way."""
    value = CARDINALS.get(word)
    return f"(?:{word}|{value})" if value is not None else word


def settings(text: str) -> tuple[str, ...]:
    """Expressions for where something of that name is given a value."""
    known = [re.escape(stem(word)) for word in telling(text)]
    if not known:
        return ()
    some = "|".join(dict.fromkeys(known))
    given = r"\w*[\"'`*]*\s*(?:[:=>]|\s-\s)"
    return (rf"\b\w*(?:{some}){given}", rf"\b(?:{some})")


_TYPO = re.compile(r"\b(?:typos?|mis-?spel\w+|spel(?:t|led|ling)|mis-?typed)\b", re.IGNORECASE)


def about_spelling(said: str) -> bool:
    if misspelt_word(said):
        return True
    return _TYPO.search(said) is not None


_WORD_WRONG = re.compile(
    r"(?i)\b(?:spel(?:t|led|ling)|mis-?spel(?:t|led)|mis-?typed|typed|wrote|written)"
    r"(?: the word)? (?P<one>[a-z]{4,}) (?:wrong|wrongly|incorrectly|badly|with)\b|"
    r"\b(?P<two>[a-z]{4,}) is (?:spelt|spelled|written|typed) (?:wrong|wrongly|incorrectly)|"
    r"\bmis-?spel(?:t|led) (?:the word )?(?P<three>[a-z]{4,})|"
    r"\btypo in (?:the word )?(?P<four>[a-z]{5,})|"
    r"\b(?:put|got|has|wrote|written|typed|spelt|spelled) (?:the word )?(?P<five>[a-z]{5,}) with "
    r"(?:only |just )?"
    r"(?:the |an? )?(?:one|two|single|double|wrong|extra|[a-z])\b"
)


def misspelt_word(said: str) -> str:
    """Which word somebody says that they spelt wrongly."""
    told = _WORD_WRONG.search(said)
    return next(filter(None, told.groups()), "") if told else ""


def misspelt(words: str) -> tuple[str, ...]:
    """An expression for words of about the same length with the same beginning or end, among which
    one may be a wrong spelling of these (`nearly`)."""
    forms = []
    for word in telling(words):
        least, most = len(word) - 3, len(word) + 1
        if len(word) > 4:
            forms += [rf"{word[0]}\w{{{least},{most}}}", rf"\w{{{least},{most}}}{word[-2:]}"]
    return (rf"\b(?:{'|'.join(forms)})\b",) if forms else ()


_LETTERS_SAID = re.compile(
    r"(?i)\bwith (?:only )?(?P<many>one|a single|two|a double|double) ['\"]?(?P<letter>[a-z])\b"
)
_SPELT_SO = re.compile(
    r"(?i)\b(?:says?|said|spelt|spelled|written|wrote|reads?|typed|put|got|have|has)\s+(?:it\s+)?"
    r"(?:as\s+)?[\"'“]?(?P<word>[a-z]{4,})"
)


_INSTEAD_OF = re.compile(
    r"(?i)\b(?P<wrong>[a-z]{3,}) (?:instead of|rather than|not|for) (?P<right>[a-z]{3,})|"
    r"\b(?P<other>[a-z]{3,})\b[^.!?]{0,24}\b(?:should|ought to) be (?P<should>[a-z]{3,})"
)
_NEARLY = 0.75


def misspelling(words: str, said: str) -> tuple[str, str]:
    """A word as it is written wrongly and as it should be, where somebody says what is wrong with
    it: "it says adress with one d"."""
    for one in _INSTEAD_OF.finditer(said) if _TYPO.search(said) else ():
        pair = (one["wrong"] or one["other"]).lower(), (one["right"] or one["should"]).lower()
        if pair[0] != pair[1] and SequenceMatcher(None, *pair).ratio() >= _NEARLY:
            return pair
    told = _LETTERS_SAID.search(said)
    if told is None:
        return "", ""
    said_of = dict.fromkeys(telling(words))
    named = [w for w in said_of if told["letter"].lower() in w and not _TYPO.search(w)]
    if not named and (spelt := _SPELT_SO.search(said)):
        named = [spelt["word"]]
    letter = told["letter"].lower()
    if len(named) != 1:
        return "", ""
    single = told["many"].lower() in ("one", "a single")
    wrong, right = (letter, letter * 2) if single else (letter * 2, letter)
    return (named[0], named[0].replace(wrong, right, 1)) if wrong in named[0] else ("", "")


_TIMES_AS_MUCH = (
    (r"\bdoubl\w+\b|\btwice\b", 2.0),
    (r"\btripl\w+\b", 3.0),
    (r"\bhal(?:f|ve)\w*\b", 0.5),
)
_BY = re.compile(
    r"(?i)\b(?P<how>up|increase|raise|bump|add|more|higher|"
    r"down|decrease|reduce|lower|cut|less|drop|take)\b.*?\b(?:by|another|an extra)?\s*$"
)


_LESS = _set("down decrease reduce lower cut less drop take")


def becomes(said: str, old: str) -> str:
    """The new number, where a change was said by what it was before: "double it", "ten more"."""
    try:
        before = float(old.replace("_", ""))
    except ValueError:
        return ""
    low = said.lower()
    for sounds, times in _TIMES_AS_MUCH:
        if re.search(sounds, low):
            return f"{before * times:g}"
    words = re.findall(r"[a-z]+|\d[\d.]*", low)
    for one in found(words):
        around = " ".join(words[max(0, one.start - 6) : one.start])
        if words[max(0, one.start - 1) : one.start] == ["by"] and (how := _BY.search(around)):
            down = how["how"] in _LESS
            return f"{before - float(one.value) if down else before + float(one.value):g}"
    return ""


def nearly(right: str, text: str) -> list[re.Match[str]]:
    """Words of the text that are this one, spelt wrongly; not another form of it."""
    low = right.lower()
    close = (
        (SequenceMatcher(None, low, one[0].lower()).ratio(), one)
        for one in re.finditer(r"[A-Za-z]{4,}", text)
        if one[0].lower() != low and stem(one[0]) != stem(low)
    )
    return [one for rate, one in close if rate >= 0.8 and len(low) > 4]


_TOLD = re.compile(
    r"(?i)\b(?:that|the|this)(?: same| last)? (?:name|number|value|figure|version|date|person|"
    r"answer|amount|address|result|guy|woman|man|one)\b|^(?:that|it|this)$"
)
_BESIDE_TOLD = re.compile(r"(?i)[,;]?\s*\b(?:and )?then (?=$|\0)|\s*\b(?:followed by|with) (?=\0)")


def told_before(words: str, value: str) -> str:
    """With what was told before in the place of what only points at it: "that name"."""
    if not _TOLD.search(words):
        return words
    named = _TOLD.sub("\0", words.strip(), count=1)
    return _BESIDE_TOLD.sub(" ", named).replace("\0", value)


_ORDERED = re.compile(
    r"(?i)^\W*(?:(?:and|so|ok|okay|right|please|just|then|now|can you|could you)\W+)*(?:put|stick|"
    r"add|write|jot|pop|chuck|append|insert|record|bung|whack|note|drop|get|save)\b.*?\b(?:in|into|"
    r"to|on|onto|under|at|inside)\b.*"
)
_LINE_ONLY = re.compile(
    r"(?i)\W*(?:(?:just|only|as|it's|with|a|one|new|single|the|simple|short)\s+)*"
    r"(?:line|note|entry|bullet|item|sentence|word)s?\W*"
)


def dictated_part(words: str, said: str = "") -> str:
    """What is to be written, where the order to write it was copied with it, or even instead of it:
    "put it in my notes, just a line, call Ada"."""
    at = said.find(words) if _ORDERED.match(words) else -1
    words = said[at:] if at >= 0 else words
    parts = re.split(r"\s*[,;:.]\s+", words.strip())
    if len(parts) < _TWO or not _ORDERED.match(parts[0]):
        return words
    rest = [part for part in parts[1:] if not _LINE_ONLY.fullmatch(part)]
    return ", ".join(rest) or words


_PUNCTUATION = (
    (r"\s*,?\s+(?:colon)\b,?", ":"),
    (r"\s*,?\s+comma\b", ","),
    (r"\s*,?\s+(?:full stop|period)\W*$", "."),
    (r"\s*,?\s+question mark\W*$", "?"),
    (r"\s*,?\s+exclamation mark\W*$", "!"),
    (r"\s*,?\s+(?:dash|hyphen)\s+", " - "),
)


def punctuated(text: str) -> str:
    """Marks that were said are written: "on call colon Ada" is "on call: Ada"."""
    for said, mark in _PUNCTUATION:
        text = re.sub(rf"(?i){said}", mark, text)
    return text


_IS = r"(?:is|was|isn't|sounds|looks|should|needs|has|ought|could)"
_SUBJECT = re.compile(
    rf"(?:^|[.!?;]\s+)(?:(?:so|right|ok|okay|hey|well|listen|now|um|"
    rf"uh),?\s+)*(?P<who>[^.!?;,]+?)\s+{_IS}\b",
    re.IGNORECASE,
)
_POINTS = re.compile(r"(?:it|that|this|that one|this one|them)(?: one)?", re.IGNORECASE)


def pointed(words: str, said: str) -> str:
    """What "it" is, where a sentence before says: "get rows is a poor name, rename it"."""
    if not _POINTS.fullmatch(words.strip().strip(_END)):
        return words
    subject = _SUBJECT.search(said)
    return subject["who"] if subject and not _POINTS.fullmatch(subject["who"]) else words


_STAYS = re.compile(
    r"(?i)^\W*(?:(?:and|but|just|please|only|so)\W+)*(?:leave|keep|(?:don't|do not|without|not) "
    r"(?:touch|chang|alter|mov)\w*)\b|\b(?:stays?|remains?|can stay|should stay)\b"
)
_CLAUSE = re.compile(r"[,.;:!?]\s+|\s+(?:and|but)\s+")


def left_as_it_is(words: str, said: str) -> bool:
    """Whether a thing is named only to say that it stays: "leave the jump speed where it is"."""
    name = words.casefold().strip().strip(_END)
    named = [clause for clause in _CLAUSE.split(said) if name and name in clause.casefold()]
    return bool(named) and all(_STAYS.search(clause) for clause in named)


_KIND_BEFORE = re.compile(
    r"(?i)^(?:(?:the|a|an|my|our|your|that|this|old|function|method|class|key|keys|field|column|"
    r"constant|variable|setting|option|parameter|property|name|called|named|of)\s+)+(?=\S)"
)
_SPELT_WITH = re.compile(
    r"(?i)[\s,]*\b(?:with )?(?:an?|one|the)? ?(?:underscores?|dash(?:es)?|hyphens?)"
    r"(?: in (?:it|between|the middle))?\W*$"
)


def name_said(text: str) -> str:
    """A name in code as it was said, without what only says of which kind it is: "the key user
    name" is "user name", and "do stuff" is all of itself."""
    if quoted := _QUOTED.search(text):
        return quoted[1].strip()
    plain = _SPELT_WITH.sub("", _UNDERSCORE.sub("_", dictated(text))).strip(" .,;:!?'\"")
    rest = _KIND_BEFORE.sub("", plain)
    return rest if rest not in _AROUND or plain == rest else plain


def whole(words: str, said: str) -> str:
    """The whole name, of which these words are only the end or the beginning: "get rows is a poor
    name, rename it", where only "rows" was copied."""
    subject = _SUBJECT.search(said)
    if subject is None:
        return words
    named, part = pieces(bare(subject["who"])), pieces(name_said(words))
    ends = part and part in (named[: len(part)], named[-len(part) :])
    return bare(subject["who"]) if ends and len(part) < len(named) <= 4 else words


_AMENDS = re.compile(
    r"(?i)[\s,.;:…-]+(?:(?:no|oh,? (?=no|wait|sorry|actually|hang|hold)|wait|sorry|hang on|"
    r"hold on|actually|rather|i mean|i meant|"
    r"scratch that|make that|make it|let's say|correction|well)\b[\s,.;:…-]*)+(?P<now>[^,.;!?]+)"
)
_ALIKE = re.compile(r"(?i)\w[\w-]*(?:\.| dot )\w+")


def amended(words: str, said: str) -> str:
    """What is meant by words of which the speaker took back a part in the same breath, for
    something of the same kind: "8000, no, sorry, 9000", "app.py, I mean util.py"."""
    change = _AMENDS.search(words)
    if change is not None:
        words = words[: change.start()]
    elif (at := said.casefold().find(words.casefold().strip())) >= 0 and words.strip():
        change = _AMENDS.search(said, at + len(words.strip()))
    if change is None:
        return words
    now = change["now"].strip()
    figure = _number_in(now)
    if figure and (before := _number_in(words)):
        return words.replace(before, figure)
    files = _ALIKE.search(now)
    if files and (same := _ALIKE.search(words)):
        return words.replace(same[0], files[0])
    return words


_SUMS = re.compile(
    r"(?i)\b(?:plus|minus|times|divide\w*|multipl\w+|percent|add\w*|subtract\w*|sum|total|"
    r"split|share|"
    r"each|half|third|quarter|squared?|root|altogether|per|over|off|take away)\b|[-+*/%]"
)


def sounds_like_sum(text: str) -> bool:
    """Numbers, and something that is done with them."""
    return how_many_numbers(text) > 1 and _SUMS.search(text) is not None


def asks_for_sum(text: str) -> bool:
    """A sum and nothing else of numbers; "3/4" may be a day."""
    return bool(expression(re.sub(r"\b\d{1,2}/\d{1,2}\b", "", text)))


def how_many_numbers(text: str) -> int:
    words = re.findall(r"[a-z]+|\d[\d.]*", text.lower())
    return sum(not one.ordinal for one in found(words))


def _number_in(text: str) -> str:
    """The one number that is said there, in its words."""
    words = text.split()
    plain = [re.sub(r"[^\w.%-]|[.,]$", "", word).lower() for word in words]
    there = [one for one in found(plain) if not one.ordinal]
    return " ".join(words[there[0].start : there[0].end]).strip(_END) if len(there) == 1 else ""


_NTH = re.compile(
    r"(?i)\b(?:the|that) (?:(?P<other>other)|(?P<nth>first|second|third|fourth|fifth|last))"
    r"(?: (?:one|file|result|hit|match|place|of (?:them|those|these)))+\b"
)
_THAT_FILE = re.compile(
    r"(?i)\b(?:in|into|to|of|from|inside|on|at) (?:that|this|the same|same)"
    r" (?:file|script|module|document|list|one)\b|\b(?:in|into|inside|from) (?:there|it)\b"
)


_LINES_OF_IT = re.compile(
    r"(?i)(?:the )?(?:very )?(?:first|last|top|bottom|next)(?: \w+)? (?:lines?|bit|part|entry|item|"
    r"sentence|paragraph)(?: of (?:it|that))?|lines? (?:number )?\w+"
)


def only_names(words: str, path: str) -> bool:
    """Nothing but the file itself, or the functions in it."""
    own = {stem(part) for part in pieces(path)} | {"function", "method", "clas", "class"}
    said = {stem(word) for word in pieces(words) if word not in _SMALL and word not in _FILE_WORDS}
    return bool(path) and said <= own


def part_of_it(words: str) -> bool:
    """ "The last line": of the file that was spoken of, and no name of one."""
    return _LINES_OF_IT.fullmatch(words.strip().strip(_END)) is not None


def points_at_one(said: str) -> bool:
    """ "The second one": nothing by that name."""
    return _NTH.search(said) is not None


def pointed_file(said: str, listed: Sequence[str], last: str) -> str:
    """A file by its place among those that were told, or as the one that was spoken of."""
    if nth := _NTH.search(said):
        if nth["other"]:
            others = [one for one in listed if one != last]
            return others[0] if len(others) == 1 else ""
        places = answers.chosen(listed, nth["nth"])
        return listed[places[0]] if len(places) == 1 else ""
    return last if _THAT_FILE.search(said) else ""


_HANDED = re.compile(
    r"(?i)(?:\b(?P<plain>with|for|on|using|passing|pass(?: it| in)?|giv(?:e|ing) it|"
    r"feed(?:ing)? it|against|"
    r"and|to)\s+)?(?:(?:it|the|an?)\s+)*"
    r"(?P<kind>(?:command line )?(?:numbers?|arguments?|args?|parameters?|params?|names?|"
    r"words?|values?|flags?|"
    r"options?|inputs?)\s+)?(?:(?:of|being|set to)\s+)?(?P<words>.+)"
)
_THEN = re.compile(
    r"(?i)\s*(?:[,;!?]|\.(?=\s|$)|\b(?:and|then|so|to) (?:then )?(?:see|tell|show|let|read|"
    r"what|check|give|"
    r"report|find|say|look|that|i|we|you|run|do)\b|\b(?:please|for me|will you|would you|"
    r"thanks|again|now|"
    r"as (?:the|an?|its)|would ya|if you)\b)"
)


def handed_to(path: str, said: str) -> tuple[str, ...]:
    """What a script is to be given, behind its name: "fib dot py with the number ten"."""
    text = re.sub(r"(?i)\b(?:dash|minus) (?:dash|minus) (?=\w)", "--", said)
    text = dictated(re.sub(r"(?i)(?<= )(?:dash|minus) (?=\w\b)", "-", text))
    pure = PurePosixPath(path)
    spoken = r"[\W_]*".join(map(re.escape, pieces(pure.stem))) or re.escape(pure.stem)
    named = re.search(
        rf"(?i){spoken}(?:\W?{re.escape(pure.suffix[1:])}\b)?(?: (?:script|file))?", text
    )
    rest = text[named.end() :].strip() if named else ""
    rest = re.sub(r"^(?:(?:script|file|off|up|again|once|quickly)\b[,\s]*)+", "", rest)
    rest = _THEN.split(rest, maxsplit=1)[0].strip()
    told = _HANDED.fullmatch(rest) if rest else None
    alone = re.fullmatch(r"-.*|\d+", rest)
    if told is None or not (told["plain"] or told["kind"] or alone):
        return ()
    words = re.sub(r"(?i)\s+(?:environment|env|server|cluster|flag|option)$", "", told["words"])
    words = words.strip(_END + " ")
    parts = [one for one in re.split(r"(?i)\s*,\s*|\s+and\s+", words) if one]
    values: list[str] = []
    for part in parts:
        figures = [one for one in found(part.lower().split()) if not one.ordinal]
        count = sum(one.end - one.start for one in figures)
        if figures and count == len(part.split()):
            values += [f"{one.value}" for one in figures]
        elif told["kind"] or part.startswith("-") or len(part.split()) == 1:
            values += part.split()
        else:
            return ()
    plain = (told["plain"] or "").lower()
    vague = plain in ("and", "to") and not told["kind"]
    noise = any(one.lower() in _SMALL | _NOT_HANDED for one in values)
    return () if vague or noise else tuple(values[:_MOST])


_NOT_HANDED = _set(
    "me python bash node shell it them no none nothing everything real fun sure once twice again "
    "minute second bit moment fresh luck care first"
)


# --- To write it


_LEADING = re.compile(
    r"^(?:(?:just|simply|be|to|say|exactly|about|up|down|at|now)\s+)+", re.IGNORECASE
)


def literal(text: str) -> str:
    """A value as it is written: "sixty" is 60, "info" is info, "true" is true."""
    if quoted := _QUOTED.fullmatch(text.strip().strip(".!?")):
        return quoted[1]
    said = text.strip().strip(_END + "'\"")
    said = _LEADING.sub("", said)
    if twice := _said_twice(said):
        return twice
    if version := _dotted(said):
        return version
    said = _NOUGHT.sub("zero", said)
    try:
        return f"{number(said)}"
    except ValueError:
        pass
    words = said.split()
    if len(words) > 1 and words[-1].lower() in _UNITS:
        try:
            return f"{number(' '.join(words[:-1]))}"
        except ValueError:
            pass
    digits = [CARDINALS.get("zero" if w.lower() == "oh" else w.lower()) for w in words]
    if len(digits) > 1 and all(d is not None and d < 10 for d in digits):
        return "".join(map(str, digits))  # "eight oh eight one"
    if pair := _by_twos(words):
        return pair
    if (
        len(words) <= 2
        and words
        and words[0].lower() in ("true", "false", "on", "off", "yes", "no")
    ):
        return words[0].lower()
    return _again(words) or dictated(said)


_MOST_SAID = 10
"""Words of a number that is said twice."""
_NOUGHT = re.compile(r"(?i)\b(?:nought|naught)\b")
_POINT = re.compile(r"(?i)\s+(?:point|dot)\s+|(?<=\d)\.(?=\d)")
_FIGURES = frozenset(CARDINALS) | _set(
    "hundred thousand million point dot oh nought naught minus and double triple"
)
"""Words that numbers are said with."""


def figures_only(text: str) -> bool:
    """Whether it is said as a number, or as a piece of one, and as nothing else."""
    words = re.findall(r"[a-z]+|\d[\d.]*", text.lower().strip(_END))
    return bool(words) and all(word[0].isdigit() or word in _FIGURES for word in words)


def _said_twice(said: str) -> str:
    """ "Eighty four forty three, eight four four three": the same, said in two ways."""
    parts = [part.strip() for part in re.split(r"[,;]|\bthat is\b", said) if part.strip()]
    if len(parts) < _TWO or not all(map(figures_only, parts)):
        return ""
    values = {literal(part) for part in parts}
    value = values.pop()
    return value if not values and re.fullmatch(r"-?[\d.]+", value) else ""


def _again(words: Sequence[str]) -> str:
    """The same, where no pause between the two was written down."""
    if not _TWO < len(words) <= _MOST_SAID or not figures_only(" ".join(words)):
        return ""
    for at in range(1, len(words)):
        first = literal(" ".join(words[:at]))
        if re.fullmatch(r"\d{2,}", first) and first == literal(" ".join(words[at:])):
            return first
    return ""


def _dotted(said: str) -> str:
    """ "One point oh point oh" is 1.0.0, as versions and addresses are said."""
    parts = _POINT.split(_NOUGHT.sub("zero", said))
    if len(parts) <= _TWO:
        return ""
    made = [re.sub(r"(?i)^(?:version|v)\s*", "", part) for part in parts[:1]] + parts[1:]
    values = [literal(re.sub(r"(?i)\boh\b", "zero", part)) for part in made]
    return ".".join(values) if all(one.isdigit() for one in values) else ""


def whole_figure(words: str, said: str) -> str:
    """A number of which only a piece was copied, with all the words that it was said with: "one
    point" of "one point oh point oh"."""
    there = list(re.finditer(r"[\w.]*\w", said))
    plain = [one[0].lower() for one in there]
    own = [one.lower() for one in re.findall(r"[\w.]*\w", words)]
    at = next((i for i in range(len(plain)) if own and plain[i : i + len(own)] == own), None)
    if at is None or not (own[-1] in _FIGURES or own[-1][0].isdigit()) or not figures_only(words):
        return words
    first, last = at, at + len(own) - 1

    def goes_on(left: int, right: int) -> bool:
        both = left >= 0 and right < len(there)
        return both and not said[there[left].end() : there[right].start()].strip()

    while goes_on(last, last + 1) and figures_only(plain[last + 1]):
        last += 1
    while goes_on(first - 1, first) and figures_only(plain[first - 1]):
        first -= 1
    while last >= at + len(own) and plain[last] in ("and", "point", "dot"):
        last -= 1
    while first < at and plain[first] in ("and", "point", "dot"):
        first += 1
    return said[there[first].start() : there[last].end()]


def _by_twos(words: Sequence[str]) -> str:
    """ "Eighty eighty" and "fifty four thirty two", as ports and years are said."""
    plain = [part for word in words for part in word.lower().split("-")]
    there = [one for one in found(plain, fractions=False) if not one.ordinal]
    whole = sum(one.end - one.start for one in there) == len(plain)
    if len(there) != _TWO or not whole:
        return ""
    first, last = (int(one.value) for one in there)
    fits = all(_TENS <= value < _HUNDRED for value in (first, last))
    return f"{first}{last}" if fits else ""


_TWO, _TENS, _HUNDRED = 2, 10, 100
_LONG = {"minute": 60, "minutes": 60, "hour": 3600, "hours": 3600}


def in_seconds(text: str, name: str) -> str:
    """A time for a setting that has no unit of its own in its name is in seconds: "a minute"."""
    words = text.lower().strip(_END).split()
    own = set(map(stem, pieces(name))) & {
        "min",
        "minute",
        "minut",
        "mins",
        "hour",
        "hours",
        "h",
        "m",
    }
    if own or len(words) < 2 or words[-1] not in _LONG:
        return ""
    try:
        many = 1 if words[-2] in ("a", "an", "one") else number(" ".join(words[:-1]))
    except ValueError:
        return ""
    return f"{float(many) * _LONG[words[-1]]:g}"


_UNITS = _set(
    "second seconds minute minutes hour hours day days ms milliseconds times percent retries "
    "attempts items rows lines pixels bytes megabytes please instead now workers threads"
)

_SIGNS = (
    (r"\bmultiplied by\b|\btimes\b|(?<=\d)\s*x\s*(?=\d)|×", "*"),
    (r"\bdivided by\b|\bover\b|÷", "/"),
    (r"\bplus\b|\badded to\b", "+"),
    (r"\bminus\b|\bless\b|\btake away\b", "-"),
    (r"\bto the power of\b|\braised to\b", "^"),
    (r"\bsquared\b", "^ 2"),
    (r"\bcubed\b", "^ 3"),
    (r"\bmod(?:ulo)?\b", "%"),
)
_TERM = r"(?:sqrt)?\(?-?\d[\d.]*(?: - \d[\d.]* / \d+)?\)?"
_SUM = re.compile(rf"{_TERM}(?:\s*[-+*/^%]\s*{_TERM})*")
_BRACKETS = re.compile(
    r"(?=[^a-z]*\()[\d(][\d\s.+*/^%()-]*[-+*/^%][\d\s.+*/^%()-]*[\d)]", re.IGNORECASE
)
_EACH = re.compile(
    r"(\b\d[\d.]*)(?: [a-z]+){0,3}? (?:at|for) (?=\d[\d.]*(?: [a-z]+)?? (?:each|apiece|a piece|"
    r"an? [a-z]+|per [a-z]+|hours|days|weeks|months|years|nights|times|people)\b)"
)
"""A number of something that costs so much: "forty hours at sixty an hour"."""
_SHARED = r"\b(?:split|divide|share|spread|cut)\b(.*?)\b(?:between|among|by|into|across)\b"
_MONEY = re.compile(
    r"\b(\d+) (?:pounds?|dollars?|euros?|quid|bucks)(?: and)? (\d\d)\b", re.IGNORECASE
)


_FOR_ONE = (
    r"(?:each|apiece|every one|an? (?:head|piece|pop|go|time|person|day|night|week|month|hour|box|"
    r"pack|bag|ticket|seat|unit|copy|bottle|plate|shot)|per [a-z]+)\b"
)
_DEALT_OUT = re.compile(
    r"\b(?:give|giving|hand|deal|share|split|divide|spread|can i (?:buy|get|afford)|afford|left|"
    r"more|fewer|less|between|among)\b"
)


def _so_many(said: str) -> str:
    """ "Each is 384 megs and we keep 12", "fourteen of us, 37.50 a head": so much, so many times.
    What is dealt out is another sum."""
    numbers = re.findall(r"\d[\d.]*", said)
    rated = re.search(rf"\b{_FOR_ONE}|\bin (?:each|every)\b", said)
    if len(numbers) != _TWO or rated is None or _DEALT_OUT.search(said):
        return ""
    return f"{numbers[0]} * {numbers[1]}"


def expression(text: str) -> str:
    """The sum that is said; empty where it is none, or where a number would be left over."""
    if units := conversion(text):
        return units
    if written := _BRACKETS.search(text.replace("×", "*").replace("÷", "/").replace(",", "")):
        return written[0].strip()
    text = _MONEY.sub(r"\1.\2", text)
    words = re.findall(
        r"[a-z]+|\d[\d,]*(?:\.\d+)?%?|[-+*/^()×÷%]", text.lower().replace("-", " - ")
    )
    words = _rejoined(words)
    percent = [i for i, w in enumerate(words) if w == "percent" or (w.endswith("%") and len(w) > 1)]
    words = [part for w in words for part in ([w[:-1], "percent"] if w[1:].endswith("%") else [w])]
    done: list[str] = []
    at = 0
    for one in found(words, fractions=True):
        if not one.ordinal:
            done += [*words[at : one.start], f"{one.value}"]
            at = one.end
    said = " ".join([*done, *words[at:]])
    said = re.sub(r"\b(?:the )?square root of (\d[\d.]*)", r"sqrt(\1)", said)
    said = re.sub(r"\b(?:a )?half of (?=\d)", "0.5 * ", said)
    said = re.sub(r"\ba quarter of (?=\d)", "0.25 * ", said)
    said = re.sub(r"\b(?:a )?third of (?=\d)", "1 / 3 * ", said)
    if percent:
        said = re.sub(r"(\d[\d.]*) percent (?:of|off) (?:\w+ )??(\d[\d.]*)", _percent, said)
        said = re.sub(r"(\d[\d.]*) (?:plus|and|with) (\d[\d.]*) percent.*", _more, said)
        said = re.sub(r"(\d[\d.]*) (?:minus|less) (\d[\d.]*) percent.*", _less, said)
    said = re.sub(rf"\b(\d{{1,3}}) (\d\d)(?= {_FOR_ONE})", r"\1.\2", said)
    if steps := _stepwise(said):
        return steps
    said = _EACH.sub(r"\1 times ", said)
    said = re.sub(
        r"\b(?:split|divide|share|spread|cut)\b(.*?)\b(?:between|among|by|into|across)\b",
        r"\1 over",
        said,
    )
    for sign, mark in _SIGNS:
        said = re.sub(sign, mark, said)
    said = re.sub(r"(?<=\d) (?:[a-z]+ ){1,2}(?=[-+*/^%] \d)", " ", said)  # gigs, people, hours
    sums = [one[0].strip() for one in _SUM.finditer(said)]
    only = max(sums, key=len, default="")
    only += _for_longer(text) if only else ""
    if re.search(r"\d\s*[-+*/^%]|sqrt", only) and len(sums) == 1:
        return only
    return _so_many(said)


_STEP = re.compile(
    r"\b(?:(?P<over>divid(?:e|ed|ing)(?: (?:it|that|this))?(?: up)? by)|"
    r"(?P<times>(?:multipl(?:y|ied|ying)(?: (?:it|that|this))? by|"
    r"times(?: (?:it|that))? by|times))|"
    r"(?P<less>(?:knock|take|taking|subtract|deduct|minus|lose|drop|remove)(?: (?:it|that))?"
    r"(?: off| away| from (?:it|that))?)|"
    r"(?P<plus>(?:add|adding|plus|stick|put|chuck|tack)(?: (?:it|that))?(?: on)?))"
    r" (?:another |an extra |a further )?(?P<by>\d[\d.]*)(?P<share> percent)?"
)
_BETWEEN = re.compile(
    r"(?: |,|\b(?:and|then|after|that|finally|next|also|so|off|on|it|from|to|away|again|you|i|we|"
    r"if)\b)*"
)


def _stepwise(said: str) -> str:
    """ "Take 144 and divide by 9, then knock off 5": one thing after the other. Every number must
    be one of them."""
    first = re.search(r"\d[\d.]*", said)
    if first is None:
        return ""
    made, at, orders = first[0], first.end(), 0
    for step in _STEP.finditer(said, first.end()):
        if not _BETWEEN.fullmatch(said[at : step.start()].strip()):
            return ""
        kind, by = step.lastgroup, step["by"]
        kind = next(name for name in ("over", "times", "less", "plus") if step[name])
        orders += not re.fullmatch(r"times|minus|plus|divided by|multiplied by", step[kind])
        if step["share"] and kind in ("less", "plus"):
            made = f"({made}) * (1 {'-' if kind == 'less' else '+'} {by} / 100)"
        else:
            made = f"({made}) {_MARKS[kind]} {by}"
        at = step.end()
    alone = len(re.findall(r"\d[\d.]*", said)) == 1 + len([*_STEP.finditer(said, first.end())])
    return made.replace(f"({first[0]})", first[0], 1) if orders and alone else ""


_MARKS = {"over": "/", "times": "*", "less": "-", "plus": "+"}
_GOES_ON = re.compile(
    r"(?i)^\W*(?:(?:and|now|then|so|ok|okay|what's|what is|what about|how about)\W+)*"
    r"(?=(?:plus|minus|times|divided|multiplied|over|take away|less|squared|cubed)\b)"
)
_RESULT = re.compile(
    r"(?i)\b(?:that|it|this|the (?:result|answer|number|total|sum)|what (?:you|we) (?:got|had))\b"
    r"(?! many\b)"
)
_TOTAL = re.compile(
    r"(?i)\b(?:total|altogether|all together|in all|sum of (?:those|these|them|both)|combined|"
    r"add (?:them|those|these|both)(?: all)?(?: up| together)?|"
    r"added (?:up|together)|(?:those|both|these) (?:two )?together)\b"
)


_RATED = re.compile(
    r"(?i)^\W*(?:(?:and|so|ok(?:ay)?|right|now)\W+)*(?:at|for) (?P<rate>[\w.,-]+(?: [\w.-]+){0,4}?)"
    r"(?: (?:euros?|pounds?|dollars?|quid|bucks|cents?))? (?:an?|per|each|every) \w+\b"
)
"""What comes out, at so much each: "and at sixty an hour, what do I bill them?"."""


def continued(text: str, before: Sequence[str]) -> str:
    """The sum that goes on from what came out before: "and that times two", "the total"."""
    if not before:
        return ""
    if _TOTAL.search(text) and len(before) > 1 and not re.search(r"\d", text):
        pair = re.search(r"(?i)\b(?:two|both)\b", text) is not None
        return " + ".join(before[-2:] if pair else before)
    if _GOES_ON.search(text):
        return expression(f"{before[-1]} {_GOES_ON.sub('', text)}")
    if m := _RATED.search(text):
        return expression(f"{before[-1]} times {m['rate']}")
    if m := re.search(
        r"(?i)\b(?:add|take|subtract) (?P<what>.+?) (?:to|off|from|away from) ", text
    ):
        sign = "plus" if re.search(r"(?i)\badd\b", text) else "minus"
        if _RESULT.search(text, m.end() - 1):
            return expression(f"{before[-1]} {sign} {m['what']}")
    if _RESULT.search(text):
        said = re.sub(
            r"(?i)\bdivide (.+?) by\b", r"\1 divided by", _RESULT.sub(before[-1], text, 1)
        )
        return expression(re.sub(r"(?i)\bmultiply (.+?) by\b", r"\1 times", said))
    return ""


_IN = {
    ("month", "year"): 12, ("week", "year"): 52, ("day", "year"): 365, ("day", "week"): 7,
    ("hour", "day"): 24, ("minute", "hour"): 60, ("second", "minute"): 60,
}  # fmt: skip
_RATE = re.compile(
    r"(?i)\b(?:an?|per|each|every) (?P<rate>second|minute|hour|day|week|month)\b.*"
    r"\b(?:over|in|for|per|a|an|each|whole|one|the) (?P<span>minute|hour|day|week|year)\b"
)


def _for_longer(text: str) -> str:
    """ "Thirty eight a month, what's that over a year"."""
    asked = _RATE.search(text)
    times = _IN.get((asked["rate"].lower(), asked["span"].lower())) if asked else None
    return f" * {times}" if times else ""


def _rejoined(words: list[str]) -> list[str]:
    """ "forty-two" came apart at its hyphen; a sign between figures did not."""
    kept: list[str] = []
    for at, word in enumerate(words):
        ahead = words[at + 1] if at + 1 < len(words) else ""
        if word == "-" and kept and kept[-1].isalpha() and ahead.isalpha():
            continue
        kept.append(word.replace(",", "") if word[:1].isdigit() else word)
    return kept


def _percent(given: re.Match[str]) -> str:
    off = " off " in given[0]
    return f"{given[2]} * {f'(1 - {given[1]} / 100)' if off else f'{given[1]} / 100'}"


def _more(given: re.Match[str]) -> str:
    return f"{given[1]} + {given[1]} * {given[2]} / 100"


def _less(given: re.Match[str]) -> str:
    return f"{given[1]} - {given[1]} * {given[2]} / 100"


# --- To find the file

KINDS = {
    "python": "py",
    "javascript": "js",
    "java script": "js",
    "typescript": "ts",
    "type script": "ts",
    "markdown": "md",
    "mark down": "md",
    "yaml": "{yaml,yml}",
    "yml": "{yaml,yml}",
    "json": "json",
    "toml": "toml",
    "text": "txt",
    "html": "html",
    "css": "css",
    "shell": "sh",
    "bash": "sh",
    "rust": "rs",
    "go": "go",
    "ruby": "rb",
    "java": "java",
    "sql": "sql",
    "csv": "csv",
    "log": "log",
    "image": "{png,jpg,jpeg,gif,svg,webp}",
    "picture": "{png,jpg,jpeg,gif,svg,webp}",
    "doc": "{md,rst,txt}",
    "documentation": "{md,rst,txt}",
}
"""Kinds of files by name, with the endings they have."""
_LIKE = {"config": "settings", "configuration": "config", "settings": "config", "doc": "docs"}
_LIKE |= dict.fromkeys(("job", "jobs", "chore", "chores", "task", "tasks", "todos"), "todo")
_LIKE |= {
    "english": "en", "german": "de", "french": "fr", "spanish": "es", "italian": "it",
    "portuguese": "pt", "dutch": "nl", "polish": "pl", "czech": "cs", "danish": "da",
    "swedish": "sv", "norwegian": "no", "finnish": "fi", "estonian": "et", "latvian": "lv",
    "lithuanian": "lt", "greek": "el", "turkish": "tr", "russian": "ru", "ukrainian": "uk",
    "hungarian": "hu", "romanian": "ro", "welsh": "cy", "irish": "ga", "japanese": "ja",
    "chinese": "zh", "korean": "ko", "arabic": "ar", "hebrew": "he", "hindi": "hi",
    "production": "prod", "development": "dev",
}  # fmt: skip
_TESTS = re.compile(r"\b(?:unit )?tests?\b|\bspecs?\b", re.IGNORECASE)


def globs(text: str) -> tuple[str, ...]:
    """Patterns for the files that are asked for, the likeliest first."""
    said = dictated(text).strip().strip(_END)
    if "*" in said:
        return (said if "/" in said else f"**/{said}",)
    if written := re.search(r"[\w./-]*\w\.\w+\b", said):
        return (f"**/{written[0].lstrip('/')}", f"**/*{PurePosixPath(written[0]).stem}*")
    low = " ".join(pieces(said))
    kinds = [(one.start(), kind) for kind in KINDS if (one := re.search(rf"\b{kind}s?\b", low))]
    named = {part for _, kind in kinds for part in kind.split()}
    if kinds and not [word for word in telling(low) if word.removesuffix("s") not in named]:
        return (f"**/*.{KINDS[min(kinds)[1]]}",)
    if ended := re.search(r"\bdot (\w+)\b|\B\.(\w+)\b", said):
        end = ended[1] or ended[2]
        return (f"**/*.{ending_of(end) or end}",)
    if _TESTS.search(low) and not set(telling(low)) - {"test", "tests", "spec", "specs", "unit"}:
        return ("**/{test_*,*_test.*,*.test.*,*.spec.*}", "**/*test*")
    known = telling(said)
    if not known or everywhere(said):
        return ("**/*",)
    joined, starred = "".join(known), "*".join(stem(word) for word in known)
    return tuple(dict.fromkeys((f"**/*{joined}*", f"**/*{starred}*", f"**/*{starred}*/**")))


def kind_of_files(text: str) -> str:
    """The ending that files of the kind have that is named: "the python files"."""
    low = " ".join(pieces(text))
    kinds = [
        (one.start(), kind)
        for kind in KINDS
        if (
            one := re.search(
                rf"\b{kind}s? (?:source |code )?(?:files?|scripts?|modules?|code|ones?)\b", low
            )
        )
    ]
    return KINDS[min(kinds)[1]] if kinds else ""


class Choice(Value):
    """Names that fit, the best first; several where none of them is clearly meant."""

    fits: tuple[str, ...]

    @property
    def only(self) -> str | None:
        return self.fits[0] if len(self.fits) == 1 else None


_CLEAR, _ENOUGH, _MOST = 0.12, 0.62, 4


def chosen(text: str, files: Iterable[str], *, folders: bool = False) -> Choice:
    """Which of the files (or the folders they lie in) is meant by these words?"""
    said = joined(text).strip().strip(_END)
    there = list(dict.fromkeys(files))
    if folders:
        above = (str(one) for f in there for one in PurePosixPath(f).parents if str(one) != ".")
        there = [*there, *(f"{one}/" for one in dict.fromkeys(above))]
    if exact := _exactly(said, there):
        return Choice(tuple(exact[:_MOST]))
    if inside := _inside(said, there):
        return inside
    whole = "".join(one for one in pieces(said) if one not in _SMALL and one != "file")
    if run := [one for one in there if whole and whole == "".join(_named(one)[0])]:
        return Choice(tuple(run[:_MOST]))
    spoken = _spoken(said)
    if not spoken:
        return Choice(())
    wants_folder = re.search(r"\b(?:folder|directory|dir)\b", said, re.IGNORECASE) is not None
    rated = [(_likeness(spoken, one, wants_folder), one) for one in there]
    best = max((rate for rate, _ in rated), default=0.0)
    plain = [word for word in spoken if word not in _VAGUE]
    if best < _ENOUGH and plain and len(plain) < len(spoken):
        again = chosen(" ".join(plain), there)
        if again.fits:
            return again
    if best < _ENOUGH and _WHOLE_NAME.search(said):
        return Choice(())  # said with its ending: another file of that kind is not meant
    if best < _ENOUGH:
        # "the standup notes" may well be the notes.
        headed = [one for one in there if _heads(spoken[-1], one)] if len(spoken) > 1 else []
        return Choice(tuple((headed or _of_kind(spoken, there))[:_MOST]))
    fits = sorted((one for one in rated if one[0] > best - _CLEAR), key=lambda one: -one[0])
    return Choice(tuple(name for _, name in fits[:_MOST]))


_SEVERAL = re.compile(
    r"(?i)^\W*(?:(?:all|both|each|every|the|my|our|those|these|of|other)\s+)*?"
    r"(?P<many>both|all|every|each|two|three|four|five|six|seven|eight|nine|ten|\d+)\b"
    r"(?:\s+(?:of|the|my|our|those|these))*\s*(?P<rest>.*)$"
)
_NOT_NAMED = _set("from of in with old new left last")


def several(text: str, files: Iterable[str]) -> tuple[str, ...]:
    """The files that are meant as a number of them ("the two from March", "all the png files"):
    those that have every word of it. None where they are not as many as was said."""
    told = _SEVERAL.match(joined(text).strip())
    if told is None:
        return ()
    words = [one for one in _spoken(joined_figures(told["rest"])) if one not in _NOT_NAMED]
    ends = {word: set(re.findall(r"\w+", KINDS.get(word.removesuffix("s"), ""))) for word in words}
    ends = {
        w: own | ({ending_of(w) or ""} - {""}) | {w.removesuffix("s")} for w, own in ends.items()
    }
    fits = [
        one
        for one in dict.fromkeys(files)
        if words
        and all(
            PurePosixPath(one).suffix[1:].lower() in ends[word]
            or any(_same(word, part) > _SAME for part in pieces(one))
            for word in words
        )
    ]
    many = {"both": 2}.get(told["many"].lower()) or CARDINALS.get(told["many"].lower(), 0)
    many = int(told["many"]) if told["many"].isdigit() else many
    return tuple(sorted(fits)) if len(fits) > 1 and many in (0, len(fits)) else ()


_THERE = re.compile(
    r"(?i)\W*(?:in|into|to|inside)?\s*(?:there|it|that|that (?:folder|one|directory)|"
    r"the (?:new )?(?:folder|one|directory))\W*"
)


def points_there(text: str) -> bool:
    """Is that only a folder that was spoken of?"""
    return _THERE.fullmatch(text) is not None


def names_it(text: str, path: str) -> bool:
    """Whether any of the words that tell a file apart is in its path: what is deleted was named."""
    words = [
        one
        for one in _spoken(joined(text))
        if ending_of(one) is None and one not in _VAGUE | _FILE_WORDS and one not in KINDS
    ]
    there = pieces(path)
    return not words or any(_same(one, part) > _SAME for one in words for part in there)


_SAME = 0.7
_WHOLE_NAME = re.compile(r"\w[.]\w{1,5}$")


def _heads(word: str, path: str) -> bool:
    """Whether it is all that a file is called, or a word for that: "the jobs list" is todo.md."""
    (first, *rest), _, _ = _named(path)
    return not rest and (word == first or _LIKE.get(word) == first)


def _of_kind(spoken: Sequence[str], there: Sequence[str]) -> list[str]:
    """ "The log", "the csv", "the build log": files of that kind, with the rest of the name."""
    ends = set(re.findall(r"\w+", KINDS.get(spoken[-1].removesuffix("s"), "")))
    ends |= {ending_of(spoken[-1]) or ""} - {""}
    fits = [one for one in there if _named(one)[2] in ends and not one.endswith("/")]
    rest = {stem(word) for word in spoken[:-1]}
    named = [one for one in fits if rest and rest <= set(map(stem, pieces(one)))]
    return named or (fits if not rest or len(fits) == 1 else [])


_IN_FOLDER = re.compile(
    r"\b(?:in|from|under|inside|of)\s+(?:the\s+|my\s+|our\s+)?(?P<name>[\w./-]+)\s+"
    r"(?:folder|directory|dir)\b",
    re.IGNORECASE,
)


def _inside(said: str, there: Sequence[str]) -> Choice | None:
    """ "The toml in the env folder": what lies in that folder, by its kind or its name."""
    named = _IN_FOLDER.search(said)
    if named is None:
        return None
    folder = [stem(part) for part in pieces(named["name"])]
    within = [
        one
        for one in there
        if folder in [[stem(p) for p in pieces(part)] for part in PurePosixPath(one).parts[:-1]]
    ]
    rest = _spoken((said[: named.start()] + said[named.end() :]).strip())
    if not within or not rest:
        return None
    ends = {ending_of(word) for word in rest} - {None}
    if len(ends) == len(rest):
        fits = [one for one in within if _named(one)[2] in ends]
        return Choice(tuple(fits[:_MOST])) if fits else None
    choice = chosen(" ".join(rest), within)
    return choice if choice.fits else None


def picked(text: str, paths: Sequence[str]) -> Choice:
    """Which of these few was meant by an answer: "the json one", "the one in lib", "the second"?"""
    if not paths:
        return Choice(())
    if len(places := answers.chosen(paths, text)) == 1:
        return Choice((paths[places[0]],))
    spoken = {ending_of(word) or word for word in _spoken(dictated(text))}
    rates = [len(spoken & set(pieces(path))) for path in paths]
    best = max(rates, default=0)
    fits = [path for path, rate in zip(paths, rates, strict=True) if best and rate == best]
    return Choice(tuple(fits)) if len(fits) == 1 else chosen(text, paths)


def _exactly(said: str, there: Sequence[str]) -> list[str]:
    """Written out, with its ending or its folder."""
    for written in re.findall(r"[\w./-]*\w[./]\w[\w./-]*", said):
        low = written.lower().strip("/")
        for fits in (
            [f for f in there if f.lower().rstrip("/") == low],
            [f for f in there if f"/{f.lower()}".rstrip("/").endswith(f"/{low}")],
        ):
            if fits:
                return fits
    return []


_TODO = re.compile(r"\bto[- ]do\b", re.IGNORECASE)


def _spoken(said: str) -> list[str]:
    words = [w for w in pieces(_TODO.sub("todo", said)) if w not in _SMALL]
    if len(words) > 1:
        words = [w for w in words if w not in _FILE_WORDS] or words
    return words


_VAGUE = _set("list table sheet spreadsheet data sheet records info stuff notes note")
"""Said of what is in a file rather than for its name."""
_FILE_WORDS = _set(
    "file files code folder directory dir script module document doc page thing contents content "
    "top bottom first last main's one dot dash hyphen underscore number"
)


def _likeness(spoken: Sequence[str], path: str, wants_folder: bool) -> float:
    """How well the words name it, 0 to 1: all of them should be in it, and little else."""
    stem_parts, above, ending = _named(path)
    folder = path.endswith("/")
    if wants_folder != folder and (wants_folder or folder):
        handicap = 0.3 if wants_folder else 0.06
    else:
        handicap = 0.0
    joined = "".join(spoken)
    if joined in ("".join(stem_parts), "".join(stem_parts) + ending):
        return 1.0 - handicap
    total, used = 0.0, set[str]()
    for word in spoken:
        rates = [(_same(word, part), part) for part in stem_parts]
        rate, part = max(rates, default=(0.0, ""))
        if rate > 0.7:
            used.add(part)
        elsewhere = max((_same(word, part) * 0.6 for part in above), default=0.0)
        as_ending = 0.6 if ending and ending_of(word) == ending else 0.0
        total += max(rate, elsewhere, as_ending)
    covered = total / len(spoken)
    unsaid = len([p for p in stem_parts if p not in used]) / (len(stem_parts) or 1)
    return covered - 0.3 * unsaid - handicap


@lru_cache(maxsize=4096)
def _named(path: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    pure = PurePosixPath(path.rstrip("/"))
    name = pure.name.lstrip(".")
    inner, dot, ending = name.rpartition(".")
    if not dot or path.endswith("/"):
        inner, ending = name, ""
    above = tuple(part for one in pure.parts[:-1] for part in pieces(one))
    return tuple(pieces(inner)) or (inner.lower(),), above, ending.lower()


def _as_figure(word: str) -> str:
    """ "Three" is 003 where files are numbered so."""
    figure = word if word.isdigit() else str(CARDINALS.get(word, ""))
    return figure.lstrip("0")


@lru_cache(maxsize=8192)
def _same(word: str, part: str) -> float:
    if word == part or ((figure := _as_figure(word)) and figure == part.lstrip("0")):
        return 1.0
    if stem(word) == stem(part) or _LIKE.get(word) == part:
        return 0.95 if stem(word) == stem(part) else 0.85
    shorter = min(len(word), len(part))
    if shorter >= 3 and (word.startswith(part) or part.startswith(word)):
        return 0.9 if shorter >= 4 else 0.75
    if shorter >= 4 and (ratio := SequenceMatcher(None, word, part).ratio()) >= 0.75:
        return ratio * 0.9
    return 0.0


def mentioned(said: str, files: Iterable[str], *, anywhere: bool = False) -> Choice:
    """A file that a whole sentence speaks of: by its written name, or by its stem behind a word
    that leads to a place ("in the config"), or, `anywhere`, to a thing ("the config")."""
    text = dictated(said)
    there = list(files)
    if exact := _exactly(text, there):
        return Choice(tuple(exact[:_MOST]))
    found_: dict[str, None] = {}
    for words in _behind(text, _PLACES | _THE if anywhere else _PLACES):
        for size in (3, 2, 1):
            choice = chosen(" ".join(words[:size]), there)
            if len(words) >= size and choice.only and _likely(words[:size], choice.only):
                found_[choice.only] = None
                break
    return Choice(tuple(found_)[:_MOST])


def leads_to_place(said: str) -> bool:
    """Might it name a file, whichever there are?"""
    text = dictated(said)
    return any(_behind(text)) or re.search(r"\w\.\w", text) is not None


_THE = frozenset({"the", "my", "our", "your"})


def _behind(text: str, leading: frozenset[str] = _PLACES) -> Iterator[list[str]]:
    words = [word.strip(_END + "\"'") for word in text.split()]
    for at, word in enumerate(words):
        if word.lower() in leading:
            rest = words[at + 1 : at + 6]
            while rest and rest[0].lower() in ("the", "my", "our", "your", "that", "this"):
                rest = rest[1:]
            if rest and rest[0].lower() not in _SMALL:
                yield rest[:3]


def _likely(words: Sequence[str], path: str) -> bool:
    """A whole stem, not only a piece of one that sounds alike."""
    stem_parts = _named(path)[0]
    said = [w for w in pieces(" ".join(words)) if w not in _FILE_WORDS]
    joined, whole = "".join(said), "".join(stem_parts)
    alike = len(joined) > 3 and stem(joined) == stem(whole)
    return joined == whole or alike or sorted(map(stem, said)) == sorted(map(stem, stem_parts))


_OWN = re.compile(
    r"(?i)\b(?:files?|folder|directory|notes?|docs?|document\w*|readme|read me|config\w*|settings|"
    r"logs?|list|plan|code|project|repo\w*|script|module|here|our|my|we|this|these)\b|\w\.\w"
)


def of_theirs(said: str) -> bool:
    """Whether it speaks of files, code, or something else that is the user's."""
    return _OWN.search(dictated(said)) is not None


_NAME_NOW = re.compile(
    r"(?i)\b(?:(?:is|are)n'?t|(?:is|are) (?:not|no longer)|not|no longer|used to be|stopped being)"
    r" (?:called |named |known as )?(?P<old>[\w-]+(?: [A-Z][\w-]+)*)"
    r"(?: any ?more| any longer| now)?\b.*?\b"
    r"(?:went (?:with|for)|goes by|(?:(?:it|that|he|she|they)(?:'s|'re| is| are)|we're|now|"
    r"is now|are now)"
    r" (?:now )?(?:called |named |known as )?|picked|chose|settled on|decided on|"
    r"renamed (?:it )?(?:to )?|"
    r"rebranded (?:it )?(?:to |as )?|call(?:ed|ing)? it|but) ?(?P<new>[\w-]+(?: [A-Z][\w-]+)*)"
)
_NAME_CHANGED = re.compile(
    r"(?i)\b(?:called|named|renamed?|rebrand\w*|new name|goes by|known as|any ?more|any longer|"
    r"no longer|everywhere|throughout|every|all (?:of )?(?:them|the|occurrences)|wherever|across)\b"
)


def name_now(said: str) -> tuple[str, str]:
    """What is called otherwise now, where somebody tells it as news: the old name and the new."""
    told = _NAME_NOW.search(said)
    if told is None or told["old"].lower() in _SMALL or told["new"].lower() in _SMALL:
        return "", ""
    return told["old"], told["new"]


def changes_name(said: str) -> bool:
    """Whether a name is another one now, so that it is wrong wherever it stands."""
    return _NAME_CHANGED.search(said) is not None


_PROPER = re.compile(r"(?<=[a-z,;:] )(?!I\b)[A-Z][a-z]{2,}")


def of_the_world(said: str, words: str = "") -> bool:
    """Is it about somebody or something out there that has a name, and not about their things? Only
    then may it be answered from general knowledge."""
    led = words and re.search(
        rf"(?i)\b(?:the|that|an?|your|in|from)\s+{re.escape(words.strip())}", said
    )
    own = re.match(r"(?i)(?:the|my|our|that|this|a|an)\s", words.strip())
    return bool(_PROPER.search(said)) and not (led or own or _OWN.search(dictated(said)))


_HOST = re.compile(
    r"(?:https?://)?(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:/[\w./?=&%#~+-]*)?"
    r"|(?:https?://)?localhost(?::\d+)?(?:/[\w./?=&%#~+-]*)?",
    re.IGNORECASE,
)


def address(text: str) -> str:
    """The page that is named; empty where none is."""
    said = re.sub(r"\s+dot\s+", ".", dictated(text), flags=re.IGNORECASE)
    said = re.sub(r"\s+slash\s+", "/", said, flags=re.IGNORECASE)
    named = _HOST.search(said)
    if named is None:
        return ""
    url = named[0].rstrip("./")
    return url if url.startswith("http") else f"{'http' if 'localhost' in url else 'https'}://{url}"
