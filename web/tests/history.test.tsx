import { describe, expect, test, vi } from "vitest";
import {
  ApiError,
  buttonWords,
  type ConversationInfo,
  faultWords,
  type History as Known,
  type IntentView,
  type Message,
  type Past,
  pastLines,
  pieces,
  whenWords,
} from "@vivavoce/client";
import { Found } from "../src/history/HistoryPane";
import type { RowActions } from "../src/history/Row";
import { Scene } from "../packages/client/tests/scene";
import { drawn as asMarkup } from "./drawn";

const ID = "c-1";
const AT = "2026-11-15T12:00:0";
const MESSAGES = `GET /api/v1/conversations/${ID}/messages`;
const until = (look: () => void) => vi.waitFor(look, { timeout: 2000, interval: 1 });

function info(id: string, more: Partial<ConversationInfo> = {}): ConversationInfo {
  return {
    id,
    context_type: "voice",
    title: null,
    created_at: `${AT}0.000Z`,
    last_message_at: `${AT}0.000Z`,
    ended_at: null,
    extracted_intent: null,
    preview: "Done!",
    message_count: 2,
    ...more,
  };
}

function message(id: string, second: number, more: Partial<Message> = {}): Message {
  return {
    id,
    role: "user",
    content: id,
    input_modality: "voice",
    created_at: `${AT}${second}.000Z`,
    metadata: {},
    ...more,
  };
}

function intent(second: number, more: Partial<IntentView> = {}): IntentView {
  return {
    id: `i${second}`,
    conversation_id: ID,
    session_id: null,
    name: "submit_goal_intent",
    intent: "GOAL",
    payload: { goal_statement: "learn Spanish" },
    status: "accepted",
    revision: 0,
    evidence: [],
    goal_id: null,
    task_id: null,
    error: null,
    created_at: `${AT}${second}.500Z`,
    updated_at: `${AT}${second}.500Z`,
    ...more,
  };
}

const page = (messages: Message[], has_more = false) => ({ body: { messages, has_more } });
const refused = (status: number, message: string, details = {}) => ({
  status,
  body: { error: { code: "x", message, details } },
});

function aScene(...messages: Message[]): Scene {
  const scene = new Scene();
  scene.server.next(MESSAGES, page(messages));
  return scene;
}

const history = (scene: Scene): Known => scene.conversation.store.getState().history;
const nothing = () => undefined;
const actions: RowActions = {
  show: nothing, talk: nothing, rename: nothing, save: nothing, share: async () => undefined, ask: nothing, remove: nothing,
};
const around = { actions, talking: false, scroller: { current: null } };
const past = (scene: Scene): Past | null => history(scene).past;
const ids = (scene: Scene) => past(scene)?.messages.map(({ id }) => id);

describe("the list", () => {
  test("comes page by page, each conversation once", async () => {
    const scene = new Scene();
    const { archive } = scene.conversation;
    const list = "GET /api/v1/conversations";
    scene.server.next(list, { body: { conversations: [info("a"), info("b")], total: 3 } });
    scene.server.next(list, { body: { conversations: [info("b"), info("c")], total: 3 } });
    await archive.open();
    await archive.more();
    expect(history(scene).conversations.map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect(scene.server.asked.at(-1)).toBe(`${list}?limit=50&offset=2`);
  });

  test("says why it cannot be read, and is read again when it is opened again", async () => {
    const scene = new Scene();
    scene.server.next("GET /api/v1/conversations", refused(503, "Busy."));
    await scene.conversation.archive.open();
    expect(history(scene)).toMatchObject({ problem: "Busy.", reading: false });
    const body = { conversations: [info("a")], total: 1 };
    scene.server.next("GET /api/v1/conversations", { body });
    await scene.conversation.archive.open();
    expect(history(scene)).toMatchObject({ problem: null, conversations: [{ id: "a" }] });
  });

  test("is read once more without losing what is searched for", async () => {
    const scene = new Scene();
    const { archive } = scene.conversation;
    await archive.search("spanish");
    scene.server.next("GET /api/v1/conversations", { body: { conversations: [info("a")], total: 1 } });
    await archive.refresh();
    expect(history(scene)).toMatchObject({ query: "spanish", conversations: [{ id: "a" }] });
  });

  test("shows what it was about, when, how much, and what came of it, as text", () => {
    const hostile = info("a", { title: "<img src=x>", extracted_intent: "NEW_TASK", message_count: 1 });
    const known: Known = {
      ...history(new Scene()),
      open: true,
      conversations: [hostile, info("b")],
      total: 3,
    };
    const markup = asMarkup(
      <Found history={known} archive={new Scene().conversation.archive} {...around} />,
    );
    expect(markup).not.toContain("<img");
    for (const part of ["&lt;img", "New task", "1 message<", "2 messages", "Done!", 'aria-label="Talk"']) {
      expect(markup).toContain(part);
    }
  });

  test("knows which of them goes on now, of which it has only the beginning", () => {
    const begun = info("a", { preview: null, message_count: 0 });
    const known: Known = { ...history(new Scene()), conversations: [begun, info("b")], total: 2 };
    const found = (live: string | null) =>
      asMarkup(
        <Found history={known} archive={new Scene().conversation.archive} {...around} talking={live !== null} live={live} />,
      );
    expect(found("a")).toContain("This conversation");
    expect(found("a")).toContain(">Now<");
    expect(found("a")).toMatch(/aria-current="true"[^>]*aria-disabled="true"/);
    for (const part of ["Nothing was said", "0 messages"]) expect(found("a")).not.toContain(part);
    expect(found(null)).toContain("Nothing was said");
    expect(found(null)).not.toContain(">Now<");
  });
});

describe("deleting", () => {
  const DELETE = `DELETE /api/v1/conversations/${ID}`;

  async function listed(): Promise<Scene> {
    const scene = aScene(message("m1", 1));
    const body = { conversations: [info("a"), info(ID, { title: "Spanish" })], total: 5 };
    scene.server.next("GET /api/v1/conversations", { body });
    await scene.conversation.archive.open();
    return scene;
  }

  const drawn = (scene: Scene) =>
    asMarkup(
      <Found history={history(scene)} archive={scene.conversation.archive} {...around} />,
    );

  test("asks first, and nothing goes without a yes", async () => {
    const scene = await listed();
    const { archive } = scene.conversation;
    await archive.remove();
    expect(drawn(scene)).toContain('aria-label="What to do with Spanish"');
    expect(drawn(scene)).not.toContain("for good");
    archive.ask(ID);
    expect(drawn(scene)).toContain("Delete this conversation for good?");
    archive.ask(null);
    await archive.remove();
    archive.ask(ID);
    await archive.open();
    expect(history(scene).doomed).toBeNull(); // a question of before is not answered by mistake
    expect(scene.server.asked.some((one) => one.startsWith("DELETE"))).toBe(false);
  });

  test("takes it from the list and from the screen, once", async () => {
    const scene = await listed();
    const { archive } = scene.conversation;
    await archive.show(ID, "Spanish");
    archive.ask(ID);
    const going = archive.remove();
    archive.ask("a");
    expect(history(scene).doomed).toEqual({ id: ID, going: true });
    await Promise.all([going, archive.remove()]);
    expect(scene.server.asked.filter((one) => one.startsWith("DELETE"))).toEqual([DELETE]);
    expect(history(scene)).toMatchObject({ total: 4, past: null, doomed: null });
    expect(history(scene).conversations.map(({ id }) => id)).toEqual(["a"]);
  });

  test("that is refused says why and keeps it; one that is gone is gone", async () => {
    const scene = await listed();
    const { archive } = scene.conversation;
    scene.server.next(DELETE, refused(503, "Busy."), refused(404, "Not found."));
    archive.ask(ID);
    await archive.remove();
    expect(history(scene)).toMatchObject({ problem: "Busy.", doomed: null });
    expect(history(scene).conversations).toHaveLength(2);
    archive.ask(ID);
    await archive.remove();
    expect(history(scene)).toMatchObject({ problem: null, total: 4 });
    expect(history(scene).conversations).toHaveLength(1);
  });
});

describe("a search", () => {
  const hit = { message_id: "m1", conversation_id: ID, role: "user", created_at: AT, snippet: "«Spanish»" };

  test("asks once for what was typed last", async () => {
    const scene = new Scene();
    const { archive } = scene.conversation;
    scene.server.next("GET /api/v1/conversations/search", { body: { results: [hit] } });
    await Promise.all([archive.search("spa"), archive.search(" spanish & co ")]);
    expect(scene.server.asked).toEqual(["GET /api/v1/conversations/search?q=spanish%20%26%20co&limit=100"]);
    expect(history(scene).hits).toEqual([hit]);
    await archive.search("");
    expect(history(scene).hits).toBeNull();
  });

  test("leads back to the message, however old it is", async () => {
    const scene = new Scene();
    scene.server.next(MESSAGES, page([message("m3", 3)], true), page([message("m2", 2)], true));
    scene.server.next(MESSAGES, page([message("m1", 1)], true));
    await scene.conversation.archive.show(ID, "Spanish", "m1");
    expect(ids(scene)).toEqual(["m1", "m2", "m3"]);
    expect(past(scene)).toMatchObject({ target: "m1", more: true });
    expect(scene.server.asked.filter((one) => one.startsWith(MESSAGES)).at(-1)).toContain("before=m2");
  });

  test("marks what was found, and nothing else", () => {
    expect(pieces("I «learn» «it»!")).toEqual([
      { text: "I ", found: false },
      { text: "learn", found: true },
      { text: " ", found: false },
      { text: "it", found: true },
      { text: "!", found: false },
    ]);
    expect(pieces("a « b")).toEqual([{ text: "a « b", found: false }]);
  });
});

describe("a past conversation", () => {
  const lines = (more: Partial<Past>) =>
    pastLines({ messages: [], intents: [], more: false, sending: null, ...more } as Past).map(
      ({ id, kind, text }) => `${id} ${kind} ${text}`,
    );

  test("has its cards where they were understood, and no line for their calls", () => {
    const call = (id: string, second: number, tool_name: string) =>
      message(id, second, {
        role: "function",
        content: "",
        metadata: { entry_kind: "tool_call", tool_name },
      });
    const messages = [
      message("m1", 1),
      call("f1", 2, "submit_goal_intent"),
      { ...call("f2", 3, "bash"), content: "Running ls" },
      message("r2", 3, { role: "function", metadata: { entry_kind: "tool_result" } }),
      message("m4", 4, { role: "assistant" }),
    ];
    expect(lines({ messages, intents: [intent(5), intent(2)] })).toEqual([
      "m1 user m1",
      "i2 intent Goal",
      "f2 tool Running ls",
      "m4 assistant m4",
      "i5 intent Goal",
    ]);
  });

  test("keeps away the cards of messages that are not read yet", () => {
    expect(lines({ messages: [message("m3", 3)], intents: [intent(1)], more: true })).toEqual([
      "m3 user m3",
    ]);
  });

  test("shows what was heard of an answer, and what was not", () => {
    const cut = message("m1", 1, {
      role: "assistant",
      content: "One,",
      metadata: { interrupted: true, generated: "One, two" },
    });
    expect(pastLines({ messages: [cut], intents: [], more: false, sending: null } as unknown as Past)).toMatchObject(
      [{ text: "One,", unheard: " two", cut: true, spoken: true }],
    );
  });

  test("is left for another, and what comes late changes nothing", async () => {
    const scene = aScene(message("m1", 1));
    const { archive } = scene.conversation;
    const first = archive.show(ID, "One");
    archive.leave();
    await first;
    expect(past(scene)).toBeNull();
    expect(buttonWords(scene.conversation.store.getState())).toBe("Start talking");
  });

  test("is forgotten when the server asks for a token", async () => {
    const scene = aScene(message("m1", 1));
    await scene.conversation.archive.show(ID, "One");
    scene.server.next("GET /api/v1/me", refused(401, "No."));
    scene.conversation.unlock("wrong");
    await until(() => expect(scene.state).toBe("locked"));
    expect(past(scene)).toBeNull();
  });
});

describe("writing", () => {
  const SEND = `POST /api/v1/conversations/${ID}/messages`;
  const INTENTS = "GET /api/v1/intents";
  const text = { input_modality: "text" as const };

  test("is answered in place, with what came of it", async () => {
    const scene = aScene(message("m1", 1));
    const { archive } = scene.conversation;
    await archive.show(ID, "One");
    const mine = message("m2", 2, text);
    const reply = message("m3", 3, { ...text, role: "assistant" });
    scene.server.next(SEND, { status: 201, body: { message: mine, reply } });
    scene.server.next(MESSAGES, page([message("m1", 1), mine, reply]));
    scene.server.next(INTENTS, { body: { intents: [intent(2)] } });
    const sent = archive.write(" Move my run ");
    expect(pastLines(past(scene) as Past).map(({ id }) => id)).toEqual(["m1", "sending", "answering"]);
    expect(await sent).toBe(true);
    expect(ids(scene)).toEqual(["m1", "m2", "m3"]);
    expect(past(scene)?.sending).toBeNull();
    await until(() => expect(past(scene)?.intents).toHaveLength(1));
    expect(scene.server.bodies.at(-1)?.body).toMatchObject({ content: "Move my run" });
  });

  test("waits for an answer that takes its time", async () => {
    const scene = aScene(message("m1", 1));
    const { archive } = scene.conversation;
    await archive.show(ID, "One");
    const mine = message("m2", 2, text);
    scene.server.next(SEND, { status: 201, body: { message: mine, reply: null } });
    scene.server.next(MESSAGES, page([message("m1", 1), mine]));
    scene.server.next(MESSAGES, page([mine, message("m3", 3, { role: "assistant" })], true));
    scene.server.next(INTENTS, { body: { intents: [] } }, { body: { intents: [] } });
    expect(await archive.write("Well?")).toBe(true);
    expect(pastLines(past(scene) as Past).at(-1)).toMatchObject({ id: "answering", done: false });
    await until(() => expect(past(scene)?.sending).toBeNull());
    expect(ids(scene)).toEqual(["m1", "m2", "m3"]);
    expect(past(scene)?.more).toBe(false); // its beginning is here already
  });

  test("that is refused says until when, and is not lost", async () => {
    const scene = aScene(message("m1", 1));
    const { archive } = scene.conversation;
    await archive.show(ID, "One");
    scene.server.next(SEND, refused(429, "That is enough", { retry_after_ms: 20_000 }));
    expect(await archive.write("More")).toBe(false);
    expect(past(scene)).toMatchObject({
      sending: null,
      problem: "That is enough. Try again in 20 seconds.",
    });
  });
});

describe("a message that went unanswered", () => {
  const SEND = `POST /api/v1/conversations/${ID}/messages`;

  test("is the same message when it is sent again, and another one is not", async () => {
    const scene = aScene(message("m1", 1));
    const { archive } = scene.conversation;
    await archive.show(ID, "One");
    const lost = refused(503, "Nobody is there");
    scene.server.next(SEND, lost, lost, lost);
    for (const words of ["More", " More ", "Less"]) expect(await archive.write(words)).toBe(false);
    const names = scene.server.names.slice(-3);
    expect(names[0]).toMatch(/^[\w-]{10,}$/);
    expect(names[1]).toBe(names[0]);
    expect(names[2]).not.toBe(names[0]);
  });
});

describe("going on by voice", () => {
  const OPEN = "POST /api/v1/voice/session";
  const opened = {
    session_id: "vs_2",
    ephemeral_key: "ek_past",
    stream_token: { value: "st_2", expires_at: 0 },
    last_event_id: 9,
  };

  test("keeps what was said on the screen, and reads it anew afterwards", async () => {
    const scene = aScene(message("m1", 1));
    const { conversation } = scene;
    await conversation.archive.show(ID, "One");
    expect(buttonWords(conversation.store.getState())).toBe("Continue by voice");
    scene.server.next(OPEN, { body: opened });
    conversation.start();
    await until(() => expect(scene.webrtc.used).toEqual(["ek_past"]));
    expect(scene.server.bodies).toContainEqual({ request: OPEN, body: { conversation_id: ID, can_type: true } });
    expect(scene.streams[0]?.start).toMatchObject({ sessionId: "vs_2", token: "st_2", lastEventId: 9 });
    scene.tell("transcription.completed", { role: "user", item_id: "u1", transcript: "And now?" });
    expect(conversation.store.getState().lines.map(({ text }) => text)).toEqual(["m1", "And now?"]);
    expect(past(scene)?.live).toBe(true);
    scene.server.next(MESSAGES, page([message("m1", 1), message("m2", 2)]));
    await conversation.stop();
    await until(() => expect(past(scene)?.live).toBe(false));
    expect(ids(scene)).toEqual(["m1", "m2"]);
    expect(scene.server.asked).toContain("POST /sessions/vs_2/end");
  });

  test("that is refused for now is said in plain words, with when to try again", async () => {
    const scene = aScene(message("m1", 1));
    await scene.conversation.archive.show(ID, "One");
    const words = "That is enough new sessions for ten minutes.";
    scene.server.next(OPEN, refused(429, words, { retry_after_ms: 5 * 60_000 }));
    scene.conversation.start();
    await until(() => expect(scene.state).toBe("failed"));
    const { problem } = scene.conversation.store.getState();
    expect(problem).toContain(`${words} Try again in 5 minutes, at `);
    expect(past(scene)?.messages).toHaveLength(1);
  });
});

describe("what went wrong, in words", () => {
  const now = Date.parse("2026-11-15T12:00:30Z");
  const told = (ms: number | null) => faultWords(new ApiError(429, "x", "Too many", ms), now);

  test("says when to try again", () => {
    expect(told(null)).toBe("Too many. Try again in a moment.");
    expect(told(1000)).toBe("Too many. Try again in 1 second.");
    expect(told(61_000)).toMatch(/^Too many\. Try again in 2 minutes, at \d+[:.]02/);
    expect(told(3 * 3_600_000)).toMatch(/in 3 hours, at /);
    expect(told(23.5 * 3_600_000)).toBe("Too many. Try again in 24 hours.");
    expect(faultWords(new ApiError(503, "x", "Busy.", 1000), now)).toBe("Busy.");
    expect(faultWords("odd")).toBe("odd");
  });

  test("reads it from the header where the body does not say", async () => {
    const scene = new Scene();
    scene.server.fetch = async () =>
      new Response("{}", { status: 429, headers: { "retry-after": "30" } });
    await scene.conversation.archive.open();
    expect(history(scene).problem).toBe("The server answered 429. Try again in 30 seconds.");
  });

  test("and when something was", () => {
    expect(whenWords("2026-11-15T11:00:00Z", now)).toBe("1 h ago");
    expect(whenWords("2025-11-15T11:00:00Z", now)).toContain("2025");
    expect(whenWords(null, now)).toBe("");
  });
});
