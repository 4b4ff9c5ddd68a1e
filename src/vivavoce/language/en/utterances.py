"""What an utterance is made of: questions, orders, clauses, and what was taken back in it. "When is
the vet coming?" wants an answer, "Could you move the vet?" wants it done. Grammar of the language;
pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from vivavoce.language.en.denying import undenied
from vivavoce.language.en.ending import VERBS, ending
from vivavoce.language.en.mentions import times_in
from vivavoce.language.en.numbers import numbers_in

_BEFORE = (
    r"(?:(?:so|and|ok|okay|well|um|uh|erm|hey|hi|hello|right|now|please|sorry|tell me|"
    r"remind me again|actually|oh|just|then|but)\b[,\s]*)*"
)
_WH = (
    r"(?:when|what|which|who|whose|where|how (?:many|much|often|long|late|early|soon))"
    r"(?:'s|'re)?\b(?!\s+(?:about|if|say|ever)\b)"
)
_SUBJECT = (
    r"(?:i|we|they|he|she|it|there|this|that|those|these|my|our|the|his|her|their|any\w*|"
    r"some\w*|you|all|every\w*|both)\b"
)
_VERB_FIRST = rf"(?:is|are|am|was|were|do|does|did|has|have|isn't|aren't|don't|didn't)\s+{_SUBJECT}"
_ASKS = re.compile(rf"(?i)^\W*{_BEFORE}(?:{_WH}|{_VERB_FIRST})")
_CLAUSE = re.compile(
    r"(?:[.!?;,]+\s+(?:and|then|also|plus|oh|but)?\b|\s+and\b)"
    r"(?:\s*(?:also|then|please|um|uh|oh),?)*\s*"
)
_NOT_NEW = re.compile(
    r"(?i)(?:\w+ (?:it|that|this|them|him|her)\b|let's|thank|wait|hang|hold|never|be |come on|"
    r"listen|look,|guess|like |love |hope |mind |mean )"
)
"""It goes on with what was said, or wants nothing."""
_PART = re.compile(
    r"(?:(?<![ap]\.m)[.!?;]+|(?<=[ap]\.m)\.(?=\s+[A-Z]\w))(?=\s|$)|,\s+|\s+(?=(?:and|but|plus|oh)\b)|"
    r"\s(?=so (?:can|could|please|you|take|tick|mark)\b)"
)
"""Where another clause may begin, also where nobody wrote down a pause."""
_WANTS = re.compile(
    r"(?i)\b(?:remind|tell me|nudge|ping|poke|note|don'?t (?:let me )?forget|add|put|another|also|"
    r"as well|new|next thing|(?:i|we)(?:'ve| have|'d| would|'ll| will)? ?(?:also )?(?:got to|gotta|"
    r"need|must|want|wanna|have to|should|ought|like|love)|can you|could you|will you|would you)\b"
)
_ELLIPTIC = re.compile(
    r"(?i)(?:(?:and|so|ok|okay|now|then|right)\b[,\s]*)*"
    r"(?:(?:what|how) about|and|the same for|same (?:for|in))\s+"
    r"(?P<inside>(?:in|inside|from|for)\s+)?(?P<rest>[^?.!]+?)\W*(?:then\W*)?"
)
_ONE_MORE = re.compile(
    r"(?i)(?:oh\W+)?(?:and|also|plus|and also)\b[,\s]*"
    r"(?!(?:what|which|who|where|when|how|why|is|are|do|does|did|can|could|then|now|that|in|on|"
    r"the same)\b)"
    r"(?P<rest>[\w'-]+(?: [\w'-]+){0,3}?)(?: (?:too|as well|please))?\W*"
)
_OPINION = re.compile(
    r"(?i)\bwould you (?:rather|sooner)\b|\b(?:do|would|did) you (?:prefer|favou?r)\b|"
    r"\bwhich (?:one )?(?:do|would|did) you (?:prefer|like|pick|choose|rather|take|go for|rate)\b|"
    r"\b(?:what|who)(?:'s| is| are|'re) your (?:favou?rite|opinion|view|take|thoughts?|"
    r"feelings?)\b|"
    r"\bin your (?:humble |honest )?opinion\b|\bif you (?:could|had to) (?:only )?(?:pick|"
    r"choose|keep|"
    r"have|live|be|work)\b|\byour favou?rite\b|\bare you (?:more of |rather )?(?:an?|team) "
    r"[^?]+ (?:or (?:an?|team) )"
)
_TWO_WORDS = r"[a-z][\w'’-]*(?: [\w'’-]+){0,2}"
_ALTERNATIVES = re.compile(
    r"(?i)(?:^|[.:,;!—–-]\s+|\b(?:then|so|right|okay|ok|well)\s+)"
    rf"(?P<one>{_TWO_WORDS}) or (?P<other>{_TWO_WORDS})\?"
)
_NO_TASTE = re.compile(
    r"(?i)\b(?:is|are|was|were|do|does|did|can|could|will|would|should|shall|have|has|had|may|"
    r"might|what|which|who|whose|how|when|where|why|if|whether|in|on|at|to|for|by|from|with|it|"
    r"them|yes|no|not|now|later|more|less|off|today|tomorrow|the|these|those|one|both|either|"
    r"neither|\w+day)\b|\d"
)
_ONLY_REMARKS = re.compile(
    r"(?i)(?:(?:and|but|please|just|so)\s+)*(?:(?:don['’]?t|do not|never|settle|pick|choose|"
    r"tell me|say|be honest|answer|help (?:me|us)|come on|go on|make up)\b)[^.?!:]*"
)


def _of_taste(text: str) -> bool:
    """ "Dark mode or light mode? Don't say it depends": one of two, and nothing is to be done."""
    told = _ALTERNATIVES.search(text)
    if told is None or any(_NO_TASTE.search(told[n]) or orders(told[n]) for n in ("one", "other")):
        return False
    around = f"{text[: told.start('one')]} . {text[told.end() :]}"
    both = f"{told['one']}, {told['other']}"
    around = _ONLY_REMARKS.sub(" ", around)
    return not (orders(around) or numbers_in(both) or _AT_WORK.search(f"{both} {around}"))


_OF_FILES = re.compile(r"(?i)\w\.\w|\bdot [a-z]|\b(?:files?|folder)\b")


_EITHER = re.compile(
    r"(?i)\b(?:is it|is|are) (?:\w+ )?better\b.*\b(?:or|than)\b|\bshould (?:i|one|people) "
    r"(?:learn|get|buy|use|try|pick|choose|study|start|go)\b.*\bor\b|^\W*[^?.]*\bor\b[^?.]*, "
    r"(?:what do you (?:think|reckon|say)|what's better|which is better)"
)
_WORLDLY = re.compile(
    r"(?i)^\W*(?:(?:hey|so|ok|okay|right|um|uh|er|quick (?:one|question)|random question|"
    r"by the way|"
    r"just out of (?:curiosity|interest)|tell me|remind me|do you (?:happen to )?know)\W+)*"
    r"(?:who (?:invented|discovered|wrote|painted|composed|founded|was|won|came up with|said|"
    r"built)|"
    r"why (?:do|does|is|are|did) (?!we|i|my|our|it|this|that)|"
    r"how (?:tall|deep|far|old|heavy|fast|high|hot|cold) (?:is|are|was|do|does|can)|"
    r"what(?:'s| is) the (?:difference between|capital of|tallest|deepest|largest (?:country|"
    r"city|animal)|"
    r"highest mountain|longest river|speed of|boiling point|population of|meaning of)|"
    r"what (?:does|do) [\w' ]+ (?:stand for)|"
    r"when (?:was|did|were) (?!we|i|my|our|it|this|that)[\w ]*(?:invented|born|founded|built|"
    r"discovered|"
    r"start|end|happen|die|fall))\b"
)
_AT_WORK = re.compile(
    r"(?i)\w\.\w|\bdot [a-z]|\b(?:files?|folder|code|tests?|build|fail\w*|errors?|crash\w*|"
    r"broken|login|"
    r"server|app|script|function|class|module|config\w*|commit\w*|branch\w*|repo\w*|merge\w*|"
    r"project|"
    r"readme|log|notes?|docs?|changes?|last|main|page|job|tasks?|agent|we|our|my|this|here|"
    r"line|deploy\w*|look(?:ed)? up|search|online|"
    r"web)\b"
)


def asks_the_world(text: str) -> bool:
    """A question of general knowledge, of nothing that somebody works on."""
    return _WORLDLY.search(text) is not None and _AT_WORK.search(text) is None


def asks_opinion(text: str) -> bool:
    """Somebody wants to know what one likes better: nothing is to be done."""
    either = not _AT_WORK.search(text) and _EITHER.search(text)
    told = _OPINION.search(text) or either or _of_taste(text)
    return bool(told) and _OF_FILES.search(text) is None


_ALSO = re.compile(r"(?i)\b(?:also|as well|too|another one|one more|while you're at it)\b")
_GOES_BACK = re.compile(
    r"(?i)\b(?:undo|revert|restore|(?:put|take|change|bring)\b.{0,24}\bback|back (?:to|"
    r"the way|as) )\b"
)
_THE_ONE = re.compile(
    r"(?i)\b(?P<rest>the (?:other )?(?:one|line|bit|item|entry|note)s? (?:about|with|on|for|"
    r"that|saying|"
    r"where|of|mentioning)\b[^,.;!?]*|the (?:[\w'-]+ ){1,3}(?:one|line|bit|item|entry)\b)"
)
_GONE = re.compile(
    r"(?i)(?:\s+(?:gone|out|off|away|removed|deleted|struck|ticked|done|also|as well|too|please|"
    r"to (?:go|be gone)|can go|should go|has to go|needs to go|instead))+\W*$"
)


def adds_to_that(text: str) -> bool:
    """ "Also", "as well", "too": what was done before stands, unless it is that which goes back."""
    return _ALSO.search(text) is not None and _GOES_BACK.search(text) is None


_NOT_YET = re.compile(
    r"(?i)(?:\b(?:not|never)\b|n['’]t\b)(?:\s+(?:even|yet|really|been|quite|properly)){0,2}\s+"
    r"(?:started|begun|touched|done|finished|got (?:to|round)|managed|looked at|made)\b|"
    r"\b(?:let|leave) (?:it|that|this|them) (?:be|alone|open|where)\b|"
    r"(?:\b(?:not|never)\b|n['’]t\b)[^,.;!?]{0,40}\byet\b|"
    r"\bstill (?:have|need|has|want|got|ought)(?: got)? to\b|\b(?:have|has) still to\b"
)


def not_yet(clause: str) -> bool:
    """ "The inventory I have not even started, let it be"."""
    return _NOT_YET.search(clause) is not None


_EXCHANGE = re.compile(
    r"(?i)\b(?:swap|swaps|swapped|swapping|exchange|trade|flip|interchange)\b|"
    r"\b(?:switch|turn|change|put|have|do)\b[^.;!?]{0,60}\b(?:round|around|places|about|"
    r"with each other|the other way)\b|\bvice[- ]versa\b|\bthe other way (?:a)?round\b|"
    r"\bone where the other\b|\bin (?:each other|one another)'?s (?:place|slot)"
)
_KEEP_HOURS = re.compile(
    r"(?i)\b(?:same|keep|own|usual)\b[^.;!?]{0,20}\b(?:hours?|times?|o'clock)\b"
)


def exchanges(text: str) -> bool:
    """ "Swap the two round": what each of two has, the other is to have."""
    return _EXCHANGE.search(text) is not None


def keeps_hours(text: str) -> bool:
    """ "Swap the days, same times": each at the hour that it has."""
    return _KEEP_HOURS.search(text) is not None


_ANNOUNCES = re.compile(
    r"(?i)\b(?:things|reminders|jobs|errands|tasks|appointments|stuff|bits|calls|chores)\b"
)


def announces(text: str) -> bool:
    """ "There are three things tomorrow": they come next."""
    return _ANNOUNCES.search(text) is not None


_CALLS_IT = re.compile(r"(?i)\b(?:call|make|let'?s say|say|have|put|change) (?:it|that)\b")


def calls_it(text: str) -> bool:
    """ "Call it the end of the year": another value for what there is."""
    return _CALLS_IT.search(text) is not None


_AS_LONG = (
    r"\s+(?!no\b|no-|nobody|nothing|none|neither)(?:[\w'’]+\s+){1,4}?(?:"
    r"(?:likes?|wants?|needs?|wish(?:es)?|pleases?|(?:ha[sd]|have) to)(?: to)?|"
    r"(?:may |might |must |will |can |has to |have to )?takes?)"
    r"(?=\s*(?:$|[.,;:!?)–—-])|\s+(?:for|and|or|but|over|so|then|please|until|till|before|in)\b|"
    r"(?<=takes) to\b)"
)
"""How long something may take: "as long as it likes", "as long as the build needs"."""
_CONDITION = re.compile(
    r"(?i)\b(?:(?P<only>(?:but |and )?(?:only|just) (?:if|when|once))|(?:and )?if|unless|"
    r"provided(?: that)?|"
    r"providing|assuming|(?:as|so) long as(?!" + _AS_LONG + r")|on condition that)\s+"
    r"(?!(?:you|i|i['’]\w+|you['’]\w+|we|possible|need|needed|necessary|not|so|any|anything|ever|only|"
    r"that['’]s (?:ok|okay|all right|alright|fine|easier|possible|not)|(?:it|that)['’]?s? (?:is "
    r")?(?:not |no )?"
    r"(?:too|ok|okay|all right|alright|fine|easier|possible|trouble|bother|helps?|makes)|"
    r"it['’]?s no|it isn['’]t too|anyone asks|memory|all goes)\b)"
)
_ASKS_IF = re.compile(
    r"(?i)\b(?:see|check|ask|asks|wonder(?:ing)?|know|tell me|sure|say|even|as|what|look|looks|"
    r"find out|"
    r"let me know|idea|matter|care|remember|hear)\s*$"
)


def conditional(said: str, wish: str, content: Sequence[str] = ()) -> bool:
    """Whether what is wished for shall be done only if something is so: "if they pass, delete the
    old one". "If you can" is manners, and what is to be written down is only that."""
    start = max(said.find(wish), 0)
    for told in _CONDITION.finditer(said):
        before, behind = said[: told.start()], said[told.end() :]
        if not told["only"] and _ASKS_IF.search(before):
            continue
        if any(f"{told[0]}{behind[:8]}" in words for words in content):
            continue
        sentence = len(_SENTENCE.split(before)[-1])
        end = told.end() + len(_SENTENCE.split(behind)[0])
        if told.start() - sentence <= start < end or start <= told.start() < start + len(wish):
            return True
    return False


_OTHER_WORK = re.compile(
    r"(?i)\b(?:jobs?|tasks?)\b[^?.!]{0,24}\b(?:in|inside|under|from) (?:the |our |my )?(?:\w+ "
    r"){0,3}?"
    r"(?:files?|folder|directory|yaml|yml|toml|json|csv|table|list|log|script|pipeline|workflow|crontab)\b|"
    r"\b(?:jobs?|tasks?) (?:still |also |all |that |which |do |does )*(?:uses?|imports?|calls?|"
    r"runs? (?:on|at|every)|"
    r"writes?|reads?|needs?|touch(?:es)?|depends?|have|has)\b"
)


def of_other_work(said: str) -> bool:
    """ "Which jobs still use the old logger": what is written in files, and not what was handed
    over."""
    return _OTHER_WORK.search(said) is not None


_BACK_TO = re.compile(
    r"(?i)\bback (?:up |down )?to (?!(?:how|what|where|when|the way|normal|before|it|that|work|"
    r"the (?:old|"
    r"original|previous))\b)(?P<value>[^,.;!?]+?)(?: please| then| again)*(?=[,.;!?]|$)"
)


def back_to(said: str) -> str:
    """ "No, back to ten please": the value that is wanted instead, and not what there was."""
    told = _BACK_TO.search(said)
    return told["value"] if told else ""


_NAMES_IT = re.compile(
    r"(?i)\b(?:call|name|rename|title) (?:it|that|this|the file)\b|\b(?:should|ought to|must|"
    r"wants to) "
    r"(?:be|have been|really be) (?:called|named)\b|\bnot (?:called|named)\b"
)


def names_it(said: str) -> bool:
    """ "Call it kit list instead": what is said is a name."""
    return _NAMES_IT.search(said) is not None


_ONLY_WRONG = re.compile(
    r"(?i)^\W*(?:(?:er|um|uh|oh|hey|look|hm+|wait|hang on|sorry|no)\W+)*(?:that|this|the)(?: "
    r"\w+){0,2}?"
    r"(?:['’]s| is| looks| seems| isn['’]?t)(?: \w+)? (?:wrong|off|not right|right|incorrect|out "
    r"of date|"
    r"outdated)(?: \w+)?\W*(?:(?:can|could|would|will) you |please )*(?:(?:fix|correct|change|"
    r"sort|put|update|"
    r"mend) (?:it|that|this)(?: right| out)?)?(?: please| for me)*\W*$"
)


def only_complains(said: str) -> bool:
    """ "That date's wrong, can you fix it": and nobody knows what it should be."""
    return _ONLY_WRONG.search(said) is not None


_MANNERS = r"(?:(?:for me|for us|please|now|then|again|thanks|will you|would you|could you)\b\W*)*"
_SOMEWHAT = (
    r"(?:a (?:wee |little |tiny )?(?:bit|little|touch|notch|tad|fraction|smidge\w*)|slightly|some)"
)
_IT = r"(?:it|that|this|them|those|these)"
_ONLY_MORE = re.compile(
    r"(?i)\W*(?:(?:er|um|uh|oh|hey|hm+|right|so|okay|ok|well|sorry|and|just|please|kindly|maybe|"
    r"(?:can|could|would|will) (?:you|we)|i['’]?d like you to|i want you to|you could)\b\W*)*(?:"
    rf"(?:turn|crank|dial|tone|ramp|wind|scale) (?:{_IT} (?:up|down)|(?:up|down) {_IT})(?: "
    rf"{_SOMEWHAT})?|(?:bring|knock|bump|notch|move) {_IT} (?:up|down) {_SOMEWHAT}|"
    rf"(?:lower|raise|increase|decrease|reduce|shorten|lengthen|tweak|adjust) {_IT}"
    rf"(?: {_SOMEWHAT})?|(?:make|set) {_IT} (?:(?:{_SOMEWHAT}|much|even) )?(?:bigger|"
    r"smaller|larger|longer|shorter|higher|lower|faster|slower|louder|quieter|stronger|weaker|less))"
    rf"\W*{_MANNERS}"
)


def changes_unnamed(said: str) -> bool:
    """ "Can you turn that down a bit for me?": what it is, and nothing else, has to be asked."""
    return _ONLY_MORE.fullmatch(said) is not None


_DONE_WITH = re.compile(
    r"(?i)(?:^|[.!?;,—-]\s*)(?:(?:just|please|so|now|right|and|no)\s+)*(?:bin|scrap|ditch|delete|cancel|remove|"
    r"axe|chuck|lose|dump|get rid of|do away with|take out|throw out|take) (?:it|that|that one|"
    r"the thing)"
    r"(?: off| out| away)?(?: please| for me| then| now| will you| would you| "
    r"altogether)*\s*(?=[.!?;,]|$)"
)


def away_with_it(said: str) -> int:
    """ "… who was I trying to kid. Bin it": where what was told of it before ends; -1 where nothing
    of that is said."""
    told = _DONE_WITH.search(said)
    return told.start() + 1 if told else -1


_CORRECTING = re.compile(
    r"(?i)\b(?:i (?:wanted|meant|mean|said|want)|make (?:it|that)|should be|wants to be|it['’]s "
    r"to be|no|nope|"
    r"sorry|rather|instead|actually|not)\b"
)


def first_sentences(said: str, places: Sequence[tuple[int, int]]) -> int:
    """Of places in what was said how many count, where the first are in a sentence that corrects
    and the others in a remark behind it: "quarter past eight I wanted. He works until eight"."""
    ends = [one.start() for one in _SENTENCE.finditer(said)] + [len(said)]
    at = [next(n for n, end in enumerate(ends) if start <= end) for start, _ in places]
    starts = [0, *(one.end() for one in _SENTENCE.finditer(said))]
    corrects = [
        _CORRECTING.search(said[a:b]) is not None for a, b in zip(starts, ends, strict=True)
    ]
    if not corrects[at[0]]:
        return len(places)
    same = [n for n, one in enumerate(at) if one == at[0] or corrects[one]]
    return len(same) if same == list(range(len(same))) else len(places)


_COUNTS = re.compile(
    r"(?i)\bhow (?:many|much)\b[^.;!?]{0,40}\b(?:things?|tasks?|reminders?|items?|appointments?|"
    r"jobs|plans|entries|stuff|to[- ]?dos?)\b[^.;!?]{0,60}\b(?:i|me|my|list|there|left|open)\b"
)


def counts_things(text: str) -> bool:
    """ "How many things are you keeping for me?" """
    return _COUNTS.search(text) is not None


_STOPS_TELLING = re.compile(
    r"(?i)\b(?:stop|quit|cease|no (?:more )?need (?:to|for)|(?:don't|do not|needn't|need not|"
    r"no longer) (?:need to |have to |keep )?)\s*"
    r"(?:remind|nag|badger|bother|bug|pester|ping|nudg|chas|tell|hassl|annoy|poke|pok)\w* "
    r"(?:me|us)\b(?! (?:off|what|if|whether|how|when|where|why|who))"
    r"(?:[^.;!?]{0,20}?\b(?:about|of|to|for|with)\b(?P<what>[^.;!?]*))?"
)


def stops_telling(text: str) -> str | None:
    """ "You can stop nagging me about the choir": what they want to hear no more of, if that is
    what they say; it may be nothing but "it"."""
    found = _STOPS_TELLING.search(text)
    return None if found is None else (found["what"] or "").strip(" ,")


_ELSEWHERE = re.compile(
    r"(?i)\bon (?:my (?!phone|watch|mobile|tablet|laptop|list|calendar)\w+(?:'s|s')|his|her|their|"
    r"[A-Z]\w+'s|the \w+'s) (?:\w+ )?(?:phone|mobile|cell|watch|tablet|ipad|laptop|computer|"
    r"clock|speaker|device|calendar)\b"
)


def on_others_device(text: str) -> bool:
    """ "Set an alarm on my son's phone": nobody but its owner can."""
    return _ELSEWHERE.search(text.replace("’", "'")) is not None


_PURPOSE = re.compile(
    r"(?i)\bso(?: that)? (?P<what>(?:i|we|he|she|they|it|nobody|no one|the|my|our|his|her|their|"
    r"[A-Z]\w+)\b[^.;!?]+)"
)


def purpose(text: str) -> str:
    """ "Give me a shout at three so the kids aren't left at the gate": what it is for."""
    found = _PURPOSE.search(text)
    return found["what"].strip(" ,") if found is not None else ""


_SUBJECT_AT = re.compile(
    r"(?i)^\W*(?:(?:so|right|ok|okay|well|and|also|look|hey|hi)\W+)*(?P<what>(?:the|my|our|his|her|their)\s+"
    r"(?:[\w'’-]+\s+){0,4}?[\w'’-]+?)(?:['’]s| is| starts| begins| kicks off| takes place| will be)"
    r"(?= (?:on|at|in|tomorrow|today|next|this|every|half|quarter|from|\w+day|\d|one|two|three|"
    r"four|five|six|"
    r"seven|eight|nine|ten|eleven|twelve|noon)\b)"
)


def subject_of_time(text: str) -> str:
    """ "The call is tomorrow at nine": what is then."""
    told = _SUBJECT_AT.search(text)
    return told["what"] if told else ""


_LACKS = re.compile(
    r"(?i)\b(?:is|are)(?: still)? (?:missing|lacking|short of)\b|\black(?:s|ed)\b|\bis without\b"
)


def lacks_something(text: str) -> bool:
    """ "The example is missing one", and nobody orders anything."""
    return _LACKS.search(text) is not None and not orders(text)


_TO_MOVE = re.compile(
    r"(?i)\b(?:have to|has to|need to|needs to|must|got to|gotta|ought to|want to|going to|gonna)"
    r"(?: have to)? (?:shift|move|reschedule|postpone|push|rearrange|rebook|put off|change)"
    r" (?:it|that|that one|this|the time)\b"
)


def has_to_move(text: str) -> bool:
    """ "I'm gonna have to shift it": what was spoken of is to be at another time."""
    return _TO_MOVE.search(text) is not None


_NUDGE = re.compile(
    r"(?i)\b(?:(?:could|can) do with|would(?:n['’]t)? (?:like|love|appreciate|mind|go amiss|say "
    r"no to)|"
    r"need|want|fancy)\b[^.!?]{0,12}\b(?:nudge|reminder|reminding|poke|prod|shout|ping|buzz)\b|"
    r"\b(?:nudge|reminder|poke|prod|shout|ping|buzz)\b[^.!?]{0,20}\b(?:would(?:n['’]t)? (?:help|"
    r"be|go|hurt)|"
    r"welcome)\b"
)
_OUGHT = re.compile(
    r"(?i)\b(?:on at|nagging|badgering|telling|told|asking|asked|reminding|pestering) (?:me|us) to "
    r"(?P<told>[^,.;!?]+)|\b(?:i|we)(?:['’]ve| have| really| must|['’]d better| still| do)* "
    r"(?:have|need|ought|got|supposed|meant|mean|must)(?: got)? to (?P<own>[^,.;!?]+)"
)


def wants_nudge(text: str) -> str | None:
    """ "She's on at me to see somebody. I could do with a nudge": what it is for, if that is said;
    None where no reminder is wanted."""
    if _NUDGE.search(text) is None:
        return None
    told = _OUGHT.search(text)
    return (told["told"] or told["own"]).strip() if told else ""


_GREETS = re.compile(
    r"(?i)\W*(?:(?:oh|well|ah|and|so)\W+)*(?:hi|hello|hey|hiya|howdy|g'day|greetings|"
    r"(?:good )?(?:morning|afternoon|evening)|good day)(?:\W+(?:to you|\w+))?\W*"
    r"(?:(?:and )?how(?:'s| is| are)?\b[^.?!]{0,30})?\W*"
)


def greets(text: str) -> bool:
    """Nothing but good manners at the beginning: "Hello, how are you?"."""
    return len(text.split()) <= _GREETING and _GREETS.fullmatch(text) is not None


_GREETING = 8
_SAYING = re.compile(
    r"(?i)[\s,–—-]*\b(?:as |like )?i (?:was|were) (?:going to say|about to say|saying)\W*$"
)


def resumed(broken_off: str, said: str) -> str:
    """Where somebody broke off ("remind me to") and takes it up again with the same word ("Sorry,
    dropped the phone. To pick Oscar up, I was saying."): the sentence that does so, with what
    there was of it before ("remind me to get my": "get my apron")."""
    last = broken_off.rstrip(" .…,-–—").rsplit(maxsplit=1)[-1:]
    if not last or ending(broken_off.rstrip(" .…")) != "unfinished":
        return ""
    for sentence in _SENTENCE.split(said):
        words = _SAYING.sub("", sentence).strip(" .,;!?…")
        if len(words.split()) > 1 and words.split()[0].casefold() == last[0].casefold():
            lead = re.search(
                rf"\bto ((?:[\w']+ ){{1,3}}){re.escape(last[0])}$", broken_off.rstrip(" .…,-–—")
            )
            return f"{lead[1]}{last[0]}{words[len(last[0]) :]}" if lead else words
    return ""


def also_the_one(text: str) -> str | None:
    """ "I also want the one about the parking gone": another of the same kind as just before."""
    one = _THE_ONE.search(text) if adds_to_that(text) else None
    return _GONE.sub("", one["rest"]).strip() if one else None


_SAYS_INSTEAD = re.compile(r"(?i)\binstead\b(?! of\b)")
_MEANT_INSTEAD = re.compile(
    r"(?i)\bi mean[t]?,? (?:to say )?([^,.!?]+)|^\W*(?:no\W+|sorry\W+)*([^,.!?]{1,40}), not [^,.]+"
)
_OTHER = re.compile(
    r"(?i)\b(?:i mean[t]?|make (?:it|that)|rather|instead|not .{1,30}\bbut|as an?)\b"
)
_HESITANT = re.compile(
    r"(?i)\b(?:um+|uh+|er+m?|hang on|hold on|wait|sorry|hm+|what was|i don'?t know|no idea|"
    r"not sure|dunno|never ?mind|forget it)\b|\b(?:the|to|with|about|and)\W*$"
)
_QUESTION = re.compile(
    r"(?i)\?|^\W*(?:and |so |well )*(?:what|when|which|who|how|do|does|am|is|are|have|tell|read)\b"
)
_POINTS_BACK = re.compile(r"(?i)\W*(?:(?:and|so|then|please|just)\s+)*\w+ (?:it|that|this|them)\b")
_SUBJECT_FIRST = re.compile(
    r"(?i)\W*(?:(?:so|and|but|well|okay|ok|right)\s+)*(?P<subject>(?:the|my|our|an?|his|her|"
    r"their|this|"
    r"that)(?:\s+[\w'-]+){1,4}?)\s+(?:will|won't|is|isn't|are|aren't|was|were|has|have|had|needs?|"
    r"does|doesn't|do|don't|can|can't|must|should|wants?|keeps?|runs|ends|expires)\b"
)
_ADDS = re.compile(
    r"(?i)\b(?:add|new|another|also|as well|too|set|note|jot|pencil|schedule|extra|one more|"
    r"(?:put|stick|pop|write|get)\b[^.!?]{0,40}\b(?:down|in))\b"
)
_MARK = (
    r"(?:no|nope|sorry|wait|oops|ah|oh|um+|uh+|er+m?|actually|scratch that|correction|"
    r"i mean(?:t)?(?: to say)?|or rather|rather|hang on|hold on|my mistake)"
)
_TAKEN_BACK = re.compile(rf"(?i)(?P<pause>[\s,.;–—-]+)(?P<marks>(?:{_MARK}\b[\s,.]*)+)")
_INSTEAD = re.compile(
    r"(?is)(?:not (?P<wrong>[^,.;!?]{2,40}?)(?:[,.;]\s*(?:but\s+)?|\s+but\s+))?"
    r"(?P<right>[^,.;!?]+)(?P<after>.*)"
)
_TAKES_BACK = re.compile(
    r"(?i)\b(?:no|nope|not|wait|i meant?|rather|scratch that|correction|on second thoughts?)\b"
)
_DONE = re.compile(
    r"(?i)\b(?:i|we|he|she|they)(?:'ve|'s| have| has)?(?: just| already| finally| both)*"
    r" (?:went|did|done|been|took|taken|paid|got|had|saw|seen|made|sent|bought|rang|brought|"
    r"(?!need|want|decid|chang|miss|cancel|plann|hop|suppos|us)[a-z]{2,}ed)\b|"
    r"\b(?:it|that|this|is|are|all|been|she|he|[a-z]+(?='s))(?:'s| is| are)?"
    r"(?: all| been| now| already)*"
    r" (?:done|sorted|finished|paid|posted|sent|dealt with|behind me|out of the way|in the bag|"
    r"handed (?:in|over)|sent off|submitted|delivered|collected|washed|cleaned|fed|fixed|booked|"
    r"bought|returned|dropped off|picked up|filed|signed|written|in the post|ticked off)\b|"
    r"\bthat'?s (?:the|my|our|all the) (?:[\w']+ ){1,4}?(?:done|sorted|finished|paid|posted|"
    r"sent|fed|written|bought|(?!need|suppos)[a-z]{2,}ed)\b|"
    r"\balready [a-z]+(?:ed|nt|ght|ok|ne|id)\b|\bdone and dusted\b"
)
_TICKED = re.compile(
    r"(?i)\b(?:tick|check)(?:ed)?\b[^.!?]{0,40}\boff\b|\btick (?:it|that|the|my)\b|, tick\b|"
    r"\bmark\b[^.!?]{0,40}\b(?:done|complete|finished|off)\b"
)
_CROSSED = re.compile(
    r"(?i)\b(?:cross|strike|scratch|rub)\b[^.!?]{0,40}\b(?:off|out|it|that)\b|"
    r"\b(?:put|draw|run|stick) a line (?:through|under)\b"
)
_CALLED_OFF = re.compile(
    r"(?i)\b(?:scrap|bin (?:it|that|the|my|off)|ditch|axe|delete|remove|get rid|getting rid|"
    r"cancel\w*|call(?:ed|ing)? (?:it )?off|(?:it|that|this)(?:'s| is)(?: all)? off|"
    r"(?:'s|s| is| are) (?:all )?off(?! (?:sick|work|to|on|for|ill|at))|"
    r"f(?:e|a)ll(?:en)? through|"
    r"(?:no|don'?t|won'?t) (?:need|want|be needing|be going|be doing|be coming)(?! to be)|"
    r"backed out|pulled out|on the head|forget (?:about )?(?:the|my|that)|"
    r"not happening|isn'?t happening|not going(?! to)|not (?:doing|bothering)|"
    r"no longer|any ?more)\b"
)
_INTENDS = re.compile(
    r"(?i)\b(?:remind\w*|forget to|(?:need|have|has|got|ought|want|going|gonna|supposed|plan) to|"
    r"gotta|must|should|(?:i|we)(?:'ll| will))\b"
)
_UNDATED = re.compile(
    r"(?i)(?:\b(?:no|without an?y?|not an?y?|not (?:putting|setting) an?y?)|"
    r"n['’]t(?: (?:have|want|need|got|be|really))* an?y?)"
    r"(?: (?:particular|real|set|fixed|specific|exact|certain|big|great))?"
    r" (?:dates?|deadlines?|rush|hurry|time ?limit|time ?line|time ?frame)\b|"
    r"\b(?:don'?t|do not|dunno|no idea|not sure)(?: (?:really|yet|even))?(?: know)? (?:by )?when\b"
)
_NAME = r"[^,.;!?]{2,40}?"
_NOT = r"(?:not|isn't|wasn't|is not|was not)(?: with| to| for)? (?:the |my |our |an? )?"
_IS_NOT = re.compile(
    r"(?i)\b(?:not|isn't|wasn't)(?: with| to| for)? (?:the |my |our |an? )?([^,.;!?]+?)"
    r"(?=[,.;!?]|$| but\b)"
)
_DENIED = re.compile(
    rf"(?i)\b{_NOT}(?P<wrong>{_NAME})(?:[,.;!]+\s*(?:but )?|\s+but )(?P<right>{_NAME})(?=[,.;!?]|$)"
)
_DENIED_AFTER = re.compile(
    rf"(?i)(?:^|[,.;!?]\s*)(?P<right>{_NAME})[,.;!]+\s*{_NOT}(?P<wrong>{_NAME})(?=[,.;!?]|$)"
)
_AROUND = re.compile(
    r"(?i)^(?:(?:no|nope|sorry|oh|wait|oops|it'?s|it is|that'?s|should be|i (?:mean|meant|said)|"
    r"with|make (?:it|that))\b\W*)+|\W+(?:i (?:mean|meant|said)|please|instead)$"
)
_DETERMINED = re.compile(r"(?i)\b(?:the|my|our|an?|his|her|their)\s+$")
_RETRACED = 6
"""Words that somebody says again to get one of them right."""
_SHORTEST, _FEW = 3, 4
"""Words of an order, and of what is only added to one."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")


def asks(text: str) -> bool:
    """One question and nothing else. "Can you", "could I" and the like ask for something."""
    return len(_SENTENCE.split(text.strip())) == 1 and _ASKS.match(text) is not None


def requests(text: str) -> Iterator[tuple[int, int]]:
    """Where there are clauses that want something of their own, said as an order: "get rid of the
    library one". From where to before where; a few words behind one belong to it."""
    start = 0
    order: tuple[int, int] | None = None
    for end in [*_CLAUSE.finditer(text), None]:
        stop = end.start() if end else len(text)
        clause = text[start:stop]
        words = re.findall(r"[\w'’]+", clause.casefold())
        begins = len(words) >= _SHORTEST and words[0] in VERBS and not _NOT_NEW.match(clause)
        if order is not None and (begins or len(words) > _FEW):
            yield order
            order = None
        if begins:
            order = start, stop
        elif order is not None and words:
            order = order[0], stop
        start = end.end() if end else stop
    if order is not None:
        yield order


def questions(text: str) -> bool:
    """Something in it may be a question; a looser look than `asks`, for short answers."""
    return _QUESTION.search(text) is not None


def elliptic(text: str) -> tuple[str, bool] | None:
    """ "And on Friday?", "what about the other file?": what the last question is asked of anew, and
    whether it is something to look inside of."""
    match = _ELLIPTIC.fullmatch(text.strip())
    return (match["rest"], bool(match["inside"])) if match else None


def one_more(text: str) -> str | None:
    """ "And matches", "oh, plus candles": what is to be treated as the thing before was."""
    match = _ONE_MORE.fullmatch(text.strip())
    return match["rest"] if match else also_the_one(text)


_NEXT_QUESTION = re.compile(
    r"(?i)[?.!;]\s+\S|[,\s]\s*\b(?:and|also|plus|oh)\b[,\s]+(?:also |then )?"
    r"(?:(?:what|when|which|who|where|"
    r"how|is|are|do|does|did|am|have|has|can|could|anything|any|will)\b)"
)


def asks_again(between: str) -> bool:
    """Whether another question begins in it: "the vet? And have I anything else"."""
    return _NEXT_QUESTION.search(between) is not None


def questions_in(text: str) -> list[str]:
    """Its parts, where another question begins."""
    cuts = [0, *(m.start() for m in _NEXT_QUESTION.finditer(text)), len(text)]
    return [text[a:b] for a, b in pairwise(cuts) if text[a:b].strip(" ?.!,;")]


_ONLY_TELLS = re.compile(
    r"(?i)\W*(?:(?:oh|and|but|so|well|mind|now|wait|sorry|no)\b[\s,.]*)*"
    r"(?:that['’]?s|that is|that would be|that['’]?d be|it['’]?s|i mean|meaning|which is|as in)\b"
)


def only_tells(clause: str) -> bool:
    """ "That's seven over there": it says more of what was said before."""
    return _ONLY_TELLS.match(clause) is not None


_WAIT = re.compile(
    r"(?i)\W*(?:(?:oh|ah|um+|uh+|er+m?|sorry|wait|no|okay|ok|eh|hey|yes|yeah|hm+|well|please)\b\W*)*"
    r"(?:(?P<long>(?:one|just an?|just one|an?|half an?|gimme an?|give me (?:just )?(?:an?|one)|"
    r"(?:wait|hang on|hold on) (?:an?|one)) (?:moment|second|sec|minute|mo|min|tick)\b|"
    r"bear with me|hold the line|i['’]?ll be right back|"
    r"let me (?:just )?(?:think|check|look|see|find|get)\b)|hang on|hold on|wait(?: up)?)"
    r"(?P<rest>.*)"
)
_WHY = re.compile(
    r"(?i)\b(?:there['’]?s|some(?:body|one)|(?:the|my|our|his|her) \w+(?:['’]s| is| are)|"
    r"[A-Z]\w+['’]s|i['’]?(?:ll|m|ve)|i (?:have|need|must)|let me|door|phone|bell)\b"
)
_ANSWERS = re.compile(r"(?i)n['’]?t\b|\b(?:not|no|meant?|instead|rather|one|make|both|all)\b")
_LATE = 90
"""Letters: who asks for a moment says little more than why."""


def asks_to_wait(text: str) -> bool:
    """ "One moment, there's somebody at the door": nothing is answered, and nothing wanted yet."""
    match = _WAIT.fullmatch(text.strip())
    if match is None or len(match["rest"]) > _LATE:
        return False
    rest = re.sub(
        r"(?i)\b(?:and )?let me (?:just )?(?:think|check|look|see|find|get|grab)\b",
        "",
        match["rest"],
    )
    if not match["long"] and re.search(r"\w", rest) and not _WHY.search(match["rest"]):
        return False  # "wait, the other one"
    told = _ANSWERS.search(rest) or times_in(rest) or wants(rest) or orders(rest)
    return not told


_GIVEN_UP = re.compile(
    r"(?i)[,.;…—–-]+\s*(?:(?:no|nope|sorry|wait|never ?mind|forget it|ignore (?:that|me)|hang on|"
    r"hold on|scratch that|oh|ah|argh|ugh|one (?:sec\w*|moment)|just a (?:sec\w*|moment)|"
    r"where was i|what was i saying|lost my (?:thread|train of thought)|"
    r"not you|excuse me|my apologies|apologies|so sorry)\b[\s,.!…—–-]*)+$"
)


def gives_up(text: str) -> bool:
    """Somebody broke off in the middle of a sentence and says so: "put the, no. Sorry."."""
    match = _GIVEN_UP.search(text)
    if match is None:
        return False
    if re.search(r"(?i)\b(?:never ?mind|forget it|ignore me|scratch that)\b", match.group()):
        return True
    before = text[: match.start()].rstrip(" ,.;…—–-")
    return ending(before) == "unfinished"


def hesitates(text: str) -> bool:
    """Somebody looks for words, or breaks off."""
    return _HESITANT.search(text) is not None


def says_instead(text: str) -> bool:
    return _SAYS_INSTEAD.search(text) is not None


def meant_instead(text: str) -> str:
    """ "I meant Stella", "Stella, not Sheila": what it is."""
    match = _MEANT_INSTEAD.search(text)
    return (match.group(1) or match.group(2)) if match else ""


def means_other(text: str) -> int:
    """Where it was last said that something else is meant ("make it", "rather"); 0: nowhere."""
    found = [match.end() for match in _OTHER.finditer(text)]
    return found[-1] if found else 0


def adds(text: str) -> bool:
    """Something is to be there besides what there is: "add", "another", "put … down"."""
    return _ADDS.search(text) is not None


def takes_back(text: str) -> bool:
    """Somebody changes their mind in it: "no", "wait", "not Friday", "make it"."""
    return _TAKES_BACK.search(text) is not None or means_other(text) > 0


def clauses(text: str) -> list[tuple[int, int]]:
    """Where its clauses are, from where to before where. A cut too many is possible: "salt and
    pepper" is two."""
    found, start = [], 0
    for end in [*_PART.finditer(text), None]:
        stop = end.start() if end else len(text)
        if text[start:stop].strip():
            found.append((start, stop))
        start = end.end() if end else stop
    return found


_UNABLE = re.compile(
    r"(?i)\b(?:i|we)(?:'m| am|'re| are)?(?: \w+)?? (?:won'?t|will not|can'?t|can ?not|couldn'?t|"
    r"not going to|not gonna|not able to|unable to|never going to)(?: be able to)? "
    r"(?:manage|make|do|get (?:to|round to|around to|through)|fit|finish)\b(?! without\b)"
    r"(?:(?!\b(?:so|but|because|cos|let's|can (?:we|you)|could (?:we|you))\b).)*"
)


def unable(text: str) -> list[str]:
    """The clauses in which the speaker cannot do something at a time that they name: "I can't make
    yoga tonight, let's go on Friday" has one."""
    parts = [text[start:end].replace("’", "'") for start, end in clauses(text)]
    return [match[0] for one in parts if (match := _UNABLE.search(one)) and times_in(match[0])]


def orders(text: str) -> bool:
    """Does a clause begin with what is to be done: "delete that", "so just drop it"?"""
    words = (re.findall(r"[\w'’]+", text[start:end].casefold()) for start, end in clauses(text))
    bare = ([word for word in one if word not in _SMALL_FIRST][:1] for one in words)
    return any(first and first[0] in VERBS for first in bare)


_SMALL_FIRST = frozenset(("so", "and", "just", "please", "then", "but", "okay", "ok", "well"))


def points_back(clause: str) -> bool:
    """ "Move that to six": it goes on with what was named before."""
    return _POINTS_BACK.match(clause) is not None


def subject(clause: str) -> str:
    """What it is about: the words before its verb."""
    match = _SUBJECT_FIRST.match(clause)
    return match["subject"] if match else ""


def wants(text: str) -> bool:
    """Is anything asked for, or only told? "He's called Hodges, by the way" wants nothing."""
    return _WANTS.search(text) is not None or any(True for _ in requests(text))


def intends(text: str) -> bool:
    """Something is still to be done: "remind me to cancel the gym" cancels nothing."""
    return _INTENDS.search(text) is not None


def undated(text: str) -> bool:
    """Somebody says that there is no date for it, or that they do not know one."""
    return _UNDATED.search(text) is not None


def settles(text: str) -> Literal["done", "gone", "did", ""]:
    """What became of something: it was done ("I went today, cross it off"), or is not wanted ("it's
    cancelled, cross it off"). `did`: that it was done is only told. Empty where both or neither is
    said."""
    ticked = _TICKED.search(text) is not None
    did = _DONE.search(text) is not None
    if _CALLED_OFF.search(text):
        return "" if ticked or did else "gone"
    if ticked or (did and _CROSSED.search(text)):
        return "done"
    return "did" if did else ""


def denied(text: str) -> list[str]:
    """ "Not with Ann": what it is not."""
    return [match.group(1).strip() for match in _IS_NOT.finditer(text)]


def speaks_to_me(before: str) -> bool:
    """ "Call me", "wake me": what follows is when."""
    return re.search(r"(?i)\bme\s+$", before) is not None


def replaced(text: str, title: str) -> str:
    """ "Not Steve. Stuart.", "Tim, not Tom": what it is, where the other is a word of the title."""
    known = " ".join(["", *re.findall(r"[^\W_]+", title.casefold()), ""])
    for denied in (*_DENIED_AFTER.finditer(text), *_DENIED.finditer(text)):
        wrong = " ".join(re.findall(r"[^\W_]+", denied["wrong"].casefold()))
        right = _AROUND.sub("", _AROUND.sub("", denied["right"].strip())).strip()
        fits = wrong and f" {wrong} " in known and f" {wrong} " not in f" {right.casefold()} "
        if fits and re.search(r"[^\W_]", right) and not times_in(right):
            return right
    return ""


def repaired(text: str) -> str:
    """Without what was taken back in the same breath: "email Ann, no, not Ann, Beth" is "email
    Beth". Changes of mind about a time stay: the clock reads them."""
    return _mended(undenied(text))


def _mended(text: str) -> str:
    for marked in _TAKEN_BACK.finditer(text):
        before, instead = text[: marked.start()], _INSTEAD.match(text, marked.end())
        if instead is None:
            continue
        right, wrong = instead["right"].strip(), (instead["wrong"] or "").strip()
        if not right or _begins_with_time(right):
            continue
        found = None
        if wrong:
            found = _last(before, re.sub(r"(?i)^(?:the|my|our|an?)\s+", "", wrong))
        elif (
            len(before.split()) >= _SHORTEST
            and _TAKES_BACK.search(marked["marks"])
            and not re.search(r"[.;]", marked["pause"])
        ):
            found = _said_again(before, right)
        if found is None or times_in(before[found[0] : found[1]]):
            continue
        head = before[: found[0]]
        if _DETERMINED.match(f"{right.split(maxsplit=1)[0]} "):
            head = _DETERMINED.sub("", head)
        return _mended(f"{head}{right}{before[found[1] :]}{instead['after']}")
    return text


def _begins_with_time(text: str) -> bool:
    return any(text.startswith(time) for time in times_in(text))


def _last(text: str, words: str) -> tuple[int, int] | None:
    found = [m.span() for m in re.finditer(rf"(?i)\b{re.escape(words)}\b", text)]
    return found[-1] if found else None


def _said_again(before: str, right: str) -> tuple[int, int] | None:
    """From the word that both begin with: "with Ann, no wait, with Beth"."""
    words = [m.span() for m in re.finditer(r"\S+", before)][-_RETRACED:]
    first = right.split(maxsplit=1)[0].casefold()
    again = [start for start, end in words if before[start:end].casefold() == first]
    return (again[-1], len(before)) if again else None


_PAST = re.compile(
    r"(?i)\b(?:yesterday|(?:last|the other) (?:night|time|week|weekend|month|year|spring|summer|"
    r"autumn|winter|day|\w+day)|\w+ (?:days?|weeks?|months?|years?) ago)\b"
)


def is_past(words: str) -> bool:
    """It tells of what has been."""
    return _PAST.search(words) is not None


_LEFT_ALONE = re.compile(
    r"(?:[.,;!?…—-]|\b(?:no|actually|wait|oh|but|then)\b)\s*"
    r"(?:(?:actually|no|oh|wait|hang on|sorry|on second thoughts?),?\s+)*"
    r"(?:(?:scrap|scratch|forget|drop|skip|belay) (?:that|it|this|all that)|never ?mind|"
    r"(?:just )?leave (?:it|that|them|everything)(?: (?:be|alone|as (?:it|they) (?:is|are)))?|"
    r"(?:please )?(?:don't|do not)(?: (?:do|change|touch|bother)(?: (?:it|that|anything))?)?)"
    r"(?=\s*(?:[.,;!?…—-]|$|and\b|just\b|please\b))",
    re.IGNORECASE,
)


def taken_back_at(said: str) -> int:
    """Where what was said before is taken back as a whole; -1 where it is not."""
    found = [one.start() for one in _LEFT_ALONE.finditer(said)]
    return found[-1] if found else -1
