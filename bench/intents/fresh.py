"""More talks with the Flux agent, held back: nothing was tuned on these."""

from __future__ import annotations

from bench.intents.dialogues import (
    BUSY,
    DENTIST,
    GROCERIES,
    GYM,
    LAUNDRY,
    REPORT,
    TODAY,
    Dialogue,
    goal,
    move,
    place,
    task,
)

FRESH: tuple[Dialogue, ...] = (
    Dialogue(
        "at once",
        (("Please remind me to defrost the chicken at four this afternoon.", "c"),),
        (task("chicken", "4|four", due=r"\+0 .* 16:00"),),
    ),
    Dialogue(
        "at once",
        (("I've got to email the landlord on Wednesday at nine thirty.", "c"),),
        (task("landlord", "wednesday", due=r"Wed .* 09:30"),),
    ),
    Dialogue(
        "at once",
        (("Make a note to change the bed sheets on Sunday.", "ac"), ("In the morning.", "c")),
        (task("sheet", "sunday", due=r"Sun .* (0[6-9]|1[01]):"),),
    ),
    Dialogue(
        "at once",
        (("Remind me in two hours to move the car.", "c"),),
        (task("car", "two|2", due=r"in 120 min"),),
    ),
    Dialogue(
        "at once",
        (("Tomorrow at a quarter to eight I have to drop off the keys.", "c"),),
        (task("key", "quarter|7:45", due=r"\+1 .* 07:45"),),
    ),
    Dialogue(
        "place",
        (("When I get home, remind me to charge the camera.", "c"),),
        (place("camera", "home"),),
    ),
    Dialogue(
        "place",
        (("Remind me to ask about the parcel once I'm at the post office.", "c"),),
        (place("parcel", "post office"),),
    ),
    Dialogue(
        "place",
        (("I need a reminder to buy sunscreen.", "a"), ("When I leave work.", "c")),
        (place("sunscreen", "work"),),
    ),
    Dialogue(
        "missing time",
        (("Please remind me to text Julia.", "a"), ("In half an hour.", "c")),
        (task("julia", "half", due=r"in 30 min"),),
    ),
    Dialogue(
        "missing time",
        (("I need to take the dog to the vet.", "a"), ("On Tuesday at eleven.", "c")),
        (task("dog|vet", "tuesday", due=r"Tue .* 11:00"),),
    ),
    Dialogue(
        "missing time",
        (
            ("Can you remind me about the parent meeting?", "a"),
            ("It's Thursday at half past six.", "c"),
        ),
        (task("parent|meeting", "thursday", due=r"Thu .* 18:30"),),
    ),
    Dialogue(
        "recurring",
        (("Remind me every Monday at eight to water the office plants.", "c"),),
        (task("plant", "8|eight", "mon", due=r"Mon .* 08:00"),),
    ),
    Dialogue(
        "recurring",
        (("I want to stretch every evening at nine.", "ac"), ("Every day.", "c")),
        (task("stretch", "9|nine", "day|even", due=r"\+0 .* 21:00"),),
    ),
    Dialogue(
        "goal",
        (("I'd love to learn how to paint.", "ac"), ("By my birthday in June.", "c")),
        (goal("paint", "june|birthday"),),
    ),
    Dialogue(
        "goal",
        (("I want to lose ten kilos by Christmas.", "ac"),),
        (goal("kilo|weight|10", "christmas"),),
    ),
    Dialogue(
        "goal",
        (("My big dream is to speak fluent Japanese.", "ac"), ("Within five years.", "c")),
        (goal("japanese", "five|5"),),
    ),
    Dialogue(
        "move",
        (("Could we push the dentist to next week?", "c"),),
        (move(DENTIST, "next week", due=r"\+([1-9]|1[0-4]) "),),
        BUSY,
    ),
    Dialogue(
        "move",
        (("Shift my workout at the gym to eight tonight.", "c"),),
        (move(GYM, "8|eight", due=r"\+0 .* 20:00"),),
        TODAY,
    ),
    Dialogue(
        "move",
        (
            ("I won't manage the shopping for groceries today.", "a"),
            ("Tomorrow at the same time.", "c"),
        ),
        (move(GROCERIES, "tomorrow", due=r"\+1 .* 17:00"),),
        TODAY,
    ),
    Dialogue(
        "move",
        (("The report needs more time, move it to Friday noon.", "c"),),
        (move(REPORT, "friday", due=r"Fri .* 12:00"),),
        BUSY,
    ),
    Dialogue(
        "move",
        (("Please move the laundry.", "a"), ("To tomorrow evening.", "c")),
        (move(LAUNDRY, "tomorrow", due=r"\+1 .* (1[7-9]|20):"),),
        BUSY,
    ),
    Dialogue("move, not there", (("Reschedule the flight to Oslo, please.", "at"),), (), BUSY),
    Dialogue(
        "correction",
        (("Remind me to phone Alex.", "a"), ("At three, sorry, at four I mean.", "c")),
        (task("alex", "4|four", due=r"\+0 .* 16:00"),),
    ),
    Dialogue(
        "correction after",
        (("Remind me to order pizza at seven.", "c"), ("No, at half past seven.", "c")),
        (task("pizza", "half past|7:30", due=r"\+0 .* 19:30"),),
    ),
    Dialogue(
        "taken back",
        (
            ("Remind me to iron the shirts tonight at nine.", "c"),
            ("Hm, delete that one again, please.", "c"),
        ),
        (),
    ),
    Dialogue(
        "two",
        (("Remind me to buy candles tomorrow at two and to bake the cake at five.", "ac"),),
        (task("candle", "2|two", due=r"\+1 .* 14:00"), task("cake", "5|five", due=r"\+1 .* 17:00")),
        (),
        ("Yes, the cake at five.", "Yes."),
    ),
    Dialogue(
        "two",
        (
            ("I want to learn chess, and remind me to order a chess board on Friday.", "ac"),
            ("No date for the chess.", "act"),
        ),
        (goal("chess"), task("board", "friday", due=r"Fri ")),
        (),
        ("The board on Friday.", "Yes, on Friday."),
    ),
    Dialogue("off topic", (("Can you play some music?", "at"),)),
    Dialogue("off topic", (("How tall is Mount Everest?", "at"),)),
    Dialogue("greeting", (("Good morning!", "at"),)),
    Dialogue(
        "garbled",
        (("Zzk the um wha.", "at"), ("Remind me to sweep the stairs at ten.", "c")),
        (task("stair", "10|ten", due=r"10:00"),),
    ),
    Dialogue(
        "never mind",
        (("Remind me to fix the bike.", "a"), ("Ah, never mind, I did it already.", "at")),
        (),
    ),
    Dialogue(
        "ambiguous",
        (
            ("Something has to change with my sleep.", "a"),
            ("I'd like to make it a goal to sleep eight hours.", "ac"),
        ),
        (goal("sleep"),),
    ),
)
