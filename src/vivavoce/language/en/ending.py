"""Does this look finished? What the words heard so far say about whether more will come. Pure.

Grammar of the language and nothing of sound: a pause after "remind me to" is never the end,
one after "What time is it?" nearly always is, and one after "I was at the market yesterday"
may be either. Where something is waited for, a whole answer of that kind is whole.

Ears end nearly everything with a full stop, so a full stop says nothing here; a comma, a
dash or a question mark does.
"""

from __future__ import annotations

import re
from itertools import dropwhile, pairwise, takewhile
from typing import Literal

from vivavoce.language.en.answers import answer, consent, stops
from vivavoce.language.en.mentions import repeats_in, times_in, untimed
from vivavoce.language.en.numbers import found
from vivavoce.wire.brain import Awaited

Ending = Literal["whole", "told", "unclear", "unfinished"]
"""`whole`: a question, a request or an answer with all that belongs to it. `told`: a whole
sentence after which people often go on. `unfinished`: something must follow."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_FILLERS = _set("um uh er erm hm hmm mm ah eh well like uhm")
_DETERMINERS = _set(
    "the a an my your our their its every each some any no another either neither whose which "
    "these those"
)
_PREPOSITIONS = _set(
    "of for with from into onto at to by than as per via during between among against towards "
    "toward within without upon about like until till except despite regarding concerning "
    "called named titled under above below beside behind beyond near since"
)
_PARTICLES = _set("in on up off out over down through around along away back by about")
"""They end phrasal verbs: "log in", "turn it on"."""
_CONJUNCTIONS = _set(
    "and or but nor because if unless although though while whereas whether plus so that when "
    "where who whom why how what then also"
)
_AUXILIARIES = _set(
    "am is are was were be been being will would can could shall should must may might has have "
    "had do does did isn't aren't wasn't weren't won't wouldn't can't couldn't shouldn't don't "
    "doesn't didn't haven't hasn't cannot not i'm i'll i'd i've you're you'll you'd you've he's "
    "she's it's we're we'll we'd we've they're they'll they'd they've that's there's here's "
    "what's where's who's let's gonna wanna gotta"
)
_SUBJECTS = _set("i you he she it we they this that there who everybody everyone nobody somebody")
_SPEAKERS = _set("i he she we they")
_OBJECTS = _set("me him her it us them you this that these those one ones")
_TRAILING = _set(
    "very really quite too rather almost nearly just only even still so more less most maybe "
    "perhaps probably called around approximately roughly exactly between mister mr mrs dr dot "
    "slash minus divided equals underscore hyphen"
)
"""Words that lean on the next one."""
_MAY_END = _set("too more less most enough only still even though so then that very much exactly")
_SUBORDINATE = _set(
    "if when whenever unless because although though while after before since once until as "
    "whether where"
)
_WH = _set("what where when who whom whose which why how what's where's who's when's how's")
_INVERTED = _set(
    "is are was were am do does did can could will would shall should may might must has have "
    "had isn't aren't wasn't don't doesn't didn't can't couldn't won't wouldn't shouldn't "
    "haven't hasn't"
)
_MODAL = _set("can could will would shall should may might must")
_RELATIVE = _set("who whom whose which where")
"""They go on with what was said before them: "the man, who had vanished"."""
_ADDRESS = _set(
    "please now okay ok so well hey hi hello and then also just right alright yes yeah sure no"
)
_DEMANDING = _set(
    "want wants wanted need needs needed make makes put puts add give gives tell tells remind "
    "reminds send sends bring buy get take find open schedule reschedule rename create delete "
    "remove replace write begin keep let lets say says mean means think thinks know knows "
    "believe guess hope suppose wish would've try trying planning supposed able have had has "
    "like likes love loves prefer mention include contains is becomes seems looks feels sounds "
    "compare rewrite refactor describe explain lack lacks contain"
)
"""Verbs that want something after them."""
_ENDS_AFTER_SUBJECT = _set("think know believe guess hope suppose say mean")
_GIVING = _set("remind tell show give send bring ask make let help get buy teach lend offer")

VERBS = _set(
    "accept add admit advise agree allow announce answer appear apply argue arrange arrive ask "
    "attack avoid bake be beat become begin believe belong bend bet bind bite blow book borrow "
    "bounce bow break breathe bring brush build bump burn burst buy call cancel care carry "
    "catch cause change charge chase check cheer choose chop claim clean clear climb close "
    "collect come commit compare compile complain complete confirm connect consider contain "
    "continue control convert cook copy cost count cover crash create cross cry cut dance deal "
    "debug decide decrease delay delete deliver demand deny depend deploy describe deserve "
    "destroy develop die dig dim disappear discover discuss divide do drag draw dream dress "
    "drink drive drop dry dust earn eat edit email encourage end enjoy enter exist expand "
    "expect explain explore express extend face fail fall fear feed feel fetch fight figure "
    "fill find finish fit fix flip float flow fly fold follow forget forgive form forward "
    "freeze gather get give go grab grow guess handle hang happen hate have hear heat help hide "
    "hire hit hold hope hug hunt hurry hurt imagine import improve include increase inform "
    "insist install intend introduce invite involve iron join joke jump keep kick kill kiss "
    "knock know label lack land last laugh launch lay lead learn leave lend lengthen let lie "
    "lift like limit link listen live load lock log look lose love mail maintain make manage "
    "mark match matter mean measure meet melt mend mention merge message mind miss mix move mow "
    "mute name need note notice nudge obtain occur offer open order organise organize owe own "
    "pack paint park pass paste pause pay peel perform phone pick pin ping place plan plant "
    "play point pop post postpone pour practise prefer prepare present press pretend prevent "
    "print produce promise protect prove provide pull push put raise reach read realise realize "
    "receive recommend record reduce refer refuse regret relate relax release rely remain "
    "remember remind remove rename rent repair repeat replace reply report represent request "
    "require reschedule rescue reserve respond rest restart return reveal revert rewind ride "
    "ring rise roll rub ruin run rush save say scan schedule score scroll search see seem "
    "select sell send separate serve set settle sew shake share shift shine shoot shop shorten "
    "shout show shut sing sink sit skip sleep slide slip slow smell smile smoke snooze solve "
    "sort sound speak spell spend spill split spread stand start state stay steal stick stir "
    "stop stretch strike study submit succeed suffer suggest suit summarise summarize supply "
    "support suppose surprise survive swap swear sweep swim swing switch tag take talk taste "
    "teach tear tell tend test thank think throw tick tidy tie toggle touch train translate "
    "travel treat trust try turn type understand undo update upgrade use visit wait wake walk "
    "want warn wash waste watch water wear weigh win wipe wish wonder work worry wrap write "
    "zoom "
    "implement refactor analyze analyse benchmark lint optimise optimize document rewrite migrate "
    "profile trace mock patch downgrade rebase squash format validate verify investigate inspect "
    "review generate scaffold extract inline uninstall delegate grep jot"
)
_ASKED_FOR = _set(
    "add answer arrange ask benchmark book brief bring build bump buy call cancel change check "
    "clear close commit compare compile complete confirm connect convert copy count create cross "
    "cut debug delay delegate delete deploy describe dim do document download draft drop edit "
    "email end explain fetch find finish fix forget format generate get give go grep help "
    "implement increase inspect install investigate jot keep label launch let lint list lock log "
    "look lower mail make mark measure merge message move mute name note nudge open order "
    "organise organize pause phone pick pin ping plan play postpone prepare print profile push "
    "put raise read rebase recommend record reduce refactor remember remind remove rename repeat "
    "replace reply report reschedule reserve restart revert review rewind rewrite ring run save "
    "say scan schedule scrap scroll search select send set share shift show shuffle skip snooze "
    "sort speak spell start stop submit suggest summarise summarize swap switch take tell test "
    "text think tick tidy toggle track translate try turn type undo uninstall unlock update "
    "upgrade use validate verify wait wake watch write zoom"
)
"""What people ask of one who listens. With other verbs it is rather a recipe, or a story."""
_IRREGULAR = _set(
    "am is are was were been has had does did done went gone came saw seen took taken got "
    "gotten gave given made knew known thought said told found felt left kept began begun "
    "brought bought caught built sent spent lost met paid ran sat slept slid spoke spoken stood "
    "swam swum taught threw thrown understood wore worn won wrote written ate eaten drank drunk "
    "drove driven fell fallen flew flown forgot forgotten froze frozen grew grown heard held "
    "hid hidden hit hung laid lay led lent lit meant rang ridden rode rose risen shone shot "
    "shook shown shut sang sung sank sold sought spread sprang stole stuck struck swept swore "
    "tore torn woke bent bit bound broke broken chose chosen cut dealt dug drew drawn fed "
    "fought fled became blew hurt let put read set cost"
)
_FINITE = _AUXILIARIES - _set("be been being not")
_DIGIT = _set("zero oh one two three four five six seven eight nine double triple")
_POINTING = r"(?:it|that|this|(?:the|my) (?:\w+ ){0,2}(?:number|code|pin|password))(?:'s| is) "
_WISH = re.compile(
    r"^(?:(?:and|so|okay|ok|well|yes|yeah|please|now|hi|hello|hey|also|then|actually|sorry) )*"
    r"(?:i (?:want|need|have to|would like|would love|gotta|wanna|was wondering|was hoping|"
    r"am trying to|am looking for)|i'd (?:like|love|rather)|i've got to|"
    r"i'm (?:trying to|looking for|wondering)|let's|we (?:need to|want)) \w"
)
_CLOSING = re.compile(
    r"(?:okay |ok |well |great |perfect |no |alright |and )*"
    r"(?:thank you|thanks|many thanks|goodbye|bye|bye bye|good night|see you|hello|hi|hey|"
    r"good morning|good evening|never ?mind|"
    r"that's (?:all|it)|that is (?:all|it)|that will be all|nothing else)"
    r"(?: (?:very much|so much|a lot|there|again|for that|for now|then|later|tomorrow|you))*"
)
_CLOCKED = re.compile(
    r"\d|o'?clock|noon|midnight|midday|\b(?:half|quarter|am|pm|morning|afternoon|evening|tonight|"
    r"night|hour|hours|minute|minutes|now|lunch|breakfast|dinner|bed)\b"
)
_PLAIN_NO = frozenset({"no", "nope", "nah", "no thanks", "no thank you", "not now", "not yet"})
_TAG = re.compile(r" (?:would|will|can|could|won't) you$")
_MOST = 60
"""Words that are looked at."""
_WORD = re.compile(r"[^\W_]+(?:['’.][^\W_]+)*")


def ending(text: str, awaited: Awaited | None = None) -> Ending:
    """Of what was heard before a pause; `awaited` is what the user was asked for."""
    *before, sentence = _sentences(text.casefold().replace("’", "'")) or [""]
    found = _WORD.findall(sentence)[-_MOST:]
    said = list(dropwhile(_FILLERS.__contains__, found))
    if not said:
        return "unfinished" if found else "unclear"
    bare, plain = text.rstrip(), " ".join(said)
    begs = said[-1] == "please" and len(said) > 2
    asks = bare.endswith("?") or (len(said) > 3 and _TAG.search(plain) is not None)
    if awaited is not None and _answers(text, said, awaited):
        return "whole"
    if bare.endswith((",", "-", "–", "—", "…", "..", ":", ";")) or _dictating(said):
        return "unfinished"
    if _CLOSING.fullmatch(plain) or stops(plain):
        return "whole"
    if _plainly(plain, said):
        return "told"  # to nothing that was asked
    if _leans(said[:-1] if begs else said, asks) or (not before and _bare_wish(said)):
        return "unfinished"
    kind = _sentence(said[:-1] if begs else said, plain, asks)
    if kind in ("told", "unclear") and (begs or _wants(sentence)):
        return "whole"
    return kind


def _sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])\s+", text.strip()) if part]


def _wants(sentence: str) -> bool:
    """Is one of its clauses a request or a question? "Friday at nine, ring the bank."."""
    before: list[str] = []
    parts = re.split(r"([,;:–—]| so | and )", sentence)
    for joint, clause in zip(["", *parts[1::2]], parts[::2], strict=True):
        found = _WORD.findall(clause)
        words = list(dropwhile(_ADDRESS.__contains__, found))
        if len(words) > 2 and _WISH.match(" ".join(words)):
            return True
        goes_on = joint == " and " and _governs(before)
        if len(words) > 2 and words[0] in _ASKED_FOR and not goes_on:
            return True
        relative = words[:1] and words[0] in _RELATIVE and any(map(_verb, before))
        if len(words) > 2 and _asks(words) and not relative:
            return True
        before += found
    return False


def _asks(words: list[str]) -> bool:
    """The verb stands in front of who does it: "when is he there", and not "when he is there"."""
    wh = words[0] in _WH and words[1] not in _SUBJECTS | _DETERMINERS
    return wh and not _INVERTED.isdisjoint(words[1:4])


def _governs(words: list[str]) -> bool:
    """A bare verb behind an "and" belongs to what is said there: "he can come and find me"."""
    if any(word in _MODAL or word.endswith("'ll") for word in words):
        return True
    return any(first == "to" and verb in VERBS for first, verb in pairwise(words))


# --- What must go on ------------------------------------------------------------------


def _leans(said: list[str], asks: bool) -> bool:
    """The last word wants another."""
    last, before = said[-1], said[-2] if len(said) > 1 else ""
    if last in _FILLERS and last != "well":
        return last != "like" or not asks
    if last in _DETERMINERS:
        return not (last in ("these", "those", "either", "neither", "no", "some", "any") and before)
    if last in _PREPOSITIONS:
        return _dangling(said, last, before, asks)
    if last in _CONJUNCTIONS or last in _SUBORDINATE - _set("before after since once"):
        return not _closes(said, last, before, asks)
    if last in _AUXILIARIES:
        return not _elliptic(said, asks)
    if last in _TRAILING:
        return last not in _MAY_END
    if last == "point":
        return _single(before) or _counted([before])
    if last in _SPEAKERS:
        return not asks and before not in _AUXILIARIES
    if last in _DEMANDING and before not in _DETERMINERS:
        return not asks and not (set(said[:-1]) & _WH)
    return False


def _bare_wish(said: list[str]) -> bool:
    """ "Remind me": of what?"""
    return said[-1] in _OBJECTS and len(said) > 1 and said[-2] in ("remind", "tell", "give", "let")


def _dangling(said: list[str], last: str, before: str, asks: bool) -> bool:
    """A preposition with nothing behind it, and nothing in front that it could belong to."""
    if last in ("about", "like") and len(said) <= 2:
        return True  # "what about"
    if asks or set(said[:-1]) & _WH:
        return False  # "what is it for"
    if last in ("called", "named", "titled") and before not in _AUXILIARIES:
        return False  # "somebody called"
    if last == "to":
        return before not in ("love", "like", "want", "have", "going") or "yes" not in said
    return not (last in _PARTICLES and before not in _AUXILIARIES)


def _closes(said: list[str], last: str, before: str, asks: bool) -> bool:
    """Words that join sentences and can also end one."""
    if last == "that":
        return before not in ("think", "know", "say", "mean", "sure", "hope", "so", "is", "was")
    if last in ("then", "so", "too", "though"):
        return last != "so" or before in ("think", "hope", "guess", "suppose", "say")
    if last in _WH:
        return (asks and len(said) <= 2) or before in ("know", "tell", "say")
    return last == "also" and len(said) > 2


def _elliptic(said: list[str], asks: bool) -> bool:
    """ "Yes, I do", "what time it is", "so it was": an auxiliary that ends a sentence."""
    last = said[-1]
    if "'" in last and not last.endswith("n't"):
        return False  # "that's"
    if asks or set(said[:-1]) & (_WH | _set("as than")):
        return len(said) > 2 or asks
    lead = [word for word in said[:-1] if word not in _ADDRESS]
    short = len(lead) == 1 and lead[0] in _SUBJECTS and len(said) > 2
    return short and last not in ("be", "being", "not")


def _dictating(said: list[str]) -> bool:
    """Digits or letters one by one: nobody but the speaker knows how many there are."""
    run = len(list(takewhile(_single, reversed(said))))
    if len(said) == 1 and said[0].isdecimal() and len(said[0]) > 2:
        return True  # as the ears write them down
    introduced = re.match(_POINTING, " ".join(said)) is not None
    return run >= 3 or (run == 2 and (len(said) == 2 or introduced))


def _single(word: str) -> bool:
    return word in _DIGIT or word.isdecimal() or (len(word) == 1 and word != "i")


# --- Sentences ------------------------------------------------------------------------


def _sentence(said: list[str], plain: str, asks: bool) -> Ending:
    start = 0
    while start < len(said) - 1 and said[start] in _ADDRESS:
        start += 1
    words = said[start:]
    first = words[0]
    if asks:
        return "whole" if len(words) > 1 else "unclear"
    if first in _SUBORDINATE and first not in ("where", "when", "as"):
        return _with_clause(words)
    if first == "when" and (len(words) < 2 or words[1] not in _INVERTED):
        return _with_clause(words)
    if first in _WH:
        inverted = len(words) > 2 and ("'s" in first or _asks(words))
        return "whole" if inverted else "told" if len(words) > 4 else "unclear"
    if first in _INVERTED and len(words) > 2 and (words[1] in _SUBJECTS | _DETERMINERS):
        return "unclear" if first in ("had", "were", "should") else "whole"
    if first in _INVERTED and len(words) <= 2:
        return "unfinished"
    if _WISH.match(plain):
        return "whole" if len(words) > 3 else "unclear"
    if first in VERBS and not (len(words) > 1 and _verb(words[1]) and words[1] not in VERBS):
        if len(words) == 1:
            return "unclear"
        return "whole" if first in _ASKED_FOR else "told"
    if not any(_verb(word) for word in _predicate(words)):
        return "unfinished" if first in _DETERMINERS | _SUBJECTS else "unclear"
    return "told" if len(words) > 2 else "unclear"


def _with_clause(words: list[str]) -> Ending:
    """It begins with an "if": the other half has a subject and a verb of its own, or commands."""
    subjects = sum(word in _SUBJECTS | _DETERMINERS for word in words[1:])
    verbs = sum(_verb(word) for word in words[1:])
    if len(words) > 5 and verbs >= 2 and subjects >= 2:
        return "told"
    return "unfinished"


def _predicate(words: list[str]) -> list[str]:
    """Where a verb can be one: not right after an article, where it is an adjective or a noun."""
    return [
        word
        for before, word in zip(["the", *words[:-1]], words, strict=True)
        if before not in _DETERMINERS or word in _FINITE or before in _SUBJECTS
    ]


def _verb(word: str) -> bool:
    """A form that can carry a sentence; as far as the list goes."""
    if word in _FINITE or word in _IRREGULAR or word in VERBS:
        return True
    for suffix in ("ied", "ies"):
        if word.endswith(suffix) and word[:-3] + "y" in VERBS:
            return True
    if word.endswith("es") and word[:-2] in VERBS:
        return True
    if word.endswith("s") and word[:-1] in VERBS:
        return True
    if word.endswith("ed"):
        stem = word[:-2]
        doubled = stem[-1:] == stem[-2:-1] and stem[:-1] in VERBS
        return stem in VERBS or stem + "e" in VERBS or doubled
    return False


# --- Answers --------------------------------------------------------------------------


def _answers(text: str, said: list[str], awaited: Awaited) -> bool:
    """Is it a whole one of that kind?"""
    plain = " ".join(said)
    if awaited in ("yes_no", "words") and _plainly(text, said):
        return True
    if _leans(said, asks=False) and awaited != "number":
        return False
    match awaited:
        case "yes_no":
            return answer(text) is not None and said[-1] not in ("wait", "actually", "sorry")
        case "time":
            timed = bool(times_in(text)) and len(_WORD.findall(untimed(text))) <= 4
            return (timed and _CLOCKED.search(plain) is not None) or (
                _counted(said) and len(said) <= 3
            )
        case "recurrence":
            return bool(repeats_in(text))
        case "number":
            return _counted(said) and not _dictating(said)
        case "name":
            return len(said) <= 6 and not _dictating(said)
        case "words":
            return not _dictating(said)


def _plainly(text: str, said: list[str]) -> bool:
    """A yes or a no, and nothing that begins something else."""
    agreed = consent(text)
    return agreed == "yes" or (agreed == "no" and " ".join(said) in _PLAIN_NO)


def _counted(said: list[str]) -> bool:
    return any(True for _ in found(said))
