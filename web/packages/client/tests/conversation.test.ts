import { describe, expect, test, vi } from "vitest";
import { MicrophoneRefused } from "../src/audio/microphone";
import { backoff } from "../src/session/line";
import { loadingOf } from "../src/session/readiness";
import type { ServerFact } from "../src/session/state";
import { buttonWords } from "../src/session/words";
import { NoWay } from "../src/transport/transport";
import { ApiError } from "../src/wire/api";
import type { ReadyResponse } from "../src/wire/types";
import { Scene } from "./scene";

const until = (look: () => void) => vi.waitFor(look, { timeout: 2000, interval: 1 });
const refusal = (code: string, details: object = {}) => ({
  error: { code, message: `Refused: ${code}.`, details },
});

async function talking(scene = new Scene()): Promise<Scene> {
  scene.conversation.start();
  await until(() => expect(scene.webrtc.calls).toHaveLength(1));
  scene.status("ready");
  await until(() => expect(scene.state).toBe("listening"));
  return scene;
}

describe("a conversation", () => {
  test("begins with the microphone, a session, its stream and a call", async () => {
    const scene = await talking();
    expect(scene.server.asked).toEqual(["GET /ready", "POST /session"]);
    expect(scene.webrtc.used).toEqual(["ek_1"]);
    expect(scene.streams[0]?.start).toEqual({ sessionId: "vs_1", token: "st_1", lastEventId: 7 });
    expect(scene.conversation.level()).toBe(0.5);
    await scene.conversation.stop();
  });

  test("ends with everything closed, and the server told", async () => {
    const scene = await talking();
    const stopped = scene.conversation.stop();
    expect(scene.state).toBe("idle"); // at once for whoever looks
    await stopped;
    expect(scene.webrtc.calls[0]?.over).toBe(true);
    expect(scene.streams[0]?.closed).toBe(true);
    expect(scene.microphones).toBe(0);
    expect(scene.conversation.level()).toBe(0);
    expect(scene.server.asked.at(-1)).toBe("POST /sessions/vs_1/end");
  });

  test("that is hung up still learns how the last answer ended", async () => {
    const scene = await talking();
    const answer = { role: "assistant", item_id: "a1" };
    scene.tell("transcription.completed", { ...answer, transcript: "Once upon a time." });
    const stopped = scene.conversation.stop();
    scene.tell("session.warning", { reason: "idle", warning: "", seconds_remaining: 9 });
    scene.tell("transcription.completed", { ...answer, transcript: "Once", interrupted: true });
    expect(scene.streams[0]?.closed).toBe(false);
    scene.tell("session.ended", { reason: "completed", duration_ms: 1 });
    await stopped;
    expect(scene.streams[0]?.closed).toBe(true);
    const { lines, notice } = scene.conversation.store.getState();
    expect(lines).toMatchObject([{ text: "Once", unheard: " upon a time.", cut: true }]);
    expect([scene.state, notice]).toEqual(["idle", null]);
  });

  test("that is hung up has no word in the next one", async () => {
    const scene = await talking();
    const stopped = scene.conversation.stop();
    scene.conversation.start();
    const late = { role: "assistant", item_id: "a1", transcript: "Late", interrupted: true };
    scene.streams[0]?.listener.event(
      { type: "event", name: "transcription.completed", data: late } as unknown as ServerFact,
    );
    await stopped;
    expect(scene.conversation.store.getState().lines).toEqual([]);
    await scene.conversation.stop();
  });

  test("that is cancelled while models load goes back to watching them", async () => {
    const scene = new Scene();
    const waiting = { status: 503, body: { ready: false, message: "Wait." } };
    scene.server.next("GET /ready", ...Array<typeof waiting>(9).fill(waiting));
    scene.conversation.start();
    await until(() => expect(scene.state).toBe("loading"));
    await scene.conversation.stop();
    expect(scene.state).toBe("loading");
    expect(scene.microphones).toBe(0);
    await until(() => expect(scene.state).toBe("idle"));
  });

  test("can begin again before the last one is quite over", async () => {
    const scene = await talking();
    const stopped = scene.conversation.stop();
    scene.conversation.start();
    await stopped;
    await until(() => expect(scene.webrtc.calls).toHaveLength(2));
    await until(() => expect(scene.state).not.toBe("asking"));
    expect(scene.microphones).toBe(1);
    await scene.conversation.stop();
    expect(scene.microphones).toBe(0);
  });

  test("that the server ends is not ended once more", async () => {
    const scene = await talking();
    scene.tell("session.ended", { reason: "timeout", duration_ms: 1 });
    await until(() => expect(scene.microphones).toBe(0));
    expect(scene.state).toBe("ended");
    expect(scene.server.asked).not.toContain("POST /sessions/vs_1/end");
  });

  test("waits for the models, and says so", async () => {
    const scene = new Scene();
    const models = [{ name: "kokoro", state: "fetching", received: 1, total: 2, error: null }];
    const waiting = { status: 503, body: { ready: false, models } };
    const seen: string[] = [];
    scene.conversation.store.subscribe(() => seen.push(scene.state));
    scene.server.next("GET /ready", waiting, waiting);
    await talking(scene);
    expect(seen).toContain("loading");
    expect(scene.server.asked.filter((request) => request === "GET /ready")).toHaveLength(3);
    await scene.conversation.stop();
  });

  test("does not happen without a microphone, and nobody is bothered", async () => {
    const scene = new Scene();
    scene.open = () => Promise.reject(new MicrophoneRefused("No."));
    scene.conversation.start();
    await until(() => expect(scene.state).toBe("refused"));
    expect(scene.conversation.store.getState().problem).toBe("No.");
    expect(scene.server.asked).toEqual([]);
  });

  test("a microphone that comes after the stop is closed again", async () => {
    const scene = new Scene();
    let allow = () => {};
    scene.open = () => new Promise((resolve) => (allow = resolve));
    scene.conversation.start();
    await scene.conversation.stop();
    expect(scene.state).toBe("idle");
    allow();
    await until(() => expect(scene.microphones).toBe(0));
    expect(scene.server.asked).toEqual([]);
  });

  test("does not wait for a call that nobody wants any more, and closes it when it comes", async () => {
    const scene = new Scene();
    let connect = () => {};
    scene.webrtc.ready = new Promise((resolve) => (connect = resolve));
    scene.conversation.start();
    await until(() => expect(scene.webrtc.used).toEqual(["ek_1"]));
    await scene.conversation.stop();
    expect(scene.microphones).toBe(0);
    expect(scene.server.asked.at(-1)).toBe("POST /sessions/vs_1/end");
    connect();
    await until(() => expect(scene.webrtc.calls[0]?.over).toBe(true));
  });

  test("ends when the microphone is unplugged", async () => {
    const scene = await talking();
    scene.unplugged.resolve();
    await until(() => expect(scene.state).toBe("refused"));
    await until(() => expect(scene.server.asked.at(-1)).toBe("POST /sessions/vs_1/end"));
  });

  test("that the server refuses says why", async () => {
    const scene = new Scene();
    scene.server.next("POST /session", { status: 503, body: refusal("service_unavailable") });
    scene.conversation.start();
    await until(() => expect(scene.state).toBe("failed"));
    expect(scene.conversation.store.getState().problem).toBe("Refused: service_unavailable.");
    expect(scene.microphones).toBe(0);
  });

  test("that no call came of says why, and not that it has ended", async () => {
    const scene = new Scene();
    const refused = new ApiError(403, "forbidden", "Not from this page.");
    scene.webrtc.faults = [refused];
    scene.server.ended = () => scene.tell("session.ended", { reason: "user_ended", duration_ms: 1 });
    scene.conversation.start();
    await until(() => expect(scene.state).toBe("failed"));
    await until(() => expect(scene.microphones).toBe(0));
    expect(scene.state).toBe("failed");
    expect(scene.conversation.store.getState().problem).toBe("Not from this page.");
  });

  test("asks for the token where one is needed", async () => {
    const scene = new Scene();
    scene.server.next("POST /session", { status: 401, body: refusal("unauthorized") });
    scene.conversation.start();
    await until(() => expect(scene.state).toBe("locked"));
    expect(scene.server.tokens.at(-1)).toBeNull();
    scene.conversation.unlock("secret");
    await until(() => expect(scene.webrtc.calls).toHaveLength(1)); // as was wanted
    expect(scene.server.asked).toContain("GET /api/v1/me");
    expect(scene.server.tokens.at(-1)).toBe("Bearer secret");
    await scene.conversation.stop();
  });

  test("says that a token is not right, and asks again", async () => {
    const scene = new Scene();
    const refused = { status: 401, body: refusal("unauthorized") };
    const away = { status: 503, body: refusal("service_unavailable") };
    scene.server.next("POST /session", refused);
    scene.server.next("GET /api/v1/me", refused, away);
    const problem = () => scene.conversation.store.getState().problem;
    scene.conversation.start();
    await until(() => expect(scene.state).toBe("locked"));
    scene.conversation.unlock("wrong");
    await until(() => expect(problem()).toBe("This token is not right."));
    expect(scene.state).toBe("locked");
    scene.conversation.unlock("right, but");
    expect(problem()).toBeNull();
    await until(() => expect(problem()).toBe("Refused: service_unavailable."));
    scene.conversation.unlock("cannot be sent: \u2026");
    await until(() => expect(problem()).toBe("This token is not right."));
    scene.conversation.unlock("right");
    await until(() => expect(scene.webrtc.calls).toHaveLength(1));
    await scene.conversation.stop();
  });

  test("asks for the state when the stream comes back, unless it hears of it first", async () => {
    const scene = await talking();
    const speaking = { body: { state: "speaking" } };
    scene.server.next("GET /session", speaking, speaking);
    scene.streams[0]?.listener.down();
    expect(scene.state).toBe("reconnecting");
    scene.streams[0]?.listener.up();
    await until(() => expect(scene.state).toBe("speaking"));
    scene.streams[0]?.listener.up();
    scene.status("listening");
    await until(() => expect(scene.server.answers.get("GET /session")).toEqual([]));
    await new Promise((resolve) => setTimeout(resolve));
    expect(scene.state).toBe("hearing");
    await scene.conversation.stop();
  });

  test("reads the transcript anew when the stream has a gap", async () => {
    const scene = await talking();
    const entry = { id: "e1", entry_type: "user", timestamp: "", text: "Hello" };
    scene.server.next("GET /sessions/vs_1", { body: { transcript: [entry] } });
    scene.tell("stream.reset", { reason: "position_gone", requested: 1, oldest: 2, latest: 3 });
    await until(() => expect(scene.conversation.store.getState().lines).toHaveLength(1));
    await scene.conversation.stop();
  });
});

describe("the way of the sound", () => {
  test("is WebSocket when WebRTC finds none; a key that was not used opens it", async () => {
    const scene = new Scene();
    scene.webrtc.faults = [new NoWay("No candidates.", false)];
    scene.conversation.start();
    await until(() => expect(scene.websocket.used).toEqual(["ek_1"]));
    await until(() => expect(scene.conversation.store.getState().transport).toBe("websocket"));
    await scene.conversation.stop();
  });

  test("takes a new key where the first was spent", async () => {
    const scene = new Scene();
    scene.webrtc.faults = [new NoWay("Not in time.", true)];
    scene.conversation.start();
    await until(() => expect(scene.websocket.used).toEqual(["ek_2"]));
    expect(scene.server.asked).toContain("GET /session/reconnect?session_id=vs_1");
    await scene.conversation.stop();
  });

  test("is given up soon when there never was one, with every reason", async () => {
    const scene = new Scene();
    scene.webrtc.faults = [new NoWay("One.", true), new NoWay("One.", true)];
    scene.websocket.faults = [new NoWay("Two.", true), new NoWay("Two.", true)];
    scene.conversation.start();
    await until(() => expect(scene.state).toBe("failed"));
    expect(scene.conversation.store.getState().problem).toBe("One. Two.");
    await until(() => expect(scene.server.asked.at(-1)).toBe("POST /sessions/vs_1/end"));
  });

  test("comes back after a loss, with a new key, and says so meanwhile", async () => {
    const scene = await talking();
    const seen: string[] = [];
    scene.conversation.store.subscribe(() => seen.push(scene.state));
    scene.webrtc.calls[0]?.close();
    await until(() => expect(scene.webrtc.used).toEqual(["ek_1", "ek_2"]));
    await until(() => expect(scene.state).toBe("listening"));
    expect(seen).toContain("reconnecting");
    await scene.conversation.stop();
  });

  test("is no loss where the server ended the session and its word comes behind the call", async () => {
    const scene = await talking();
    const seen: string[] = [];
    scene.conversation.store.subscribe(() => seen.push(scene.state));
    scene.webrtc.calls[0]?.close();
    await scene.webrtc.calls[0]?.closed;
    scene.tell("session.ended", { reason: "timeout", duration_ms: 1 });
    await until(() => expect(scene.microphones).toBe(0));
    expect(seen).not.toContain("reconnecting");
    expect(scene.state).toBe("ended");
  });

  test("is tried again while the server is away, ever more slowly, but not for ever", async () => {
    const scene = await talking();
    const away = { status: 503, body: refusal("service_unavailable") };
    scene.server.next("GET /session/reconnect", ...Array<typeof away>(60).fill(away));
    scene.webrtc.calls[0]?.close();
    await until(() => expect(scene.state).toBe("failed"));
    expect(scene.pauses.slice(0, 8)).toEqual([200, 500, 2000, 2000, 4000, 8000, 15_000, 15_000]);
    expect(scene.pauses).toHaveLength(45);
  });

  test("goes on in a new session of the conversation when the old one is over", async () => {
    const scene = await talking();
    const token = { value: "st_2", expires_at: 0 };
    const body = { session_id: "vs_2", ephemeral_key: "ek_9", stream_token: token, last_event_id: 9 };
    scene.server.next("GET /session/reconnect", { body });
    scene.webrtc.calls[0]?.close();
    await until(() => expect(scene.webrtc.used).toEqual(["ek_1", "ek_9"]));
    expect(scene.streams[0]?.closed).toBe(true);
    expect(scene.streams[1]?.start.sessionId).toBe("vs_2");
    await scene.conversation.stop();
    expect(scene.server.asked.at(-1)).toBe("POST /sessions/vs_2/end");
  });

  test.each(["error", "socket_reset", "client_silent", "ice_lost"])(
    "is sought in a new session when the old one was lost for good: %s",
    async (reason) => {
      const scene = await talking();
      const token = { value: "st_2", expires_at: 0 };
      const body = { session_id: "vs_2", ephemeral_key: "ek_9", stream_token: token, last_event_id: 9 };
      scene.server.next("GET /session/reconnect", { body });
      scene.tell("session.ended", { reason, duration_ms: 1 });
      expect(scene.state).toBe("reconnecting");
      await until(() => expect(scene.webrtc.used).toEqual(["ek_1", "ek_9"]));
      expect(scene.webrtc.calls[0]?.over).toBe(true);
      expect(scene.pauses).toHaveLength(1); // as after any loss: not at once, and not for ever
      await until(() => expect(scene.state).toBe("listening"));
      await scene.conversation.stop();
      expect(scene.server.asked.at(-1)).toBe("POST /sessions/vs_2/end");
      expect(scene.server.asked).not.toContain("POST /sessions/vs_1/end");
    },
  );

  test("hands in what the call showed and the server did not hear, until it is stored", async () => {
    const scene = await talking();
    const request = "POST /sessions/vs_1/transcript";
    scene.server.next(request, { status: 503, body: refusal("unavailable") });
    scene.webrtc.shown({ itemId: "u1", role: "user", text: "Anybody there?" });
    scene.webrtc.shown({ itemId: "u2", role: "user", text: "Heard" });
    const heard = { item_id: "u2", transcript: "Heard", role: "user" };
    scene.tell("transcription.completed", heard);
    await until(() => expect(scene.server.asked.filter((one) => one === request)).toHaveLength(2));
    const told = scene.server.bodies.filter((one) => one.request === request);
    expect(told[1]?.body).toMatchObject({
      entries: [{ item_id: "u1", entry_type: "user", text: "Anybody there?" }],
    });
    await scene.conversation.stop();
  });

  test("hands in at its end what the server did not tell by then, and nothing else", async () => {
    const scene = await talking();
    scene.slow = true;
    scene.webrtc.shown({ itemId: "u1", role: "user", text: "Anybody there?" });
    scene.webrtc.shown({ itemId: "u2", role: "user", text: "Bye" });
    scene.server.ended = () => {
      scene.tell("transcription.completed", { item_id: "u2", transcript: "Bye", role: "user" });
      scene.tell("session.ended", { reason: "user_ended", duration_ms: 1 });
    };
    await scene.conversation.stop();
    const request = "POST /sessions/vs_1/transcript";
    const told = scene.server.bodies.filter((one) => one.request === request);
    expect(told).toHaveLength(1);
    expect(told[0]?.body).toMatchObject({ entries: [{ item_id: "u1", text: "Anybody there?" }] });
  });

  test("is not sought for a session that the server does not know", async () => {
    const scene = await talking();
    const gone = { status: 404, body: refusal("session_not_found") };
    scene.server.next("GET /session/reconnect", gone);
    scene.tell("transcription.completed", { item_id: "u1", transcript: "The blue door.", role: "user" });
    scene.webrtc.calls[0]?.close();
    await until(() => expect(scene.state).toBe("failed"));
    const { lines, problem } = scene.conversation.store.getState();
    expect(problem).toContain("does not know this talk");
    expect(lines.map(({ text }) => text), "it stays to be read").toEqual(["The blue door."]);
    scene.conversation.start();
    await until(() => expect(scene.webrtc.calls).toHaveLength(2));
    expect(scene.server.asked).not.toContain("POST /session/restore");
    expect(scene.conversation.store.getState().lines).toEqual([]);
    await scene.conversation.stop();
  });

  test("speaks until the page's own player has ended", async () => {
    const scene = new Scene();
    scene.webrtc.faults = [new NoWay("none", false)];
    scene.conversation.start();
    await until(() => expect(scene.websocket.calls).toHaveLength(1));
    scene.status("speaking");
    scene.websocket.sounding(true);
    scene.status("ready"); // the server reckons that it is over
    expect(scene.state).toBe("speaking");
    scene.websocket.sounding(false);
    expect(scene.state).toBe("listening");
    await scene.conversation.stop();
  });

  test("is brought back at once where its server stops, though its session ends", async () => {
    const scene = await talking();
    const token = { value: "st_2", expires_at: 0 };
    const body = { session_id: "vs_2", ephemeral_key: "ek_9", stream_token: token, last_event_id: 9 };
    const away = { status: 503, body: refusal("service_unavailable") };
    scene.server.next("GET /session/reconnect", away, { body });
    scene.tell("session.moved", { reason: "drained", left_by: "one" });
    expect(scene.state).toBe("reconnecting");
    expect(scene.conversation.store.getState().notice).toContain("This server stops");
    scene.tell("session.ended", { reason: "completed", duration_ms: 1 });
    expect(scene.state).toBe("reconnecting");
    await until(() => expect(scene.webrtc.used).toEqual(["ek_1", "ek_9"]));
    expect(scene.webrtc.calls[0]?.over).toBe(true);
    expect(scene.streams.at(-1)?.start.sessionId).toBe("vs_2");
    await until(() => expect(scene.state).toBe("listening"));
    expect(scene.conversation.store.getState().notice).toBeNull();
    await scene.conversation.stop();
    expect(scene.server.asked.at(-1)).toBe("POST /sessions/vs_2/end");
  });

  test("is brought back where its provider has had enough of the call, as the server says", async () => {
    const scene = await talking();
    const message = "Our session timed out. Let me reconnect and pick up where we left off.";
    scene.tell("notification", { level: "warning", message, action: { do: "reconnect" } });
    scene.tell("session.expired", { reason: "cap" });
    scene.tell("session.ended", { reason: "timeout", duration_ms: 1 });
    expect(scene.state).toBe("reconnecting");
    expect(scene.conversation.store.getState().notice).toBe(message);
    await until(() => expect(scene.webrtc.used).toEqual(["ek_1", "ek_2"]));
    await until(() => expect(scene.state).toBe("listening"));
    await scene.conversation.stop();
  });

  test("goes on as it was where another server only looks after it now", async () => {
    const scene = await talking();
    scene.server.next("GET /session", { body: { state: "speaking" } });
    scene.tell("session.moved", { reason: "lost", left_by: "one", owner: "two" });
    await until(() => expect(scene.state).toBe("speaking")); // nobody told that while it moved
    expect(scene.webrtc.used).toEqual(["ek_1"]);
    expect(scene.webrtc.calls[0]?.over).toBe(false);
    scene.tell("session.ended", { reason: "completed", duration_ms: 1 });
    await until(() => expect(scene.state).toBe("ended"));
  });

  test("has two calls before the provider's cap, until the server has moved", async () => {
    const scene = await talking();
    scene.tell("call.wanted", { reason: "cap", beside: true, seconds_remaining: 60 });
    await until(() => expect(scene.webrtc.calls).toHaveLength(2));
    const [first, second] = scene.webrtc.calls;
    expect(scene.webrtc.used).toEqual(["ek_1", "ek_2"]);
    await new Promise((resolve) => setTimeout(resolve));
    expect(first?.over).toBe(false);
    expect(scene.conversation.store.getState().notice).toBeNull();
    scene.tell("call.moved", { reason: "cap" });
    await until(() => expect(first?.over).toBe(true));
    expect(second?.over).toBe(false);
    expect(scene.state).toBe("listening");
    // And again: it is the one that is on now.
    scene.tell("call.wanted", { reason: "cap", beside: true, seconds_remaining: 60 });
    await until(() => expect(scene.webrtc.calls).toHaveLength(3));
    await scene.conversation.stop();
    expect(scene.webrtc.calls.every(({ over }) => over)).toBe(true);
  });

  test("keeps its call where another provider does not take it", async () => {
    const scene = await talking();
    const refused = { status: 502, body: refusal("openai_error") };
    scene.server.next("GET /session/reconnect", refused);
    scene.tell("call.wanted", { reason: "provider", beside: true, provider: "openai" });
    await until(() => expect(scene.server.asked).toContain("GET /session/reconnect?session_id=vs_1"));
    await new Promise((resolve) => setTimeout(resolve));
    expect(scene.webrtc.calls).toHaveLength(1);
    expect(scene.webrtc.calls[0]?.over).toBe(false);
    expect(scene.state).toBe("listening");
    await scene.conversation.stop();
  });

  test("shows why while another provider is tried, and goes on there", async () => {
    const scene = await talking();
    const seen: (string | null)[] = [];
    scene.conversation.store.subscribe(() => seen.push(scene.conversation.store.getState().notice));
    const message = "OpenAI does not answer. One moment, I try Azure.";
    scene.tell("call.wanted", { reason: "lost", beside: false, provider: "azure", message });
    expect(scene.state).toBe("reconnecting");
    await until(() => expect(scene.webrtc.calls).toHaveLength(2));
    expect(seen).toContain(message);
    expect(scene.webrtc.calls[0]?.over).toBe(true);
    await until(() => expect(scene.state).toBe("listening"));
    await scene.conversation.stop();
  });

  test("does not move before a cap that no call lifts: it says so, and ends", async () => {
    const scene = await talking();
    scene.tell("session.warning", { reason: "cap", warning: "", seconds_remaining: 60 });
    scene.status("ready");
    await new Promise((resolve) => setTimeout(resolve));
    expect(scene.webrtc.calls).toHaveLength(1);
    expect(scene.conversation.store.getState().notice).toContain("60 seconds");
    scene.tell("session.expired", { reason: "cap" });
    scene.tell("session.ended", { reason: "timeout", duration_ms: 1 });
    await until(() => expect(scene.state).toBe("ended"));
    expect(scene.webrtc.used).toEqual(["ek_1"]);
  });
});

describe("a conversation that ended by itself", () => {
  async function expired(): Promise<Scene> {
    const scene = await talking();
    const said = { item_id: "u1", transcript: "The blue door.", role: "user" };
    scene.tell("transcription.completed", said);
    scene.tell("session.expired", { reason: "idle" });
    scene.tell("session.ended", { reason: "timeout", duration_ms: 1 });
    await until(() => expect(scene.state).toBe("ended"));
    await until(() => expect(scene.microphones).toBe(0));
    return scene;
  }

  test("goes on with one click, with its words still there", async () => {
    const scene = await expired();
    expect(buttonWords(scene.conversation.store.getState())).toBe("Reconnect");
    scene.conversation.start();
    await until(() => expect(scene.webrtc.used).toEqual(["ek_1", "ek_2"]));
    expect(scene.server.bodies.at(-1)).toEqual({
      request: "POST /session/restore",
      body: { prev_session_id: "vs_1" },
    });
    expect(scene.streams.at(-1)?.start.sessionId).toBe("vs_2");
    expect(scene.conversation.store.getState().lines.map(({ text }) => text)).toEqual(["The blue door."]);
    await scene.conversation.stop();
    expect(scene.server.asked.at(-1)).toBe("POST /sessions/vs_2/end");
    // Who hung up wanted it over.
    expect(buttonWords(scene.conversation.store.getState())).toBe("Start talking");
  });

  test("is left alone by who wants a new one", async () => {
    const scene = await expired();
    scene.conversation.forget();
    const { lines } = scene.conversation.store.getState();
    expect([scene.state, lines]).toEqual(["idle", []]);
    scene.conversation.start();
    await until(() => expect(scene.webrtc.calls).toHaveLength(2));
    expect(scene.server.asked).not.toContain("POST /session/restore");
    await scene.conversation.stop();
  });

  test("in which nothing was said begins anew", async () => {
    const scene = await talking();
    scene.tell("session.ended", { reason: "timeout", duration_ms: 1 });
    await until(() => expect(scene.state).toBe("ended"));
    expect(buttonWords(scene.conversation.store.getState())).toBe("Start talking");
  });
});

test("a pause is as long as the server asks for", () => {
  expect(backoff(1, new ApiError(429, "rate_limited", "", 30_000))).toBe(30_000);
  expect(backoff(3, new Error())).toBe(2000);
});

test("what a server says of its models is taken as it comes", () => {
  const answer = { ready: false, message: "Wait." } as ReadyResponse;
  expect(loadingOf(answer)).toEqual({ message: "Wait.", failed: false, models: [] });
  const models = [{ name: "a", state: "missing" as const, received: 0, total: 1 }];
  expect(loadingOf({ ...answer, models }).models).toEqual(models);
});

test("models that cannot be had are what the server says they are", () => {
  const answer = { ready: false, message: "The provider cannot be reached." } as ReadyResponse;
  expect(loadingOf(answer).failed).toBe(false);
  const models = [{ name: "a", state: "ready" as const, received: 1, total: 1 }];
  const waiting_for = ["The engine's models cannot be fetched or loaded; see the log."];
  const [message] = waiting_for;
  expect(loadingOf({ ...answer, waiting_for, models, failed: true })).toEqual({
    message,
    failed: true,
    models,
  });
});
