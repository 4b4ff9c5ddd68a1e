"""Words about time, as data: names, units, parts of the day, routines, holidays, small words.

No calendar and no grammar. What a word may stand for is here once; how words go together is in
`grammar`, and which day or hour they mean in `dates` and `resolving`.
"""

from __future__ import annotations

from datetime import time


def listed(words: str) -> list[str]:
    return words.split()


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
SHORT_DAYS = {
    short: n
    for n, shorts in enumerate(
        ("mon", "tue tues", "wed weds", "thu thur thurs", "fri", "sat", "sun")
    )
    for short in shorts.split()
}
SHORT_MONTHS = {name[:3].lower(): n for n, name in enumerate(MONTH_NAMES, 1)} | {"sept": 9}
WEEKDAYS = {name.lower(): n for n, name in enumerate(DAY_NAMES)} | SHORT_DAYS
PLURAL_DAYS = {f"{name.lower()}s": n for n, name in enumerate(DAY_NAMES)}
MONTHS = {name.lower(): n for n, name in enumerate(MONTH_NAMES, 1)} | SHORT_MONTHS
ALSO_WORDS = words("mon wed sat sun may march mar dec jan jun jul sep")
"""Names that mean something else as often: they need a word of time beside them."""
UNITS = {
    form: unit
    for unit, forms in {
        "minute": "minute minutes min mins",
        "hour": "hour hours hr hrs",
        "day": "day days",
        "week": "week weeks wk wks",
        "fortnight": "fortnight fortnights",
        "month": "month months",
        "year": "year years",
    }.items()
    for form in forms.split()
}
PARTS = {
    "morning": time(9),
    "afternoon": time(15),
    "evening": time(19),
    "night": time(20),
    "early morning": time(7),
    "mid morning": time(10, 30),
    "late morning": time(11),
    "early afternoon": time(13),
    "mid afternoon": time(15),
    "late afternoon": time(17),
    "early evening": time(18),
    "late evening": time(21),
    "late night": time(22),
}
"""Parts of the day, and the hour each stands for where none is said."""
DAY_PARTS = frozenset({"morning", "afternoon", "evening", "night"})
PLURAL_PARTS = {f"{part}s": part for part in DAY_PARTS}

# --- Things of the day that have an hour of their own, by the profile or by custom --------

MEALS = {
    "breakfast": "breakfast",
    "lunch": "lunch",
    "dinner": "dinner",
    "supper": "dinner",
    "tea": "tea",
    "bed": "bed",
    "work": "work",
    "school": "school",
    "brunch": "brunch",
}
AT_TIMES = {
    "breakfasttime": "breakfast",
    "lunchtime": "lunch",
    "lunchtimes": "lunch",
    "lunchbreak": "lunch",
    "dinnertime": "dinner",
    "suppertime": "dinner",
    "teatime": "tea",
    "bedtime": "bed",
}
DAILY = {
    "before breakfast": time(7, 30),
    "breakfast": time(8),
    "after breakfast": time(8, 30),
    "brunch": time(11),
    "before lunch": time(12),
    "lunch": time(12, 30),
    "after lunch": time(13, 30),
    "tea": time(17),
    "before tea": time(16, 30),
    "after tea": time(18),
    "before dinner": time(18, 30),
    "dinner": time(19),
    "after dinner": time(20),
    "before school": time(8),
    "school": time(9),
    "after school": time(15, 30),
}
"""What the profile does not know, by custom. Those of sleep and work are in `resolving`."""

MOVERS = words(
    "move push put shift bring delay postpone pull make set moved pushed shove bump slide nudge "
    "knock change reschedule prepone advance extend kick shunt bumped kicked shifted nudged "
    "delayed postponed moving pushing shoving swap switch changed swapped switched rescheduled"
)
"""Verbs that give something another time."""

# --- Holidays -----------------------------------------------------------------------------

FEASTS = {
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "christmas": (12, 25),
    "xmas eve": (12, 24),
    "xmas day": (12, 25),
    "xmas": (12, 25),
    "boxing day": (12, 26),
    "saint stephen day": (12, 26),
    "st stephen day": (12, 26),
    "stephen day": (12, 26),
    "new year eve": (12, 31),
    "new year day": (1, 1),
    "new year": (1, 1),
    "hogmanay": (12, 31),
    "twelfth night": (1, 5),
    "epiphany": (1, 6),
    "burns night": (1, 25),
    "australia day": (1, 26),
    "republic day": (1, 26),
    "groundhog day": (2, 2),
    "valentine day": (2, 14),
    "valentine": (2, 14),
    "saint david day": (3, 1),
    "st david day": (3, 1),
    "women day": (3, 8),
    "saint patrick day": (3, 17),
    "st patrick day": (3, 17),
    "paddy day": (3, 17),
    "april fool day": (4, 1),
    "earth day": (4, 22),
    "saint george day": (4, 23),
    "st george day": (4, 23),
    "anzac day": (4, 25),
    "may day": (5, 1),
    "star wars day": (5, 4),
    "cinco de mayo": (5, 5),
    "juneteenth": (6, 19),
    "midsummer": (6, 24),
    "canada day": (7, 1),
    "independence day": (7, 4),
    "bastille day": (7, 14),
    "halloween": (10, 31),
    "hallowe'en": (10, 31),
    "all saints day": (11, 1),
    "all souls day": (11, 2),
    "guy fawkes night": (11, 5),
    "guy fawkes": (11, 5),
    "bonfire night": (11, 5),
    "remembrance day": (11, 11),
    "veterans day": (11, 11),
    "saint andrew day": (11, 30),
    "st andrew day": (11, 30),
    "saint nicholas day": (12, 6),
}
"""On the same date every year. Names are without the endings of their words: `feast_key`."""
FROM_EASTER = {
    "shrove tuesday": -47,
    "pancake day": -47,
    "pancake tuesday": -47,
    "mardi gras": -47,
    "ash wednesday": -46,
    "mothering sunday": -21,
    "palm sunday": -7,
    "maundy thursday": -3,
    "good friday": -2,
    "easter saturday": -1,
    "easter sunday": 0,
    "easter day": 0,
    "easter": 0,
    "easter monday": 1,
    "ascension day": 39,
    "whit sunday": 49,
    "pentecost": 49,
    "whit monday": 50,
    "corpus christi": 60,
}
"""Days from Easter Sunday."""
NTH_FEASTS = {
    "martin luther king day": (1, 3, 0, 0),
    "mlk day": (1, 3, 0, 0),
    "presidents day": (2, 3, 0, 0),
    "memorial day": (5, -1, 0, 0),
    "father day": (6, 3, 6, 0),
    "labor day": (9, 1, 0, 0),
    "labour day": (9, 1, 0, 0),
    "columbus day": (10, 2, 0, 0),
    "thanksgiving day": (11, 4, 3, 0),
    "thanksgiving": (11, 4, 3, 0),
    "black friday": (11, 4, 3, 1),
    "cyber monday": (11, 4, 3, 4),
    "election day": (11, 1, 0, 1),
}
"""Month, which of its weekdays, and days after it."""


def feast_key(words: list[str]) -> str:
    """One form for "New Year's", "new years" and "New Year"."""
    return " ".join(word.rstrip("s") for word in words)


FEAST_NAMES = {feast_key(name.split()): name for name in (*FEASTS, *FROM_EASTER, *NTH_FEASTS)}
MOTHERS = words("mother mothers")
"""Their day is another one in Britain and Ireland than elsewhere."""
SEASONS = {
    "spring": (3, 20),
    "summer": (6, 21),
    "autumn": (9, 22),
    "fall": (9, 22),
    "winter": (12, 21),
}
"""The day each begins."""

# --- Small words --------------------------------------------------------------------------

CLOCK_PREPOSITIONS = words(
    "at around about by before after until till til from past to circa approximately roughly "
    "nearly towards"
)
PREPOSITIONS = CLOCK_PREPOSITIONS | words("on in for over during within of since")
DETERMINERS = words("the this that a an my our your")
HESITATIONS = words(
    "um uh er erm uhm hmm hm ah oh ooh ugh eh like well so yeah yes yep ok okay right please "
    "bloody flipping flaming blasted ruddy sodding damn damned goddamn freaking effing fucking "
    "just maybe perhaps say only exactly precisely sharp dot ish roughly round approx probably "
    "possibly sometime anytime there then love dear mate let's let lets let's actually anyway "
    "also again instead about around approximately"
)
BRIDGES = (
    PREPOSITIONS
    | HESITATIONS
    | words(
        "the , - – — ... or and i suppose think guess mean you know should shall we a an once all "
        "still"
    )
)
"""What may lie between two words of one time."""
SAYING = (
    BRIDGES
    | DETERMINERS
    | words(
        "no not nope sorry wait hang hold on make it that's that let's let set do me give us how "
        "what would could can be is are was it's i'd i'm i'll fine good great better best works "
        "work suits will should we want like need to think is alright all right thanks thank you "
        "cheers ta love sir madam move put push change shift meant mean rather than bit little "
        "or so as usual before same for now hey hi hello reschedule time when if possible "
        "possibly that'll do'"
    )
)
"""What may stand beside a time that is the whole answer."""
FUNCTION = SAYING | words(
    "and but because since with without he she they we i you him her them us his their its our "
    "who which that there here where why while though although unless until will would shall "
    "should may might must can could do does did has have had am is are was were been being not "
    "no off out up down into onto upon than too very much also every each remind reminder call "
    "unless otherwise still"
)
"""Words that a bare hour may stand before: what follows it is no thing that is counted."""
ALSO_NOUNS = words("call reminder work time")
"""Of these: what may as well be the thing that is spoken of."""
COUNTED = words(
    "hundred thousand million billion percent point more of people men women children times kids "
    "degrees point grams kilos miles feet quid pounds dollars euros bucks things"
)
MORNING_DEEDS = words("wake waking woken alarm breakfast sunrise")
EVENING_DEEDS = words("dinner supper bed bedtime theatre theater cinema movie pub nightcap sunset")
MOST_CHARS = 400
"""Longer words are not read as one time."""
