"""Our page in Chromium through whole talks: every spoken flow of seed 004 §5, seen as cards and in
the work pane, taken back, refused, spoken over, broken off and gone on with. Real voices."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import pytest

from tests.brain.chat_server import ChatServer, Reply, event, open_to_all, stream
from tests.browser import sound
from tests.clients.serving import Served, serve
from tests.clients.talk import share, words
from tests.clients.test_page_goes_on import LONG, ROSES, WAYS, Page, played
from tests.clients.voice import Voice
from tests.journeys.flux import MEXICO, MILK, SCRIPT, SPANISH, TALKS, early, plan_today
from tests.journeys.flux import Told as Rows
from tests.journeys.process import free_port
from tests.journeys.test_tool_flows import workspace

pytestmark = pytest.mark.timeout(240)  # a browser, ears and a mouth on whatever cores there are
WIDE = {"width": 1280, "height": 900}
Steps = Sequence[tuple[str, Any]]


def said_and_answered(sentence: str, answer: str) -> list[tuple[str, Any]]:
    return [
        ("say", sentence),
        ("since", "speaking"),
        ("words", answer.split()),
        ("state", "listening"),
    ]


def cards(page: Page) -> list[str]:
    return [text for role, text in page.lines if role == "intent"]


# --- Goals and tasks --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Flux:
    """One server for all, and each talk under a user's name of its own."""

    served: Served
    folder: Path

    def rows(self, user: str) -> Rows:
        return Rows(user, early(), self.folder / "vivavoce.db")

    async def play(
        self, user: str, way: str, voice: Voice, folder: Path, steps: Steps, **given: Any
    ) -> Page:
        headers = {"x-user-id": user}
        about = {"name": "Sam", "time_zone": early().key, "chronotype": "early"}
        async with httpx.AsyncClient(base_url=self.served.origin, trust_env=False) as http:
            answer = await http.patch("/api/v1/profile", json=about, headers=headers)
            answer.raise_for_status()
        wish = {"headers": headers, "viewport": WIDE, **given}
        return await played(self.served.origin, way, voice, folder, steps, **wish)


@pytest.fixture(scope="module")
def flux(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flux]:
    folder = tmp_path_factory.mktemp("flux")
    asyncio.run(plan_today(folder / "vivavoce.db", "reschedule@webrtc", early()))
    with serve(folder, VIVAVOCE_AGENT="flux", VIVAVOCE_SCRIPT=str(SCRIPT)) as served:
        yield Flux(served, folder)


GREETED: Steps = [("click", "talk"), ("words", ["Hello!"]), ("state", "listening")]


@dataclass(frozen=True, slots=True)
class Flow:
    answers: Sequence[str]
    """Words of what is answered to each sentence of the talk."""
    cards: Sequence[str]
    """What is on each card that is left."""
    work: Mapping[str, str]
    """What stands in the work pane, by its kind."""


FLOWS: Mapping[str, Flow] = {
    "goal": Flow(["by when", "goal is set"], ["Learn Spanish"], {"goal": "Learn Spanish"}),
    "task": Flow(["when?", "got it"], ["Call mom"], {"todo": "Call mom"}),
    "location": Flow(["done!"], ["Buy milk"], {"todo": "Buy milk"}),
    "recurring": Flow(["which days?", "done!"], ["Meditate"], {"todo": "Meditate"}),
    "reschedule": Flow(["when?", "done!"], ["Friday"], {"todo": "Gym"}),
    "two_intents": Flow(
        ["by when?", "the shoes", "done!"],
        ["Run a 5K", "Buy running shoes"],
        {"goal": "Run a 5K", "todo": "Buy running shoes"},
    ),
    "off_topic": Flow(["help with goals and tasks"], [], {}),
    "ambiguous": Flow(
        ["a goal, or a task?", "by when?", "done!"], ["Run a marathon"], {"goal": "Run a marathon"}
    ),
    "amended": Flow(["done!", "done!"], ["Buy stamps"], {"todo": "Buy stamps"}),
}
TALKED = [
    pytest.param(name, way, marks=[] if (name, way) == ("goal", "webrtc") else pytest.mark.full)
    for name in FLOWS
    for way in WAYS
    # Its task is in the script by its id, and one id is one user's.
    if (name, way) != ("reschedule", "websocket")
]
ROUTES = {
    "goal": ["GOAL"],
    "reschedule": ["RESCHEDULE_TASK"],
    "two_intents": ["GOAL", "NEW_TASK"],
    "off_topic": [],
    "ambiguous": ["GOAL"],
}


@pytest.mark.parametrize(("name", "way"), TALKED)
async def test_what_is_wished_for_aloud_is_asked_about_shown_as_a_card_and_stands_in_the_work_pane(
    name: str, way: str, flux: Flux, voice: Voice, tmp_path: Path
) -> None:
    flow, user = FLOWS[name], f"{name}@{way}"
    (sentences,) = TALKS[name]
    steps = list(GREETED)
    for sentence, answer in zip(sentences, flow.answers, strict=True):
        steps += said_and_answered(sentence, answer)
    saved = "Changed" if name == "amended" else "Saved"
    steps += [("sees", ["intent", saved])] if flow.cards else []
    steps += [("sees", [kind, title]) for kind, title in flow.work.items()]
    steps += [("click", "talk"), ("state", "idle")]
    page = await flux.play(user, way, voice, tmp_path, steps)
    said = [text for role, text in page.lines if role == "user"]
    assert all(share(wish, text) >= 0.6 for wish, text in zip(sentences, said, strict=True)), said
    shown = cards(page)
    assert len(shown) == len(flow.cards), page.lines
    for wanted, text in zip(flow.cards, shown, strict=True):
        assert wanted in text
        assert saved in text
    heard = await page.heard(voice)
    # Ears are not sure of a single "Done!": what is said word by word is in other tests.
    assert share("hello " + " ".join(flow.answers), heard) > 0, heard
    rows = flux.rows(user)
    intents = rows.rows("intents")
    assert [row["route"] for row in intents] == ROUTES.get(name, ["NEW_TASK"])
    assert {row["status"] for row in intents} <= {"accepted"}
    # It was hung up: the session is over, and nobody was cut off.
    (session,) = rows.rows("voice_sessions")
    assert session["status"] == "completed"
    (conversation,) = rows.rows("conversations")
    assert conversation["ended_at"] is not None


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
async def test_what_was_understood_is_taken_back_with_one_click_while_the_talk_goes_on(
    way: str, flux: Flux, voice: Voice, tmp_path: Path
) -> None:
    user = f"undo@{way}"
    steps = [
        *GREETED,
        *said_and_answered(MILK, "done!"),
        ("sees", ["todo", "Buy milk"]),
        ("click", "undo"),
        ("sees", ["intent", "Taken back"]),
        ("gone", "todo"),
        ("gone", "undo"),
        *said_and_answered(SPANISH, "by when?"),
    ]
    page = await flux.play(user, way, voice, tmp_path, steps)
    (card,) = cards(page)
    assert "Buy milk" in card
    assert "Taken back" in card
    rows = flux.rows(user)
    assert (rows.one("intents")["status"], rows.one("tasks")["status"]) == ("retracted",) * 2


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
async def test_who_leaves_in_the_middle_of_a_wish_finds_it_later_and_finishes_it(
    way: str, flux: Flux, voice: Voice, tmp_path: Path
) -> None:
    """The tab is closed after the question; nothing is made of half a wish."""
    user = f"leaves@{way}"
    steps = [
        *GREETED,
        *said_and_answered(SPANISH, "by when?"),
        ("close", None),
        ("tab", None),
        ("conversation", "By when?"),
        ("words", ["spanish", "by when?"]),
        ("click", "talk"),
        ("state", "listening"),
        *said_and_answered(MEXICO, "goal is set"),
        ("sees", ["intent", "Saved"]),
    ]
    narrow = {"width": 420, "height": 800}
    page = await flux.play(user, way, voice, tmp_path, steps, viewport=narrow)
    assert "spanish" in page.lines[1][1].lower(), page.lines
    rows = flux.rows(user)
    assert len(rows.rows("conversations")) == 1, "it is one conversation"
    first, second = rows.rows("voice_sessions")
    assert first["status"] == "completed"
    assert first["ended_at"] <= second["created_at"]
    (intent,) = rows.rows("intents")
    assert intent["voice_session_id"] == second["id"], "nothing was made of half a wish"
    assert "spanish" in rows.one("goals")["statement"].lower()


ENGLISH = {
    "Listening", "Thinking", "Speaking", "You speak", "Connecting", "Ready when you are",
    "Start talking", "Hang up", "Cancel", "Continue",
}  # fmt: skip


@pytest.mark.full
async def test_in_a_german_browser_the_whole_talk_is_shown_in_german(
    flux: Flux, voice: Voice, tmp_path: Path
) -> None:
    """What is said stays as it was said."""
    steps = [
        *GREETED,
        *said_and_answered(SPANISH, "by when?"),
        *said_and_answered(MEXICO, "goal is set"),
        ("sees", ["intent", "Gespeichert"]),
        ("sees", ["goal", "Learn Spanish"]),
        ("click", "undo"),
        ("sees", ["intent", "Zurückgenommen"]),
        ("gone", "goal"),
        ("click", "talk"),
        ("state", "idle"),
    ]
    page = await flux.play("german", "webrtc", voice, tmp_path, steps, locale="de-DE")
    told = {*page.all("words"), *page.all("button")}
    assert not told & ENGLISH, told
    assert {"Hört zu", "Du sprichst", "Denkt nach", "Spricht", "Auflegen"} <= told
    (card,) = cards(page)
    assert card.startswith("Ziel"), card


# --- The call ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(tmp_path_factory.mktemp("house")) as served:
        yield served


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
async def test_a_call_is_up_within_three_seconds_of_the_press(
    way: str, house: Served, voice: Voice, tmp_path: Path
) -> None:
    """Seed 004 §15: the usual one of five, from the question for the microphone on."""
    once: Steps = [("click", "talk"), ("state", "listening"), ("click", "talk"), ("state", "idle")]
    steps = [("state", "idle"), *(5 * [*once, ("click", "new")])]
    page = await played(house.origin, way, voice, tmp_path, steps, viewport=WIDE)
    asked = [at for kind, state, at in page.shown if (kind, state) == ("state", "asking")]
    seconds = [page.at("listening", at) - at for at in asked]
    assert len(seconds) == 5
    assert median(seconds) <= 3.0, seconds


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
async def test_captions_follow_the_voice_and_never_run_ahead_of_it(
    way: str, house: Served, voice: Voice, tmp_path: Path
) -> None:
    """What is shown at a moment is what had sounded by then, within a few words."""
    steps = [("click", "talk"), ("state", "listening"), *said_and_answered(LONG, "roses")]
    page = await played(house.origin, way, voice, tmp_path, steps)
    begins = page.at("speaking")
    grew = [
        (at, words(text.removeprefix("Assistant: ")))
        for kind, text, at in page.shown
        if kind == "answer" and at >= begins - 0.5
    ]
    whole = len(grew[-1][1])
    counts = [len(shown) for _, shown in grew]
    assert counts == sorted(counts), counts
    partly = [(at, n) for (at, _), n in zip(grew, counts, strict=True) if 0 < n < whole]
    assert len(partly) >= 4, grew
    assert max(after - before for before, after in pairwise(counts)) <= 8
    for part in (0.35, 0.7):
        at, shown = min(partly, key=lambda one: abs(one[1] - part * whole))
        heard = words(await page.heard(voice, end=at + page.onset() - begins))
        # A recording by a busy machine has gaps less, and seems to be ahead.
        assert -8 <= shown - len(heard) <= 2, (at, shown, heard, grew)


class Pausing(ChatServer):
    """Begins an answer, and thinks for a while in the middle of it."""

    def __init__(self) -> None:
        super().__init__([])
        self.begun = asyncio.Event()
        self.more = asyncio.Event()

    def reply(self, asked: dict[str, Any]) -> Reply:
        first, rest = (
            [event(content=f"{word} ") for word in sentence.split()]
            for sentence in ("That is a good question.", "The answer is on the table.")
        )
        if "garden" not in str(asked):
            return stream(*rest)
        self.begun.set()
        return stream(*first, *rest, first=len(first), until=self.more)


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
async def test_the_page_says_thinking_again_while_an_answer_pauses_before_its_end(
    way: str, voice: Voice, tmp_path: Path
) -> None:
    steps = [
        ("click", "talk"),
        ("state", "listening"),
        ("say", ROSES),
        ("state", "speaking"),
        ("state", "thinking"),
        ("stays", ["thinking", 1]),
        ("mark", "again"),
        ("state", "speaking"),
        ("words", ["table"]),
        ("state", "listening"),
    ]
    async with open_to_all(Pausing()) as brain:
        settings: dict[str, Any] = {"VIVAVOCE_BRAIN": brain.url, "VIVAVOCE_BRAIN_MODEL": "m"}
        with serve(tmp_path / "server", **settings) as served:
            async with asyncio.TaskGroup() as group:
                playing = group.create_task(played(served.origin, way, voice, tmp_path, steps))
                await brain.begun.wait()
                await asyncio.sleep(9)  # the first sentence was heard, and then nothing
                brain.more.set()
                page = await playing
    states = page.since("hearing")
    assert states[-5:] == ["thinking", "speaking", "thinking", "speaking", "listening"], states
    assert "Thinking" in page.all("words")


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
async def test_who_speaks_over_an_answer_is_heard_and_the_rest_of_it_is_not_said(
    way: str, house: Served, voice: Voice, tmp_path: Path
) -> None:
    steps = [
        ("click", "talk"),
        ("state", "listening"),
        ("say", LONG),
        ("state", "speaking"),
        ("wait", 1.5),
        ("say", "Stop, please wait a moment."),
        ("mark", "said"),
        ("words", ["moment", "interrupted"]),
        ("state", "speaking"),
        ("state", "listening"),
    ]
    page = await played(house.origin, way, voice, tmp_path, steps)
    assert [who for who, _ in page.lines] == ["user", "assistant", "user", "assistant"], page.lines
    _, cut, said, answer = (text for _, text in page.lines)
    assert "interrupted" in cut
    assert "roses" not in cut
    assert "moment" in said
    assert "moment" in answer
    silent = page.at("hearing", page.at("speaking"))
    assert silent < page.mark("said"), "it falls silent while one speaks, and not after"
    heard = await page.heard(voice, end=page.at("speaking", silent) - 0.1)
    kept = words(cut.partition("interrupted")[0].removeprefix("Assistant: "))
    assert abs(len(kept) - len(words(heard))) <= 3, (kept, heard)


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
async def test_what_is_typed_in_the_middle_of_a_call_is_answered_aloud(
    way: str, house: Served, voice: Voice, tmp_path: Path
) -> None:
    steps = [
        ("click", "talk"),
        ("state", "listening"),
        ("say", LONG),
        ("state", "speaking"),
        ("wait", 1.5),
        ("write", "What is six times seven?"),
        ("mark", "written"),
        ("words", ["42"]),
        ("state", "listening"),
        *said_and_answered(ROSES, "the old garden"),
    ]
    page = await played(house.origin, way, voice, tmp_path, steps)
    said = [who for who, _ in page.lines if who != "tool"]
    assert said == ["user", "assistant"] * 3, page.lines
    assert "interrupted" in page.lines[1][1], "who writes has heard enough"
    heard = await page.heard(voice, page.mark("written"))
    assert "42" in heard or "forty" in heard.lower(), heard
    assert share(ROSES, page.lines[-2][1]) >= 0.7


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
async def test_with_the_microphone_off_nothing_is_heard_and_with_it_on_again_it_is(
    way: str, house: Served, voice: Voice, tmp_path: Path
) -> None:
    steps = [
        ("click", "talk"),
        ("state", "listening"),
        ("click", "mute"),
        ("say", LONG),
        ("stays", ["listening", 4]),
        ("click", "mute"),
        *said_and_answered("My sister plays the piano every evening.", "piano"),
    ]
    page = await played(house.origin, way, voice, tmp_path, steps)
    assert "Muted" in page.all("words")
    assert [who for who, _ in page.lines] == ["user", "assistant"], page.lines
    assert "apples" not in page.lines[0][1].lower()
    assert "piano" in page.lines[0][1].lower()


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
async def test_a_talk_that_is_gone_for_good_says_so_and_stays_to_be_read(
    way: str, voice: Voice, tmp_path: Path
) -> None:
    """Another server is there when the first one is gone, and knows nothing of it."""
    port = free_port()
    steps = [
        ("click", "talk"),
        ("state", "listening"),
        *said_and_answered(ROSES, "the old garden"),
        ("seen", "reconnecting"),
        ("state", "failed"),
        ("stays", ["failed", 4]),
        ("click", "talk"),
        ("state", "listening"),
    ]
    with serve(tmp_path / "first", VIVAVOCE_PORT=str(port)) as served:
        async with asyncio.TaskGroup() as group:
            playing = group.create_task(played(served.origin, way, voice, tmp_path, steps))
            await _answered(served)
            await asyncio.sleep(8)  # it is heard to its end
            await asyncio.to_thread(served.kill)
            with ExitStack() as stack:
                another = serve(tmp_path / "second", VIVAVOCE_PORT=str(port))
                await asyncio.to_thread(stack.enter_context, another)
                page = await playing
    assert page.all("problem"), "why it does not go on"
    assert "Try again" in page.all("button")


async def _answered(served: Served) -> None:
    """Until a talk has its first answer, and that was heard."""
    async with (
        asyncio.timeout(90),
        httpx.AsyncClient(base_url=served.origin, trust_env=False) as http,
    ):
        while True:
            found = (await http.get("/api/v1/conversations")).json()["conversations"]
            if any(one["message_count"] >= 2 for one in found):
                return
            await asyncio.sleep(0.3)


# --- Tools ------------------------------------------------------------------------------------

PAINTING = """\
otherwise: "All right."
rules:
  - when: paint
    call: {bash: {command: "touch painted"}}
  - result_of: bash
    when: not allow
    say: "Then it stays as it is."
  - result_of: bash
    say: "The door is blue now."
"""


@pytest.mark.full
@pytest.mark.parametrize("way", ["webrtc", "websocket"])
@pytest.mark.parametrize(
    ("answer", "told"),
    [("Yes, go ahead.", "door is blue"), ("No, please don't.", "stays as it is")],
)
async def test_what_needs_a_yes_is_asked_on_the_page_and_aloud_and_answered_by_voice(
    way: str, answer: str, told: str, voice: Voice, tmp_path: Path
) -> None:
    script = tmp_path / "painting.yaml"
    script.write_text(PAINTING)
    granted = answer.startswith("Yes")
    steps = [
        ("click", "talk"),
        ("state", "listening"),
        ("say", "Please paint the door."),
        ("sees", ["approval", "touch painted"]),
        ("speech", 1.0),
        ("say", answer),
        ("gone", "approval"),
        ("speech", 1.0),
        ("words", told.split()),
        ("state", "listening"),
    ]
    with serve(tmp_path / "server", VIVAVOCE_SCRIPT=str(script)) as served:
        page = await played(served.origin, way, voice, tmp_path, steps)
    assert f"bash was {'allowed' if granted else 'refused'} by voice." in page.all("notice")
    assert (Path(f"{tmp_path / 'server'}-workspace") / "painted").exists() is granted
    assert "Waiting for your yes" in page.all("words")
    heard = await page.heard(voice)
    assert share(f"may I? yes or no? {told}", heard) >= 0.7, heard


@pytest.mark.full
async def test_a_yes_on_the_page_holds_this_once_for_the_session_or_until_it_is_taken_back(
    voice: Voice, tmp_path: Path
) -> None:
    script = tmp_path / "painting.yaml"
    script.write_text(PAINTING)

    def painted(*between: tuple[str, Any], told: str = "door is blue") -> Steps:
        return [("write", "Please paint the door."), *between, ("last", told), ("state", "idle")]

    def asked(button: str, told: str = "door is blue") -> Steps:
        return painted(
            ("sees", ["approval", "touch painted"]),
            ("wait", 1.0),  # whoever presses at once did not read it
            ("click", f"approval-{button}"),
            ("gone", "approval"),
            told=told,
        )

    steps: Steps = [
        ("state", "idle"),
        *asked("yes"),
        *asked("session"),
        *painted(),  # it is not asked again
        ("click", "new"),
        *asked("always"),  # another session asks
        ("click", "new"),
        *painted(),
        ("click", "open-settings"),
        ("sees", ["grant", "Always"]),
        ("shot", str(tmp_path / "allowed.png")),
        ("click", "revoke"),  # the newest is the first
        ("never", ["grant", "Always"]),
        ("key", "Escape"),
        ("click", "new"),
        *asked("no", told="stays as it is"),
    ]
    with serve(tmp_path / "server", VIVAVOCE_SCRIPT=str(script)) as served:
        page = await played(served.origin, "webrtc", voice, tmp_path, steps, viewport=WIDE)
        async with httpx.AsyncClient(base_url=served.origin, trust_env=False) as http:
            left = (await http.get("/grants")).raise_for_status().json()["approvals"]
    assert [one["reach"] for one in left] == ["session"]
    assert "stays as it is" in page.lines[-1][1]


RUNNING = """\
rules:
  - when: run the tests
    call: {bash: {command: "pytest -v"}}
  - result_of: bash
    when: 50 passed
    say: "All fifty tests passed."
  - result_of: bash
    say: "That did not work."
"""


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
async def test_a_tool_waits_for_a_click_shows_how_far_it_is_and_its_end_is_told(
    way: str, voice: Voice, tmp_path: Path
) -> None:
    script = tmp_path / "running.yaml"
    script.write_text(RUNNING)
    steps = [
        ("click", "talk"),
        ("state", "listening"),
        ("say", "Please run the tests."),
        ("sees", ["approval", "pytest"]),
        ("speech", 1.0),
        ("stays", ["tool", 1]),
        ("click", "approval-yes"),
        ("words", ["all fifty tests passed"]),
        ("state", "listening"),
    ]
    own: dict[str, Any] = {
        "VIVAVOCE_SCRIPT": str(script),
        "VIVAVOCE_WORKSPACE": str(workspace(tmp_path)),
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
    }
    with serve(tmp_path / "server", **own) as served:
        page = await played(served.origin, way, voice, tmp_path, steps)
    assert any("of 50" in text for text in page.all("tool")), page.all("tool")
    assert any(text.startswith("Running") for text in page.all("words")), page.all("words")
    heard = await page.heard(voice)
    assert "50 tests" in heard or "fifty tests" in heard.lower(), heard


# --- The browser's own question ---------------------------------------------------------------


async def test_the_browser_asks_for_the_microphone_before_anything_else_is_begun(
    voice: Voice, tmp_path: Path, served: Served
) -> None:
    """Nothing is asked of the server until the user said yes, and who lets go while the browser
    still asks is not heard afterwards."""
    steps: Steps = [
        ("state", "idle"),
        ("click", "talk"),
        ("state", "asking"),
        ("stays", ["asking", 1]),
        ("answer", True),
        ("state", "listening"),
        ("click", "talk"),
        ("state", "idle"),
        ("deaf", None),
    ]
    page = await played(served.origin, "webrtc", voice, tmp_path, steps)
    told = page.told.one("asked")
    assert (told["asked"], told["permission"]) == (1, "prompt")
    assert not [path for path in told["called"] if path.startswith(("/session", "/api/v1/voice"))]
    assert "May this page hear you? Your browser asks" in page.all("words")
    assert "Cancel" in page.all("button")


@pytest.mark.full
@pytest.mark.parametrize("yes", [True, False])
async def test_who_lets_go_while_the_browser_asks_is_not_heard_whatever_is_answered_then(
    yes: bool, voice: Voice, tmp_path: Path, served: Served
) -> None:
    left: Steps = [("click", "talk"), ("state", "asking"), ("click", "talk"), ("state", "idle")]
    after: Steps = [("deaf", None)] if yes else []
    steps = [("state", "idle"), *left, ("answer", yes), *after, ("stays", ["idle", 2])]
    page = await played(served.origin, "webrtc", voice, tmp_path, steps)
    assert page.all("state")[-1] == "idle"
    assert not page.all("problem")


@pytest.mark.full
async def test_who_closes_the_browsers_question_reads_how_to_allow_it_and_can_try_again(
    voice: Voice, tmp_path: Path, served: Served
) -> None:
    steps: Steps = [
        ("click", "talk"),
        ("state", "asking"),
        ("answer", False),
        ("state", "refused"),
        ("stays", ["refused", 1]),
    ]
    page = await played(served.origin, "webrtc", voice, tmp_path, steps)
    assert page.told.one("asked")["permission"] == "prompt"
    assert any("may not hear you" in words for words in page.all("problem"))
    assert page.all("button")[-1] == "Try again"


# --- Devices ----------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
async def test_the_microphone_and_the_loudspeaker_that_were_chosen_are_those_of_the_call(
    way: str, house: Served, voice: Voice, tmp_path: Path
) -> None:
    """The browser has several of each, and none of them is real. It names them anew with every
    load of a page, so a reload is no part of it."""
    wav = sound.microphone(tmp_path / "spoken.wav", await voice.say(ROSES))
    steps = [
        ("click", "open-settings"),
        ("click", "test-microphone"),
        ("sees", ["hears", "It hears you."]),
        ("choose", ["microphone", "Fake Audio Input 2"]),
        ("choose", ["speaker", "Fake Audio Output 2"]),
        ("click", "open-talk"),
        ("click", "talk"),
        ("words", ["garden"]),
        ("devices", None),
    ]
    page = await played(house.origin, way, voice, tmp_path, steps, wav=str(wav))
    told = page.told.one("devices")
    assert told["microphone"] == "Fake Audio Input 2"
    assert told["speakers"]
    assert set(told["speakers"]) == {"Fake Audio Output 2"}
