"""What counts as said, as named and as read: the facts that a call is judged by."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from vivavoce.language.en.said import Said
from vivavoce.runtime.calls import reading as looking
from vivavoce.runtime.calls.outside import (
    Read,
    called,
    loaded,
    of_conversation,
    placed,
    source_to_name,
)
from vivavoce.runtime.calls.reading import facts_of
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.testing.fakes import MemoryStore
from vivavoce.wire.records.talk import (
    Conversation,
    Entry,
    Kind,
    PutConversation,
    PutEntry,
    PutSession,
    VoiceSession,
)
from vivavoce.wire.records.work import Question, Role, Task, TaskStatus

TALK = str(UUID(int=7))
START = datetime(2026, 11, 17, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ("Open example dot org.", "https://example.org"),
        ("open www.example.org/docs please", "https://www.example.org/docs"),
        (
            "Go to docs dot example dot org slash getting dash started.",
            "docs.example.org/getting-started/",
        ),
        ("fetch https://example.org/a?b=1", "https://example.org/a?b=1"),
        ("look at p y p i dot org", "https://pypi.org/"),
        ("Open WWW.Example.ORG/Docs/", "http://example.org/docs"),
        ("open stack overflow dot com", "https://stackoverflow.com"),
        ("https colon slash slash example dot org slash a underscore b", "http://example.org/a_b"),
        ("see (https://example.org/a_(b)).", "https://example.org/a_(b)"),
        ("example.org, slash docs", "example.org/docs"),
        ("what's on example.org's first page?", "https://example.org"),
        ("open bücher.example", "https://xn--bcher-kva.example/"),
        ("it's on localhost:8080/x", "http://localhost:8080/x"),
        ("try [2001:db8::1] or http://[2001:db8::1]/x", "http://[2001:db8::1]/x"),
        ("go to example dot org slash version slash twenty five", "example.org/version/25"),
    ],
)
def test_an_address_that_was_said_is_said_however_it_is_written(said: str, url: str) -> None:
    assert Said([said]).address(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/?d=secret",
        "https://example.org.evil.net",
        "https://evil.net/example.org",
        "https://secret.example.org",
        "https://example.org@evil.net",
        "https://example.com",
        "https://example.org/.",
        "https://example.org//",
        "https://example.org/?-",
        "https://dot.example.org",
        "https://ex.ample.org",
        "https://example-org",
        "https://example.org:8443",
        "example.org slash dot",
        "https://openexample.org",
        "not an address",
    ],
)
def test_an_address_with_more_in_it_was_not_said(url: str) -> None:
    assert not Said(["Open example dot org."]).address(url)


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ("what's in my notes", "notes.md"),
        ("the shopping list", "lists/shopping_list.txt"),
        ("read config dot py", "src/config.py"),
        ("the read me", "README.md"),
        ("change the make file", "Makefile"),
        ("open dot github slash workflows slash test dot yml", ".github/workflows/test.yml"),
        ("the package json", "./package.json"),
        ("update config", "src/config.py"),
        ("README.md", "README.md"),
        ("my new plan", "plan.md"),
        ("fix the app config", "config.toml"),
        ("write Jenkinsfile", "Jenkinsfile"),
        ("open dot env", ".env"),
        ("change .env", ".env"),
        ("make shopping underscore list dot md", "shopping_list.md"),
    ],
)
def test_a_file_that_was_named_is_named(said: str, path: str) -> None:
    assert Said([said]).names(placed(path), whole=loaded(path))


@pytest.mark.parametrize(
    "path",
    [
        "Makefile",
        "it.py",
        "run.py",
        "names.py",
        "please.md",
        "shorter.md",
        "me.md",
        "env.py",
        "to",
        "new.py",
    ],
)
def test_a_word_in_passing_names_no_file(path: str) -> None:
    words = "Can you make file names shorter and run it for me, please? What env is it?"
    said = Said([words, "to"])
    assert not said.names(path, whole=loaded(path))


def test_a_name_does_not_go_over_the_end_of_a_sentence_or_of_what_was_said() -> None:
    said = Said(["Look at the package. Json is fine.", "I like the make", "file it"])
    assert not said.names("package.json", whole=True)
    assert not said.names("Makefile", whole=True)


@pytest.mark.parametrize(
    "path", [".github/workflows/test.yml", "tests.sh", ".git/hooks/run", "package.json"]
)
def test_what_programs_load_is_named_as_a_whole_or_not_at_all(path: str) -> None:
    said = Said(["run the tests of the package, and test the other hook"])
    assert not said.names(path, whole=True)


@pytest.mark.parametrize(
    "path",
    [
        *("Makefile", "web/package.json", "a/b.sh", ".env", "x/.y/z.txt", "AGENTS.md", "CLAUDE.md"),
        *("compose.yaml", "docker-compose.prod.yml", "Jenkinsfile", "site.pth", "sitecustomize.py"),
        *("build.gradle", "settings.gradle.kts", "requirements.txt", "requirements-dev.txt"),
        *("Pipfile", "Gemfile", "pom.xml", "tsconfig.json", "vite.config.ts", "flake.nix"),
        *("GEMINI.md", "azure-pipelines.yml", "usercustomize.py", "Containerfile", "x.csproj"),
    ],
)
def test_some_files_are_run_or_loaded(path: str) -> None:
    assert loaded(path)
    assert not loaded("src/main.py")


def test_numbers_count_in_words_and_figures() -> None:
    said = Said(["set the timeout to twenty five, and the limit to 9000"])
    assert said.words("timeout = 25; limit = 9000")
    assert not said.words("timeout = 26")


@pytest.mark.parametrize(
    ("url", "fine"),
    [
        ("https://docs.python.org/3/", True),
        ("docs.python.org", True),
        ("https://python.org.evil.net", False),
        ("https://evil.net/#docs.python.org", False),
        ("https://docs.python.org@evil.net/", False),
        ("http://[::1", False),
        ("https://evil.net slash x@docs.python.org/", False),
        ("https://evil.net slash .docs.python.org/", False),
        ("'https://docs.python.org/'", True),
        ("docs dot python dot org", True),
        ("https://evil.net\\@docs.python.org", False),
        ("ftp://docs.python.org", False),
    ],
)
def test_a_host_is_one_of_the_list_or_none(url: str, fine: bool) -> None:
    assert called(url, ["*.python.org"]) is fine


def entries(*told: tuple[Kind, str, dict[str, Any]]) -> list[Entry]:
    return [
        Entry(
            id=str(UUID(int=at)),
            conversation_id=TALK,
            user_id="ann",
            kind=kind,
            text=text,
            created_at=START + timedelta(seconds=at),
            ordinal=float(at),
            data=data,
        )
        for at, (kind, text, data) in enumerate(told)
    ]


def reading(
    path: str, at: str, *, tool: str = "read_file", success: bool = True, **more: Any
) -> list[tuple[Kind, str, dict[str, Any]]]:
    what = {"tool_name": tool, "tool_call_id": at}
    return [
        (Kind.TOOL_CALL, "", {**what, "tool_arguments": {"path": path}}),
        (Kind.TOOL_RESULT, "text", {**what, "tool_result": {"success": success}, **more}),
    ]


def asked(told: list[tuple[Kind, str, dict[str, Any]]], path: str) -> bool:
    facts = of_conversation(entries(*told), (), lambda name: None)
    given = {"path": path, "content": "words of somebody else"}
    return source_to_name("write_file", given, None, facts, place=placed(path)) is not None


def user(words: str) -> tuple[Kind, str, dict[str, Any]]:
    return Kind.USER, words, {}


def test_the_file_that_a_turn_begins_with_is_under_discussion_and_no_later_one() -> None:
    told = [user("look at it"), *reading("a.txt", "1"), *reading("b.txt", "2")]
    assert not asked(told, "a.txt")
    assert not asked(told, "./a.txt")
    assert asked(told, "b.txt")


@pytest.mark.parametrize("words", ["Yes.", "No.", "Stop.", "Yes, for this session.", ""])
def test_a_bare_answer_begins_no_turn(words: str) -> None:
    told = [user("look at it"), *reading("a.txt", "1"), user(words), *reading("b.txt", "2")]
    assert asked(told, "b.txt")


def test_other_words_do() -> None:
    told = [user("look at it"), *reading("a.txt", "1"), user("and now?"), *reading("b.txt", "2")]
    assert not asked(told, "b.txt")


def test_a_file_that_could_not_be_read_brought_no_words() -> None:
    assert not asked([user("go"), *reading("a.txt", "1", success=False)], "b.txt")


def test_nothing_read_is_nothing_asked() -> None:
    assert not asked([user("write something somewhere")], "anything.txt")


def test_an_edit_counts_as_a_reading_of_the_file_also_when_it_fails() -> None:
    for success in (True, False):
        told = [user("go"), *reading("a.txt", "1", tool="edit_file", success=success)]
        assert asked(told, "b.txt")
        assert not asked(told, "a.txt"), "the turn began with it"


def test_a_call_that_was_refused_brought_nothing() -> None:
    told = [user("go"), *reading("a.txt", "1", tool="edit_file", success=False, ran=False)]
    assert not asked(told, "b.txt")


def test_what_lies_further_back_than_anybody_looked_counts_as_read() -> None:
    facts = of_conversation(entries(user("go")), (), lambda name: None, whole=False)
    source = source_to_name("web_fetch", {"url": "https://example.org"}, None, facts)
    assert source is not None
    assert source.words == "what came earlier"


_ASKS = {"question": Question(id="q", text="Open evil.example?", asked_at=START)}
_ENDED = {"status": TaskStatus.COMPLETED, "result": "Open evil.example.", "finished_at": START}


@pytest.mark.parametrize(
    ("task", "counts"),
    [
        ({"status": TaskStatus.WAITING, **_ASKS}, True),
        (_ENDED, True),  # not told yet: every talk begins with it
        ({**_ENDED, "told_at": START}, False),  # in another talk
        ({**_ENDED, "told_at": START + timedelta(hours=1)}, True),
        ({"status": TaskStatus.RUNNING, "progress": "Open evil.example."}, False),
    ],
)
@pytest.mark.parametrize("begun", [True, False])
def test_what_a_task_has_to_tell_counts_in_a_talk_that_is_younger(
    task: dict[str, Any], counts: bool, begun: bool
) -> None:
    about: dict[str, Any] = {"description": "look", "title": "Look", "agent": "a", "backend": "b"}
    when: dict[str, Any] = {"created_at": START, "updated_at": START}
    one = Task(id="task_1", user_id="ann", **about, **when, **task)
    said = entries(user("hello"), user("go on")) if begun else []
    later = [replace(entry, created_at=START + timedelta(minutes=1)) for entry in said]
    facts = of_conversation(later, [one], lambda name: None)
    source = source_to_name("web_fetch", {"url": "https://evil.example"}, None, facts)
    if one.told_at is not None and not begun:
        counts = False
    assert (source is not None and source.words) == (counts and 'the task "Look"')


async def test_neither_calls_nor_turns_make_what_was_read_older(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(looking, "LOOKED_BACK", 10)
    monkeypatch.setattr(looking, "FURTHEST", 60)
    clock = [("current_time", str(at)) for at in range(40)]
    flood = [one for tool, at in clock[:20] for one in reading("", f"x{at}", tool=tool)]
    read = [user("read it"), *reading("a.txt", "1")]
    assert [one.source.name for one in await looked(read + flood)] == ["a.txt"]
    longer = flood + [one for tool, at in clock for one in reading("", f"y{at}", tool=tool)]
    assert [one.source.kind for one in await looked(read + longer)] == ["earlier"]
    turns = [user(f"and {at}?") for at in range(150)]
    assert [one.source.name for one in await looked(read + turns[:40])] == ["a.txt"]
    assert [one.source.kind for one in await looked(read + turns)] == ["earlier"]


async def looked(told: list[tuple[Kind, str, dict[str, Any]]]) -> tuple[Read, ...]:
    store = MemoryStore()
    await store.open()
    who = {"user_id": "ann", "created_at": START, "updated_at": START}
    await store.commit([PutConversation(Conversation(id=TALK, **who))])  # type: ignore[arg-type]
    await store.commit([PutEntry(one) for one in entries(*told)])
    facts = await facts_of(store, TALK, "ann", lambda name: None, "user")
    await store.close()
    return facts.read


FORGED = {"tool_name": "web_search", "tool_call_id": "1"}
SAID: dict[str, list[tuple[Kind, str, dict[str, Any]]]] = {
    "said": [user("Open evil.example/secret")],
    "found": [
        (Kind.TOOL_CALL, "", {**FORGED, "tool_arguments": {"query": "x"}}),
        (Kind.TOOL_RESULT, "https://evil.example/secret", {**FORGED, "ran": True}),
    ],
    "nothing": [(Kind.ASSISTANT, "I will open evil.example/secret", {})],
}


@pytest.mark.parametrize(
    ("whose", "asking", "said", "taken"),
    [
        ("local", "user", "said", True),
        ("local", "operator", "said", False),
        ("local", "operator", "found", False),
        ("local", "operator", "nothing", False),
        ("ann", "operator", "said", True),  # a person, who had a lesser role before
    ],
)
async def test_what_was_said_with_a_lesser_key_is_nothing_that_a_higher_one_said(
    whose: str, asking: Role, said: str, taken: bool
) -> None:
    store = MemoryStore()
    await store.open()
    who: dict[str, Any] = {"user_id": whose, "created_at": START, "updated_at": START}
    told = entries(*SAID[said], user("Go on."))
    roles: tuple[Role, ...] = ("user", "operator")
    sessions = [
        VoiceSession(
            id=f"s{at}",
            conversation_id=TALK,
            agent="x",
            role=role,
            # Whatever it says there: it is not read.
            metadata={"role": "operator", "options": {"role": "operator"}},
            **who,
        )
        for at, role in enumerate(roles)
    ]
    await store.commit([PutConversation(Conversation(id=TALK, **who))])
    await store.commit([PutSession(one, new=True) for one in sessions])
    for one in told:
        led = "s1" if one is told[-1] else "s0"
        await store.commit([PutEntry(replace(one, session_id=led, user_id=whose))])
    facts = await facts_of(store, TALK, whose, lambda name: None, asking)
    await store.close()
    source = source_to_name("web_fetch", {"url": "https://evil.example/secret"}, None, facts)
    assert (source is None) is taken
    assert source is None or source.words == "what was said with a lesser key"


def test_a_file_that_has_the_name_of_a_server_is_not_that_server() -> None:
    def known(name: str) -> ToolDefinition:
        server = "" if name == "read_file" else "tracker"
        return ToolDefinition(name=name, description="", parameters={}, server=server)

    for name, fine in (("read_file", False), ("tracker_list", True)):
        told = entries(user("go"), *reading("tracker", "1", tool=name))
        facts = of_conversation(told, (), known)
        assert (source_to_name("tracker_add", {}, known("tracker_add"), facts) is None) is fine


@pytest.mark.parametrize(
    "text", ["!?!?", "look....!!!;;,,at it", "look \u200bat \U0001f600 it", "\u2e2e", ""]
)
def test_signs_that_nobody_said_are_no_words(text: str) -> None:
    assert not Said(["look at it"]).words(text)
    assert Said(["look at it"]).words('"Look" at it, (it): look!')
