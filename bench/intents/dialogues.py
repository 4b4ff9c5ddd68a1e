"""Talks with the Flux agent, in our own words, and what must have come of each.

A line is what the user says and what the agent may do then: `a` ask a question,
`t` say something, `c` submit. A submission where no `c` stands is one that came
too early or that nobody wanted. `answers` is what the user says when the agent
asks on after the last line, in turn, until everything wanted is submitted; who
is asked for an hour says `hour`, and who is asked by when, that there is no date.

`TUNED` may shape prompts and examples; `FRESH` (`bench.intents.fresh`) may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

GOAL, TASK, MOVE = "submit_goal_intent", "submit_new_task_intent", "submit_reschedule_intent"


@dataclass(frozen=True, slots=True)
class Want:
    """What is stored; each pattern must be found in that slot, `None` is a slot that stays empty.

    Slots of time are the user's words and what they mean ("tomorrow at 5pm; tomorrow, Tuesday, at
    five in the afternoon"); `due` is the time itself ("+1 Tue 3 Mar 17:00, in 1905 min")."""

    name: str
    slots: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Open:
    """A task of today that the agent is told of."""

    title: str
    at: str
    id: str


GYM = Open("Gym session", "6:00 PM", "5f0c9a4e-6f0e-4f5e-9a57-3a1c6e3d7b10")
GROCERIES = Open("Buy groceries", "5:00 PM", "b1d7f3a2-08c4-4a7b-8f7e-92d4c5a6e011")
DENTIST = Open("Dentist appointment", "2:30 PM", "0c8e2f64-7d3b-4b0a-a1c9-5be0f1d2c312")
REPORT = Open("Finish the report", "11:00 AM", "e7a9d0b3-1f52-4c6d-b8e4-6c7d8e9f0a13")
LAUNDRY = Open("Do the laundry", "8:00 PM", "3d4b5c6a-9e8f-4a1b-8c2d-7f6e5d4c3b14")
TODAY = (GYM, GROCERIES)
BUSY = (REPORT, DENTIST, GROCERIES, GYM, LAUNDRY)

_THATS_ALL = ("No, that's all.", "No, please just set it up.")


@dataclass(frozen=True, slots=True)
class Dialogue:
    kind: str
    lines: tuple[tuple[str, str], ...]
    wants: tuple[Want, ...] = ()
    tasks: tuple[Open, ...] = ()
    answers: tuple[str, ...] = _THATS_ALL
    hour: str = "At nine in the morning."


def task(title: str, at: str, rule: str | None = None, *, due: str) -> Want:
    slots = {"title": title, "trigger_type": "^time$", "location_trigger": None}
    return Want(TASK, {**slots, "scheduled_at": at, "recurrence_rule": rule, "due": due})


def place(title: str, where: str) -> Want:
    slots = {"title": title, "trigger_type": "^location$", "location_trigger": where}
    return Want(TASK, {**slots, "scheduled_at": None, "due": None})


def goal(statement: str, timeline: str | None = None) -> Want:
    return Want(GOAL, {"goal_statement": statement, "timeline": timeline})


def move(which: Open, to: str, *, due: str) -> Want:
    return Want(MOVE, {"task_id": f"^{which.id}$", "preferred_new_time": to, "due": due})


def _one(
    kind: str, said: str, *wants: Want, may: str = "c", tasks: tuple[Open, ...] = ()
) -> Dialogue:
    return Dialogue(kind, ((said, may),), wants, tasks)


TUNED: tuple[Dialogue, ...] = (
    # --- all in one sentence
    _one(
        "at once",
        "Remind me to buy groceries tomorrow at 5pm.",
        task("grocer", "tomorrow.*(5|five)|(5|five).*tomorrow", due=r"\+1 .* 17:00"),
    ),
    _one(
        "at once",
        "Can you remind me to water the plants on Friday morning?",
        task("plant", "friday", due=r"Fri .* (0[6-9]|1[01]):"),
    ),
    _one(
        "at once",
        "I need to pick up the kids at three thirty.",
        task("kids", "3[:.]30|three.thirty", due=r"\+0 .* 15:30"),
    ),
    _one(
        "at once",
        "Put down that I should pay the rent on the first of December.",
        task("rent", "first|1st|dec", due=r" 1 Dec "),
    ),
    _one(
        "at once",
        "Don't let me forget the meeting with Clara at ten tomorrow.",
        task("clara|meeting", "ten|10", due=r"\+1 .* 10:00"),
    ),
    _one(
        "at once",
        "Set a reminder for half past eight tonight to take my pills.",
        task("pill", "half past (eight|8)|8[:.]30", due=r"\+0 .* 20:30"),
    ),
    _one(
        "at once",
        "In twenty minutes, remind me to take the cake out of the oven.",
        task("cake", "20|twenty", due=r"in 20 min"),
    ),
    # --- places
    _one("place", "Remind me to buy milk when I leave home.", place("milk", "leave|leaving|home")),
    _one(
        "place",
        "When I get to the office, remind me to send the invoice.",
        place("invoice", "office"),
    ),
    _one(
        "place",
        "Tell me to return the book next time I'm near the library.",
        place("book", "library"),
    ),
    _one(
        "place",
        "As soon as I arrive at the airport I need to call a taxi.",
        place("taxi", "airport"),
    ),
    Dialogue(
        "place",
        (("Remind me to buy batteries.", "a"), ("When I'm at the hardware store.", "c")),
        (place("batter", "hardware"),),
    ),
    # --- something is missing
    Dialogue(
        "missing time",
        (("Remind me to call my mom.", "a"), ("This evening around 7.", "c")),
        (task("mom|mother", "7|seven", due=r"\+0 .* 19:00"),),
    ),
    Dialogue(
        "missing time",
        (("I have to renew my passport.", "a"), ("Next Monday at nine.", "c")),
        (task("passport", "monday", due=r"\+[1-9]\d* Mon .* 09:00"),),
    ),
    Dialogue(
        "missing time",
        (("Could you add a reminder to feed the cat?", "a"), ("At six in the evening.", "c")),
        (task("cat", "6|six", due=r"\+0 .* 18:00"),),
    ),
    Dialogue(
        "missing time",
        (("New task: clean the garage.", "a"), ("Saturday afternoon.", "c")),
        (task("garage", "saturday", due=r"Sat .* 1[2-7]:"),),
    ),
    Dialogue(
        "missing all",
        (
            ("Set a reminder, please.", "a"),
            ("To send flowers to Anna.", "a"),
            ("Tomorrow at noon.", "c"),
        ),
        (task("flower", "noon|12", due=r"\+1 .* 12:00"),),
    ),
    Dialogue(
        "missing title",
        (("Remind me of something tomorrow at eight.", "a"), ("To lock the shed.", "c")),
        (task("shed", "tomorrow|8|eight", due=r"\+1 .* (08|20):00"),),
    ),
    # --- recurring
    Dialogue(
        "recurring",
        (("I want to meditate every morning at 6am.", "ac"), ("Weekdays only.", "c")),
        (
            task(
                "meditat", "6|six", "weekday|mon.*fri|MO,TU", due=r"(Mon|Tue|Wed|Thu|Fri) .* 06:00"
            ),
        ),
    ),
    _one(
        "recurring",
        "Remind me to take out the trash every Tuesday at 7 pm.",
        task("trash", "7|seven", "tue", due=r"Tue .* 19:00"),
    ),
    _one(
        "recurring",
        "Every weekday at quarter past nine, remind me of the standup.",
        task(
            "stand",
            "9[:.]15|quarter past (nine|9)",
            "weekday|mon",
            due=r"(Mon|Tue|Wed|Thu|Fri) .* 09:15",
        ),
    ),
    _one(
        "recurring",
        "Remind me to drink water every day at noon.",
        task("water", "noon|12", "day|daily", due=r"\+[01] .* 12:00"),
    ),
    Dialogue(
        "recurring",
        (("Remind me to call grandma every Sunday.", "ac"), ("At four.", "c")),
        (task("grandma", "4|four", "sun", due=r"Sun .* 16:00"),),
    ),
    # --- goals
    Dialogue(
        "goal",
        (("I want to learn Spanish.", "ac"), ("I'm going to Mexico in 3 months.", "c")),
        (goal("spanish", "3 months|three months"),),
    ),
    Dialogue("goal", (("I'd like to get fit this year.", "ac"),), (goal("fit", "this year"),)),
    Dialogue(
        "goal", (("My goal is to write a novel by next summer.", "ac"),), (goal("novel", "summer"),)
    ),
    Dialogue(
        "goal",
        (("I want to learn to play the guitar.", "ac"), ("No, no particular date.", "ct")),
        (goal("guitar"),),
    ),
    Dialogue(
        "goal",
        (("I'm dreaming of opening my own bakery.", "ac"), ("Maybe in two years.", "c")),
        (goal("baker", "two years|2 years"),),
    ),
    Dialogue(
        "goal",
        (
            ("I want to save ten thousand dollars for a house.", "ac"),
            ("By the end of next year.", "c"),
        ),
        (goal("save|thousand|10", "next year"),),
    ),
    # --- moving tasks
    Dialogue(
        "move",
        (("Can you move my gym session?", "a"), ("Push it to Friday at the same time.", "c")),
        (move(GYM, "friday", due=r"Fri .* 18:00"),),
        TODAY,
    ),
    _one(
        "move",
        "Move the groceries to tomorrow at noon.",
        move(GROCERIES, "tomorrow|noon", due=r"\+1 .* 12:00"),
        tasks=TODAY,
    ),
    _one(
        "move",
        "I can't make it to the gym tonight, let's do it tomorrow at seven.",
        move(GYM, "tomorrow|7|seven", due=r"\+1 .* (07|19):00"),
        tasks=TODAY,
    ),
    _one(
        "move",
        "Please reschedule my dentist appointment to Thursday at ten.",
        move(DENTIST, "thursday", due=r"Thu .* 10:00"),
        tasks=BUSY,
    ),
    _one(
        "move",
        "I'll do the laundry on Sunday morning instead.",
        move(LAUNDRY, "sunday", due=r"Sun .* (0[6-9]|1[01]):"),
        tasks=BUSY,
    ),
    Dialogue(
        "move",
        (("I need to postpone the report.", "a"), ("To three in the afternoon.", "c")),
        (move(REPORT, "3|three", due=r"\+0 .* 15:00"),),
        BUSY,
    ),
    Dialogue(
        "move",
        (
            ("One of my tasks has to move.", "a"),
            ("The groceries.", "a"),
            ("Tomorrow morning.", "c"),
        ),
        (move(GROCERIES, "tomorrow", due=r"\+1 "),),
        TODAY,
    ),
    Dialogue(
        "move, not there",
        (("Move my piano lesson to Monday.", "at"), ("Oh, never mind then.", "t")),
        (),
        TODAY,
    ),
    Dialogue("move, nothing there", (("Can you reschedule my haircut?", "at"),), ()),
    # --- corrections
    Dialogue(
        "correction",
        (("Remind me to call Ben.", "a"), ("At five. No wait, at six.", "c")),
        (task("ben", "6|six", due=r"\+0 .* 18:00"),),
    ),
    Dialogue(
        "correction",
        (
            ("Remind me to buy bread.", "a"),
            ("No, I said thread, not bread.", "a"),
            ("Tomorrow at ten.", "c"),
        ),
        (task("thread", "10|ten", due=r"\+1 .* 10:00"),),
    ),
    Dialogue(
        "correction after",
        (("Remind me to visit Tom on Friday at two.", "c"), ("No, Saturday.", "c")),
        (task("tom", "saturday", due=r"Sat .* 14:00"),),
    ),
    Dialogue(
        "correction after",
        (
            ("Remind me to book the hotel tomorrow at nine.", "c"),
            ("Sorry, I meant ten o'clock.", "c"),
        ),
        (task("hotel", "10|ten", due=r"\+1 .* 10:00"),),
    ),
    Dialogue(
        "taken back",
        (
            ("Remind me to mow the lawn tomorrow at four.", "c"),
            ("Actually, cancel that reminder.", "c"),
        ),
        (),
    ),
    # --- two at once
    Dialogue(
        "two",
        (
            ("I want to start running and remind me to buy running shoes this weekend.", "ac"),
            ("I want to run a 5K in 2 months.", "ac"),
            ("Saturday morning.", "ac"),
        ),
        (
            goal("run|5k", "2 months|two months"),
            task("shoes", "saturday|weekend", due=r"(Sat|Sun) "),
        ),
    ),
    Dialogue(
        "two",
        (("Remind me to call the bank at nine and to pick up the parcel at eleven.", "ac"),),
        (task("bank", "9|nine", due=r"(09|21):00"), task("parcel", "11|eleven", due=r"(11|23):00")),
        (),
        ("Yes, the parcel at eleven.", "Yes."),
    ),
    Dialogue(
        "two",
        (("Move the gym to Friday at six and remind me to wash the car tomorrow at ten.", "ac"),),
        (
            move(GYM, "friday", due=r"Fri .* 18:00"),
            task("car", "tomorrow|10|ten", due=r"\+1 .* 10:00"),
        ),
        TODAY,
        ("Yes, wash the car tomorrow at ten.", "Yes."),
    ),
    Dialogue(
        "one after another",
        (
            ("Remind me to feed the fish at seven.", "c"),
            ("Also remind me to buy stamps.", "a"),
            ("Tomorrow at noon.", "c"),
        ),
        (
            task("fish", "7|seven", due=r"\+0 .* 19:00"),
            task("stamp", "noon|12", due=r"\+1 .* 12:00"),
        ),
    ),
    # --- nothing to submit
    _one("off topic", "What's the weather like today?", may="at"),
    _one("off topic", "Who won the match last night?", may="at"),
    _one("off topic", "Tell me a joke.", may="at"),
    _one("off topic", "What's twelve times fourteen?", may="at"),
    _one("greeting", "Hello, how are you?", may="at"),
    _one("thanks", "Thank you, that was all.", may="at"),
    _one("garbled", "Uh the fff krr.", may="at"),
    _one("garbled", "[inaudible]", may="at"),
    Dialogue(
        "garbled", (("Mm bla sh.", "at"), ("I want to learn to swim.", "ac")), (goal("swim"),)
    ),
    Dialogue("never mind", (("Remind me to call the plumber.", "a"), ("Never mind.", "at")), ()),
    Dialogue(
        "never mind",
        (("I want to move my gym session.", "a"), ("Forget it, it's fine.", "at")),
        (),
        TODAY,
    ),
    Dialogue(
        "ambiguous",
        (
            ("I need to do something about my fitness.", "a"),
            ("A long-term goal, I want to run a marathon.", "ac"),
        ),
        (goal("marathon", "^$|long.term"),),
    ),
    Dialogue(
        "ambiguous",
        (("I should really read more.", "ac"), ("As a goal, twenty books this year.", "ac")),
        (goal("read|book", "this year"),),
    ),
)
