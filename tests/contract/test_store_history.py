"""What every store promises about conversations as people read them: list, pages, search."""

from __future__ import annotations

from dataclasses import replace

from tests.contract.conftest import Backend
from tests.contract.records import at, conversation, entry, uid
from vivavoce.runtime.ports import Retention
from vivavoce.wire.records.plans import ConversationSummary
from vivavoce.wire.records.talk import Kind, PutConversation, PutEntry

# --- The list -------------------------------------------------------------------


async def test_the_list_shows_the_end_of_each_newest_message_first(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit(
            [
                PutConversation(conversation("a", title="A", ended_at=at(99))),
                PutConversation(conversation("b", created_at=at(5), extracted_intent="GOAL")),
                PutConversation(conversation("c", created_at=at(7), context_type="task")),
                PutConversation(conversation("bob's", user_id="bob")),
                PutEntry(entry("1", "a", ordinal=1, created_at=at(1))),
                PutEntry(entry("2", "a", ordinal=2, created_at=at(9), kind=Kind.ASSISTANT)),
                PutEntry(entry("3", "a", ordinal=3, created_at=at(50), kind=Kind.TOOL_RESULT)),
                PutEntry(entry("4", "b", ordinal=2, created_at=at(6), text="word " * 60)),
                PutEntry(entry("5", "b", ordinal=1, created_at=at(8), text="late\ntranscript")),
            ]
        )
        shown, total = await store.conversation_list(user_id="ann")
        assert total == 3
        assert shown[0] == ConversationSummary(
            id=uid("a"),
            context_type="voice",
            created_at=at(0),
            title="A",
            last_message_at=at(9),
            ended_at=at(99),
            preview="2",
            messages=2,
        )
        assert shown[1] == ConversationSummary(
            id=uid("b"),
            context_type="voice",
            created_at=at(5),
            last_message_at=at(8),
            extracted_intent="GOAL",
            preview=" ".join(["word"] * 23) + "…",
            messages=2,
        )
        assert shown[2] == ConversationSummary(id=uid("c"), context_type="task", created_at=at(7))
        assert await store.conversation_list(user_id="ann", limit=1, offset=1) == (shown[1:2], 3)
        assert await store.conversation_list(user_id="ann", offset=9) == ([], 3)
        assert await store.conversation_list(user_id="ann", limit=-1) == ([], 3)
        only = await store.conversation_list(user_id="ann", context_type="task")
        assert only == (shown[2:], 1)
        assert await store.conversation_list(user_id="ann", context_type="'--") == ([], 0)
        assert await store.conversation_list(user_id="nobody") == ([], 0)


async def test_speech_that_nobody_could_make_out_is_shown_as_such(backend: Backend) -> None:
    silent = entry("1", text="", data={"transcription_failed": True})
    typed = entry("2", "d", text="", modality="text")
    async with backend.store() as store:
        await store.commit([PutConversation(conversation()), PutConversation(conversation("d"))])
        await store.commit([PutEntry(silent), PutEntry(typed)])
        shown, _ = await store.conversation_list(user_id="ann")
        assert {each.id: each.preview for each in shown} == {uid("c"): "[inaudible]", uid("d"): ""}
        (hit,) = await store.search("inaudible", user_id="ann")
        assert hit.message_id == silent.id
        # The model's history has no such word in it, and a user's own is left alone.
        assert await store.entries(uid("c"), user_id="ann") == [silent]
        said = replace(silent, text="[inaudible]", data={})
        await store.commit([PutEntry(said)])
        assert await store.entries(uid("c"), user_id="ann") == [said]


async def test_a_new_message_brings_its_conversation_to_the_front(backend: Backend) -> None:
    async with backend.store() as store:
        for n, name in enumerate("abc"):
            await store.commit([PutConversation(conversation(name, created_at=at(n)))])

        async def order() -> list[str]:
            shown, _ = await store.conversation_list(user_id="ann")
            return [next(n for n in "abc" if uid(n) == each.id) for each in shown]

        assert await order() == ["c", "b", "a"]
        await store.commit([PutEntry(entry("1", "a", created_at=at(10)))])
        await store.commit([PutEntry(entry("2", "b", created_at=at(9)), replace=False)])
        await store.commit([PutEntry(entry("3", "c", created_at=at(20), kind=Kind.SYSTEM))])
        assert await order() == ["a", "b", "c"]
        await store.commit([PutConversation(conversation("b", updated_at=at(50), title="T"))])
        assert await order() == ["a", "b", "c"]


# --- Pages ----------------------------------------------------------------------


async def test_pages_go_back_from_the_end_and_miss_nothing(backend: Backend) -> None:
    kinds = [Kind.USER, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.ASSISTANT, Kind.SYSTEM]
    # Several share a place, and some of those a moment too.
    made = [
        entry(str(n), ordinal=n // 4, created_at=at(n // 2), kind=kinds[n % 5]) for n in range(23)
    ]
    async with backend.store() as store:
        await store.commit([PutConversation(conversation()), *map(PutEntry, made)])
        everything = await store.entries(uid("c"), user_id="ann")
        said = [each for each in everything if each.kind in (Kind.USER, Kind.ASSISTANT)]
        for said_only, whole in ((False, everything), (True, said)):
            got: list[str] = []
            more, before = True, None
            while more:
                page, more = await store.messages_before(
                    uid("c"), user_id="ann", before=before, limit=4, said_only=said_only
                )
                got = [each.id for each in page] + got
                before = page[0].id
            assert got == [each.id for each in whole]
        assert await store.messages_before(uid("c"), user_id="ann") == (everything, False)
        assert await store.messages_before(uid("c"), user_id="ann", limit=23) == (everything, False)
        assert await store.messages_before(uid("c"), user_id="ann", limit=0) == ([], True)
        found = await store.messages_before(
            uid("c"), user_id="ann", before=everything[2].id.upper(), limit=5
        )
        assert found == (everything[:2], False)


async def test_no_page_where_there_is_nothing_of_the_user_s(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit(
            [
                PutConversation(conversation()),
                PutConversation(conversation("d")),
                PutEntry(entry("1")),
                PutEntry(entry("2", "d")),
            ]
        )
        assert await store.messages_before(uid("c"), user_id="bob") == ([], False)
        assert await store.messages_before("no uuid", user_id="ann") == ([], False)
        of = {"conversation_id": uid("c"), "user_id": "ann"}
        assert await store.has_message(uid("1").upper(), **of)
        assert not await store.has_message(uid("1"), conversation_id=uid("c"), user_id="bob")
        assert not await store.has_message(uid("1"), conversation_id="no uuid", user_id="ann")
        for before in ("no uuid", uid("nothing"), uid("2")):
            found = await store.messages_before(uid("c"), user_id="ann", before=before)
            assert found == ([], False)
            assert not await store.has_message(before, **of)


# --- Search ---------------------------------------------------------------------

SAID = {
    "ferry": "When does the ferry to Naxos leave the harbour?",
    "harbour": "The harbour is closed; no ferry leaves before nine.",
    "café": "Meet me at the CAFÉ, Anna's — it's by the station.",
    "cafe\u0301": "Another cafe\u0301 with a loose accent",
    "greek": "Το πλοίο φεύγει στις εννέα, Κωνσταντίνος",
    "russian": "Мой паром уходит из гавани",
    "korean": "페리는 언제 떠나요",
    "mail": "Write to captain@ferry-lines.example/timetable.html?x=1 (v2.0), e-mail",
    "under": "the snake_case of it: 50% off & more",
}


FOUND: list[tuple[str, set[str]]] = [
    ("naxos", {"ferry"}),
    ("NAXOS", {"ferry"}),
    ("harbour ferry", {"ferry", "harbour"}),
    ("ferry harbour clo", {"harbour"}),
    ("fer", {"ferry", "harbour", "mail"}),
    ("fer harbour", set()),  # only the last word may be a beginning
    ("cafe", {"café", "cafe\u0301"}),
    ("Café anna", {"café"}),
    ("cafe\u0301 loose", {"cafe\u0301"}),
    ("ΠΛΟΊΟ".lower(), {"greek"}),
    ("мой ПАРОМ", {"russian"}),
    ("페리", {"korean"}),
    ("Anna's", {"café"}),
    ("timetable", {"mail"}),
    ("captain@ferry-lines.example", {"mail"}),
    ("snake", {"under"}),
    ("case 50%", {"under"}),
    ("v2.0", {"mail"}),
    ("nothing of that", set()),
    # No syntax gets through: these are words, or none at all.
    ('"ferry', {"ferry", "harbour", "mail"}),
    ("ferry* (harbour", {"ferry", "harbour"}),
    ("ferry OR naxos", set()),
    ("NOT ferry", set()),
    ("ferry NEAR/1 naxos", set()),
    ("owner:ferry", set()),
    ("said : ferry", set()),
    ("ferry:* & !naxos | 'x", set()),
    ("'ferry':*", {"ferry", "harbour", "mail"}),
    ("\\ferry\\", {"ferry", "harbour", "mail"}),
    ("u616e6e", set()),
    ("@ann", {"café"}),  # the beginning of a word, not the owner's mark
    ("%", set()),
    ("_", set()),
    ("\0 \ud800 '';--", set()),
    ("", set()),
    ("   ", set()),
]


async def test_a_query_is_words_and_nothing_else(backend: Backend) -> None:
    async with backend.store() as store:
        said = [PutEntry(entry(name, text=text)) for name, text in SAID.items()]
        await store.commit([PutConversation(conversation()), *said])
        for query, found in FOUND:
            hits = await store.search(query, user_id="ann")
            ids = {hit.message_id for hit in hits}
            assert {name for name in SAID if uid(name) in ids} == found, query
            assert len(hits) == len(found)
            assert all("«" in hit.snippet for hit in hits)


async def test_a_search_finds_what_was_said_by_its_owner_as_it_is_now(backend: Backend) -> None:
    odd = 'o\'br\\ien "x" @ann'
    async with backend.store() as store:
        await store.commit(
            [
                PutConversation(conversation()),
                PutConversation(conversation("d", user_id=odd)),
                PutEntry(entry("1", text="a lighthouse", created_at=at(1))),
                PutEntry(entry("2", text="lighthouse", kind=Kind.ASSISTANT)),
                PutEntry(entry("3", text="lighthouse", kind=Kind.TOOL_RESULT)),
                PutEntry(entry("4", text="lighthouse", kind=Kind.SYSTEM)),
                PutEntry(entry("5", "d", text="lighthouse keeper", user_id=odd)),
            ]
        )

        async def names(query: str, user_id: str = "ann", limit: int = 20) -> list[str]:
            hits = await store.search(query, user_id=user_id, limit=limit)
            return [next(n for n in "12345" if uid(n) == hit.message_id) for hit in hits]

        assert await names("lighthouse") == ["2", "1"]  # what says only that comes first
        assert await names("lighthouse", limit=1) == ["2"]
        assert await names("lighthouse", limit=-1) == []
        assert await names("lighthouse", odd) == ["5"]
        assert await names("lighthouse", "bob") == []
        hit = (await store.search("light", user_id="ann"))[0]
        assert (hit.conversation_id, hit.role, hit.snippet) == (
            uid("c"),
            "assistant",
            "«lighthouse»",
        )
        # An answer that was cut, and one that never changes.
        await store.commit([PutEntry(entry("2", text="a beacon", kind=Kind.ASSISTANT))])
        await store.commit([PutEntry(entry("1", text="a buoy"), replace=False)])
        assert await names("lighthouse") == ["1"]
        assert await names("beacon") == ["2"]
        await store.sweep(Retention(None, None, conversations=60), at(1000))
        assert await names("lighthouse") == await names("beacon") == []
        assert await names("lighthouse", odd) == []


async def test_a_message_of_any_length_is_kept_and_its_beginning_found(backend: Backend) -> None:
    long = "lighthouse " + " ".join(f"w{n:x}" for n in range(120_000)) + " ﷺ" * 5_000
    async with backend.store() as store:
        await store.commit([PutConversation(conversation()), PutEntry(entry("1", text=long))])
        (hit,) = await store.search("lighthouse", user_id="ann")
        assert hit.snippet.startswith("«lighthouse» w0 w1")
        assert hit.snippet.endswith("…")
        many = " ".join(f"w{n:x}" for n in range(5000))
        assert len(await store.search(many, user_id="ann")) == 1
