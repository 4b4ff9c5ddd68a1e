import { describe, expect, test, vi } from "vitest";
import { busy, buttonWords, orbState, sessionStatus, situation } from "../src/session/words";
import { NoWay } from "../src/transport/transport";
import { changes } from "../src/session/telling";
import { PlaceMemory, placeOf } from "../src/session/place";
import { INITIAL, type ServerFact, type State } from "../src/session/state";
import { anApproval, Scene } from "./scene";

const until = vi.waitFor;
const ID = "c_1";
const WRITE = `POST /api/v1/conversations/${ID}/messages`;
const MESSAGES = `GET /api/v1/conversations/${ID}/messages`;

function stored(itemId: string) {
  const token = { value: "st_9", expires_at: 0 };
  const message = { id: `m_${itemId}`, metadata: { item_id: itemId } };
  return { status: 201, body: { message, reply: null, session_id: "vs_w", stream_token: token } };
}

async function talking(): Promise<Scene> {
  const scene = new Scene();
  const token = { value: "st_1", expires_at: 0 };
  const opened = { session_id: "vs_1", conversation_id: ID, stream_token: token, last_event_id: 7 };
  scene.server.next("POST /session", { body: { ...opened, client_secret: { value: "ek_0" } } });
  scene.conversation.start();
  await until(() => expect(scene.webrtc.calls).toHaveLength(1));
  await until(() => expect(situation(scene.conversation.store.getState())).not.toBe("asking"));
  scene.status("ready");
  return scene;
}

const linesOf = (scene: Scene) =>
  scene.conversation.store.getState().lines.map(({ kind, text, done }) => [kind, text, done]);

describe("what is written", () => {
  test("goes into the call that is on, once, and stops the answer", async () => {
    const scene = await talking();
    scene.conversation.interrupt(); // there is nothing to stop
    expect(scene.webrtc.calls[0]?.interrupted).toBe(0);
    scene.status("speaking");
    scene.server.next(WRITE, stored("msg_1"));
    expect(await scene.conversation.send("  Are there pears? ")).toBe(true);
    expect(scene.webrtc.calls[0]?.interrupted).toBe(1);
    expect(scene.server.bodies.at(-1)).toEqual({
      request: WRITE,
      body: { content: "Are there pears?", wait_seconds: 0 },
    });
    scene.tell("transcription.completed", {
      item_id: "msg_1",
      role: "user",
      transcript: "Are there pears?",
      modality: "text",
    });
    expect(linesOf(scene)).toEqual([["user", "Are there pears?", true]]);
    expect(scene.conversation.store.getState().lines[0]?.spoken).toBe(false);
  });

  test("is there once, too, where the server tells of it before it answers", async () => {
    const scene = await talking();
    scene.server.next(WRITE, stored("msg_1"));
    const sent = scene.conversation.send("Pears?");
    scene.tell("transcription.completed", { item_id: "msg_1", role: "user", transcript: "Pears?" });
    expect(await sent).toBe(true);
    expect(linesOf(scene)).toEqual([["user", "Pears?", true]]);
  });

  test("needs no microphone: a conversation begins, and the session that answers is followed", async () => {
    const scene = new Scene();
    scene.server.next("POST /api/v1/conversations", { status: 201, body: { id: ID } });
    scene.server.next(WRITE, stored("msg_1"), stored("msg_2"));
    expect(await scene.conversation.send("Hello")).toBe(true);
    const { store } = scene.conversation;
    expect(store.getState()).toMatchObject({ stage: "writing", conversation: ID });
    expect(scene.microphones).toBe(0);
    expect(scene.streams[0]?.start).toEqual({ sessionId: "vs_w", token: "st_9", lastEventId: 0 });
    scene.status("processing");
    expect(scene.state).toBe("thinking");
    scene.tell("transcription.completed", { item_id: "a1", role: "assistant", transcript: "Hi." });
    scene.status("ready");
    expect(scene.state).toBe("idle");
    scene.tell("session.ended", { reason: "timeout", duration_ms: 1 }); // as such sessions do
    expect(scene.streams[0]?.closed).toBe(true);
    expect(store.getState().stage).toBe("writing");
    await scene.conversation.send("Again");
    expect(scene.streams).toHaveLength(2);
    expect(linesOf(scene).map(([, text]) => text)).toEqual(["Hello", "Hi.", "Again"]);
  });

  test("and was not taken says why, at its place", async () => {
    const scene = await talking();
    const body = { error: { code: "rate_limited", message: "Too many messages.", details: {} } };
    scene.server.next(WRITE, { status: 429, body });
    expect(await scene.conversation.send("Pears?")).toBe(false);
    const [line] = scene.conversation.store.getState().lines;
    expect(line).toMatchObject({ failed: true, note: "Too many messages. Try again in a moment." });
  });

  test("goes on by voice with the next start, in the same conversation", async () => {
    const scene = new Scene();
    scene.server.next("POST /api/v1/conversations", { status: 201, body: { id: ID } });
    scene.server.next(WRITE, stored("msg_1"));
    await scene.conversation.send("Hello");
    scene.server.next("POST /api/v1/voice/session", {
      body: {
        session_id: "vs_2",
        conversation_id: ID,
        ephemeral_key: "ek_v",
        stream_token: { value: "st_2" },
        last_event_id: 9,
      },
    });
    scene.conversation.start();
    await until(() => expect(scene.webrtc.used).toEqual(["ek_v"]));
    expect(scene.server.bodies.at(-1)?.body).toEqual({ conversation_id: ID, can_type: true });
    expect(linesOf(scene).map(([, text]) => text)).toEqual(["Hello"]);
  });
});

describe("a call", () => {
  test("is muted at once, and the next one begins so", async () => {
    const scene = await talking();
    scene.conversation.mute();
    expect(scene.muted).toBe(true);
    expect(scene.conversation.store.getState().muted).toBe(true);
    await scene.conversation.stop();
    scene.muted = false;
    scene.conversation.start();
    await until(() => expect(scene.muted).toBe(true));
    scene.conversation.mute(false);
    expect(scene.muted).toBe(false);
  });

  test("that was lost says why and when it is tried again, and is at once where somebody says so", async () => {
    const scene = await talking();
    const before = Date.now();
    scene.holdFrom = 500;
    scene.webrtc.calls[0]?.close();
    await until(() => expect(scene.state).toBe("reconnecting"));
    const { retry } = scene.conversation.store.getState();
    expect(retry).toMatchObject({ reason: "The connection was lost.", attempt: 1 });
    expect(retry?.at).toBeGreaterThanOrEqual(before + 500);
    scene.conversation.retryNow();
    await until(() => expect(scene.webrtc.calls).toHaveLength(2));
    await until(() => expect(scene.conversation.store.getState().retry).toBeNull());
  });

  test("that finds no way three times, two seconds apart, goes on in a new session with its context", async () => {
    const scene = await talking();
    scene.time = 60_000; // it had lasted
    const noWay = () => new NoWay("WebRTC could not connect.", true);
    scene.webrtc.faults = [noWay(), noWay(), noWay()];
    scene.websocket.faults = [noWay(), noWay(), noWay()];
    scene.webrtc.calls[0]?.close();
    await until(() => expect(scene.server.asked).toContain("POST /session/restore"));
    expect(scene.pauses.slice(0, 5)).toEqual([200, 500, 2000, 2000, 4000]);
    const { asked } = scene.server;
    expect(asked.filter((one) => one === "POST /session/restore")).toHaveLength(1);
    await until(() => expect(scene.streams.at(-1)?.start.sessionId).toBe("vs_2"));
    await until(() => expect(busy(scene.conversation.store.getState())).toBe(true));
  });
});

describe("a conversation that its user took to another place", () => {
  const ended = { reason: "taken_over", duration_ms: 1 };
  const lines = { item_id: "u1", role: "user", transcript: "Hello" };

  test("says so, is not brought back by itself, and comes back with one press", async () => {
    const scene = await talking();
    scene.tell("transcription.completed", lines);
    scene.webrtc.calls[0]?.close(); // the call goes first, and why comes behind it
    scene.tell("session.ended", ended);
    await until(() => expect(scene.state).toBe("ended"));
    const { store } = scene.conversation;
    expect(store.getState().notice).toBe("It goes on in another window or on another device.");
    expect(buttonWords(store.getState())).toBe("Continue here");
    expect(scene.server.asked).not.toContain("GET /session/reconnect?session_id=vs_1");
    scene.conversation.start();
    await until(() => expect(scene.webrtc.calls).toHaveLength(2));
    expect(scene.server.asked).toContain("POST /session/restore");
    expect(store.getState().elsewhere).toBe(false);
  });

  test("is left there also where only the server's refusal tells of it", async () => {
    const scene = await talking();
    scene.tell("transcription.completed", lines);
    const body = { error: { code: "taken_over", message: "It goes on elsewhere.", details: {} } };
    scene.server.next("GET /session/reconnect", { status: 409, body });
    scene.webrtc.calls[0]?.close();
    await until(() => expect(scene.state).toBe("ended"));
    expect(scene.conversation.store.getState().elsewhere).toBe(true);
    expect(scene.webrtc.used).toHaveLength(1);
  });

  test("is not elsewhere where this page itself began the session that took its place", async () => {
    const scene = await talking();
    scene.time = 60_000;
    const noWay = () => new NoWay("WebRTC could not connect.", true);
    scene.webrtc.faults = [noWay(), noWay(), noWay()];
    scene.websocket.faults = [noWay(), noWay(), noWay()];
    const stream = scene.streams[0];
    const { fetch } = scene.server;
    scene.server.fetch = async (input, init) => {
      const answer = await fetch(input, init);
      const told = { type: "event", name: "session.ended", data: ended } as ServerFact;
      if (String(input).endsWith("/session/restore")) stream?.listener.event(told); // before the answer
      return answer;
    };
    scene.webrtc.calls[0]?.close();
    await until(() => expect(scene.streams.at(-1)?.start.sessionId).toBe("vs_2"));
    await until(() => expect(scene.webrtc.calls).toHaveLength(2));
    scene.status("ready");
    expect(scene.state).toBe("listening");
  });
});

describe("a conversation of before", () => {
  const message = { id: "m1", role: "user", content: "The blue door.", created_at: "2026-11-01T10:00:00Z" };

  test("is shown, and gone on with in writing", async () => {
    const scene = new Scene();
    const messages = [{ ...message, input_modality: "voice", metadata: {} }];
    scene.server.next(MESSAGES, { body: { messages, has_more: false } });
    await scene.conversation.show(ID);
    expect(linesOf(scene)).toEqual([["user", "The blue door.", true]]);
    scene.server.next(WRITE, stored("msg_1"));
    await scene.conversation.send("And the red one?");
    expect(scene.server.asked).not.toContain("POST /api/v1/conversations");
    expect(linesOf(scene)).toHaveLength(2);
  });

  test("is gone on with by voice, and shown above what is said now", async () => {
    const scene = new Scene();
    const messages = [{ ...message, input_modality: "voice", metadata: {} }];
    scene.server.next(MESSAGES, { body: { messages, has_more: false } });
    scene.server.next("POST /api/v1/voice/session", {
      body: {
        session_id: "vs_2",
        conversation_id: ID,
        ephemeral_key: "ek_v",
        stream_token: { value: "st_2" },
        last_event_id: 9,
      },
    });
    scene.conversation.resume(ID);
    await until(() => expect(scene.webrtc.used).toEqual(["ek_v"]));
    scene.tell("transcription.completed", { item_id: "u1", role: "user", transcript: "And now?" });
    await until(() => expect(linesOf(scene).map(([, text]) => text)).toEqual(["The blue door.", "And now?"]));
  });
});

describe("listeners", () => {
  const told = (state: State, before: State) => {
    const all: [string, unknown][] = [];
    changes(state, before, (name, what) => all.push([name, what]));
    return all;
  };

  test("hear what changed, and nothing of what did not", () => {
    expect(told(INITIAL, INITIAL)).toEqual([]);
    const idle: State = { ...INITIAL, stage: "idle" };
    expect(told(idle, INITIAL)).toEqual([["situation", { now: "idle", before: "loading" }]]);
    const asked = anApproval("a1");
    const waiting: State = { ...idle, work: { ...idle.work, approvals: [asked] } };
    expect(told(waiting, idle)).toEqual([["approval", asked]]);
    expect(told(idle, waiting)).toEqual([]);
    const failed: State = { ...idle, stage: "failed", problem: "No." };
    expect(told(failed, idle).map(([name]) => name)).toEqual(["situation", "problem"]);
  });

  test("hear a message once it is whole, and not while it grows", async () => {
    const scene = await talking();
    const messages: unknown[] = [];
    scene.conversation.store.subscribe((state, before) =>
      changes(state, before, (name, what) => name === "message" && messages.push(what)),
    );
    scene.tell("transcription.delta", { item_id: "a1", role: "assistant", delta: "Seven" });
    expect(messages).toEqual([]);
    scene.tell("transcription.completed", { item_id: "a1", role: "assistant", transcript: "Seven." });
    expect(messages).toMatchObject([{ kind: "assistant", text: "Seven." }]);
  });
});

describe("the place where the user was", () => {
  const storage = () => {
    const kept = new Map<string, string>();
    const plain = {
      getItem: (name: string) => kept.get(name) ?? null,
      setItem: (name: string, value: string) => void kept.set(name, value),
      removeItem: (name: string) => void kept.delete(name),
    };
    return plain as unknown as Storage;
  };

  test("outlasts a reload of the page", () => {
    const tab = storage();
    const place = { conversation: ID, talking: true };
    new PlaceMemory("x", () => tab).write(place);
    expect(new PlaceMemory("x", () => tab).read()).toEqual(place);
    expect(new PlaceMemory("another server", () => tab).read()).toBeNull();
    const memory = new PlaceMemory("x", () => tab);
    memory.write(place);
    memory.write(null);
    expect(memory.read()).toBeNull();
  });

  test("is a conversation, and whether it was a talk", () => {
    expect(placeOf(INITIAL)).toBeNull();
    const live: State = { ...INITIAL, stage: "live", conversation: ID };
    expect(placeOf(live)).toEqual({ conversation: ID, talking: true });
    expect(placeOf({ ...live, stage: "idle" })).toEqual({ conversation: ID, talking: false });
  });

  test("is nowhere where there is no storage", () => {
    const memory = new PlaceMemory("x", () => {
      throw new DOMException("denied", "SecurityError");
    });
    memory.write({ conversation: ID, talking: false });
    expect(memory.read()).toBeNull();
  });
});

describe("the states of a voice session", () => {
  const of = (more: Partial<State>) => sessionStatus({ ...INITIAL, ...more });
  const seen = (more: Partial<State>) => orbState({ ...INITIAL, stage: "live", ...more });

  test("are those of an app that shows a button", () => {
    expect(of({ stage: "idle" })).toBe("idle");
    expect(of({ stage: "asking" })).toBe("connecting");
    expect(of({ stage: "live", voice: "ready" })).toBe("active");
    expect(of({ stage: "live", voice: "ready", streaming: false })).toBe("reconnecting");
    expect(of({ stage: "idle", conversation: ID })).toBe("ended");
    expect(of({ stage: "ended" })).toBe("ended");
    expect(of({ stage: "refused" })).toBe("error");
  });

  test("are seen as listening, speaking, processing and muted", () => {
    expect(seen({ voice: "ready" })).toBe("listening");
    expect(seen({ voice: "listening" })).toBe("listening");
    expect(seen({ voice: "processing" })).toBe("processing");
    expect(seen({ voice: "executing_tool" })).toBe("processing");
    expect(seen({ voice: "speaking", muted: true })).toBe("speaking");
    expect(seen({ voice: "ready", muted: true })).toBe("muted");
    expect(seen({ stage: "failed" })).toBe("error");
    expect(seen({ stage: "idle" })).toBe("idle");
  });
});
