import { describe, expect, test } from "vitest";
import { reduce } from "../src/session/reducer";
import { type Fact, INITIAL, type ServerFact, type State } from "../src/session/state";
import { busy, buttonWords, situation, words } from "../src/session/words";
import type { EventName, VoiceEvents } from "../src/wire/types";

const LIVE: Fact[] = [
  { type: "microphone.asked" },
  { type: "call.placing", transport: "webrtc" },
  { type: "call.up", transport: "webrtc" },
  status("ready"),
];

function event<Name extends EventName>(
  name: Name,
  data: Omit<VoiceEvents[Name], "timestamp">,
): ServerFact {
  return { type: "event", name, data: { timestamp: "", ...data } } as unknown as ServerFact;
}

function status(state: string): ServerFact {
  return event("session.status", {
    state,
    voice_session_active: true,
    amplifier_connected: true,
    pending_tasks: 0,
    session_age_ms: 0,
    estimated_tokens: 0,
  });
}

function after(...facts: Fact[]): State {
  return facts.reduce(reduce, INITIAL);
}

function said(role: string, item_id: string, transcript: string, more: object = {}): ServerFact {
  return event("transcription.completed", { role, item_id, transcript, ...more });
}

function shown(state: State): string[] {
  return state.lines.map((line) => `${line.kind}: ${line.text}`);
}

describe("the state in words", () => {
  test("a conversation goes from the button to listening", () => {
    const told = LIVE.map((_, at) => situation(after(...LIVE.slice(0, at + 1))));
    expect(told).toEqual(["asking", "connecting", "connecting", "listening"]);
  });

  test.each([
    ["ready", "listening", "Listening"],
    ["listening", "hearing", "You speak"],
    ["processing", "thinking", "Thinking"],
    ["speaking", "speaking", "Speaking"],
    ["reconnecting", "reconnecting", "Connection lost, reconnecting"],
    ["a state of tomorrow's", "listening", "Listening"],
  ])("the server's %s is shown as %s", (state, one, several) => {
    const now = after(...LIVE, status(state));
    expect(situation(now)).toBe(one);
    expect(words(now)).toBe(several);
  });

  test("a running tool is named, with how far it is", () => {
    const call = { call_id: "c1", tool_name: "search" };
    const started = after(
      ...LIVE,
      event("tool.started", { ...call, description: "Searching" }),
      status("executing_tool"),
    );
    expect(words(started)).toBe("Running search");
    const on = reduce(started, event("tool.progress", { ...call, message: "", percentage: 40 }));
    expect(words(on)).toBe("Running search (40 %)");
    const request = { approval_id: "a1", question: "May I?", arguments: {}, expires_at: "", ...call };
    const asked = reduce(started, event("approval.requested", request));
    expect(words(asked)).toBe("Waiting for your yes");
    const yes = { approval_id: "a1", tool_name: "search", granted: true, by: "click" };
    expect(words(reduce(asked, event("approval.resolved", yes)))).toBe("Running search");
  });

  test("models on their way are counted together", () => {
    const model = { name: "a", state: "fetching" as const };
    const waiting = after({
      type: "server.waiting",
      loading: {
        message: null,
        failed: false,
        models: [
          { ...model, received: 84, total: 100 },
          { ...model, name: "b", received: 0, total: 100 },
        ],
      },
    });
    expect(words(waiting)).toBe("Loading models, 42 %");
    expect(situation(reduce(waiting, { type: "server.ready" }))).toBe("idle");
    const models = [{ ...model, received: 100, total: 100 }];
    const loading = { message: null, failed: false, models };
    const there = after({ type: "server.waiting", loading });
    expect(words(there)).toBe("Loading models"); // fetched, but not yet in memory
  });

  test("models that cannot be had are no progress", () => {
    const models = [{ name: "a", state: "failed" as const, received: 85, total: 100 }];
    const now = after({ type: "server.waiting", loading: { message: "No.", failed: true, models } });
    expect(words(now)).toBe("The models could not be fetched");
    expect(situation(now)).toBe("loading"); // the server tries again
  });

  test("before the server has answered nobody claims that it is ready", () => {
    expect([situation(INITIAL), words(INITIAL)]).toEqual(["loading", "One moment…"]);
    expect(words(after({ type: "server.ready" }))).toBe("Ready when you are");
  });

  test("the button says what it does", () => {
    const loading = { message: null, failed: false, models: [] };
    const placing = after(...LIVE.slice(0, 2));
    expect(buttonWords(after({ type: "server.ready" }))).toBe("Start talking");
    expect(buttonWords(after({ type: "server.waiting", loading }))).toBe("Start talking");
    expect(buttonWords(after(...LIVE.slice(0, 1)))).toBe("Cancel");
    expect(buttonWords(placing)).toBe("Cancel");
    expect(buttonWords(reduce(placing, { type: "server.waiting", loading }))).toBe("Cancel");
    expect(buttonWords(after(...LIVE))).toBe("Hang up");
    expect(buttonWords(after(...LIVE, { type: "call.lost" }))).toBe("Hang up");
    expect(buttonWords(after(...LIVE, { type: "stopped" }))).toBe("Start talking");
  });

  test("a server that does not list its models is just not ready", () => {
    const loading = { message: "No key.", failed: false, models: [] };
    expect(words(after({ type: "server.waiting", loading }))).toBe("The server is not ready yet");
  });

  test("whoever pressed the button while models load sees them load", () => {
    const loading = { message: null, failed: false, models: [] };
    const now = after(...LIVE.slice(0, 2), { type: "server.waiting", loading });
    expect(situation(now)).toBe("loading");
    expect(busy(now)).toBe(true);
    expect(situation(reduce(now, { type: "stopped" }))).toBe("loading"); // they still do
  });

  test("without the event stream the page does not claim to know", () => {
    const lost = after(...LIVE, { type: "stream.down" });
    expect(situation(lost)).toBe("reconnecting");
    expect(situation(reduce(lost, { type: "stream.up" }))).toBe("listening");
  });

  test("an event that was stored first does not turn the state back", () => {
    const late = after(...LIVE, status("processing"), event("speech.started", { item_id: "u1" }));
    expect(situation(late)).toBe("thinking");
    expect(situation(reduce(late, { type: "voice.read", voice: "speaking" }))).toBe("speaking");
  });

  test("a lost call is said, and so is its return", () => {
    const lost = after(...LIVE, { type: "call.lost" }, { type: "call.placing", transport: "webrtc" });
    expect(situation(lost)).toBe("reconnecting");
    const back = reduce(lost, { type: "call.up", transport: "websocket" });
    expect(situation(back)).toBe("listening");
    expect(back.transport).toBe("websocket");
  });

  test("a session that ends by itself says why, and stopping afterwards does not unsay it", () => {
    const ended = after(
      ...LIVE,
      event("session.expired", { reason: "idle" }),
      event("session.ended", { reason: "timeout", duration_ms: 1 }),
      { type: "stopped" },
    );
    expect(situation(ended)).toBe("ended");
    expect(ended.notice).toContain("nobody said a word");
    expect(busy(ended)).toBe(false);
  });

  test("a warning of silence goes when somebody speaks; one before a cap is nobody's business", () => {
    const warning = { warning: "", seconds_remaining: 30 };
    const idle = after(...LIVE, event("session.warning", { ...warning, reason: "idle" }));
    expect(idle.notice).toContain("30 seconds");
    expect(reduce(idle, event("speech.started", {})).notice).toBeNull();
    const cap = event("session.warning", { ...warning, reason: "cap", action: "reconnect" });
    expect(after(...LIVE, cap).notice).toBeNull();
  });

  test("a refused microphone, a token and a failure are no conversation", () => {
    const refused = after(...LIVE, { type: "microphone.refused", why: "No." });
    expect([situation(refused), refused.problem, busy(refused)]).toEqual(["refused", "No.", false]);
    expect(situation(after({ type: "locked", why: null }))).toBe("locked");
    expect(after({ type: "failed", why: "Full." }).problem).toBe("Full.");
  });
});

describe("the transcript", () => {
  test("deltas grow a line, and what was said replaces them", () => {
    const growing = after(
      event("transcription.delta", { item_id: "a1", delta: "Six times ", role: "assistant" }),
      event("transcription.delta", { item_id: "a1", delta: "seven", role: "assistant" }),
    );
    expect(shown(growing)).toEqual(["assistant: Six times seven"]);
    expect(growing.lines[0]?.done).toBe(false);
    const done = reduce(growing, said("assistant", "a1", "Six times seven is 42."));
    expect(shown(done)).toEqual(["assistant: Six times seven is 42."]);
    const late = event("transcription.delta", { item_id: "a1", delta: "!", role: "assistant" });
    expect(shown(reduce(done, late))).toEqual(["assistant: Six times seven is 42."]);
  });

  test("a question whose words come late still stands before its answer", () => {
    const now = after(
      event("speech.started", { item_id: "u1" }),
      event("transcription.delta", { item_id: "a1", delta: "It is", role: "assistant" }),
      said("user", "u1", "What is it?"),
    );
    expect(shown(now)).toEqual(["user: What is it?", "assistant: It is"]);
  });

  test("the predecessor decides where a line of unknown place goes", () => {
    const now = after(
      said("user", "u1", "One"),
      said("assistant", "a2", "Three"),
      said("user", "u2", "Two", { previous_item_id: "u1" }),
    );
    expect(shown(now)).toEqual(["user: One", "user: Two", "assistant: Three"]);
  });

  test("an answer that was cut off shows what was heard, and what was not as such", () => {
    const now = after(
      said("assistant", "a1", "I could go on for hours."),
      said("assistant", "a1", "I could go", { interrupted: true }),
    );
    expect(now.lines[0]).toMatchObject({ text: "I could go", unheard: " on for hours.", cut: true });
  });

  test("cut off again, or with other words, it keeps its sense", () => {
    const cut = (text: string) => said("assistant", "a1", text, { interrupted: true });
    const twice = after(said("assistant", "a1", "I could go on."), cut("I could go"), cut("I could"));
    expect(twice.lines[0]).toMatchObject({ text: "I could", unheard: " go on." });
    const other = after(said("assistant", "a1", "I could go on."), cut("You could"));
    expect(other.lines[0]).toMatchObject({ text: "You could", unheard: "" });
    expect(after(cut("")).lines[0]).toMatchObject({ text: "", cut: true });
  });

  test("a noise that was no speech leaves no line", () => {
    const now = after(event("speech.started", { item_id: "u1" }), said("user", "u1", " "));
    expect(now.lines).toEqual([]);
  });

  test("a tool is a line that comes to an end, good or bad", () => {
    const call = { call_id: "c1", tool_name: "calculate" };
    const started = after(event("tool.started", { ...call, description: "Calculating 6*7" }));
    expect(shown(started)).toEqual(["tool: Calculating 6*7"]);
    const done = event("tool.completed", { ...call, success: true, duration_ms: 1 });
    expect(reduce(started, done)).toMatchObject({ tools: [], lines: [{ done: true, failed: false }] });
    const fault = event("tool.error", { ...call, error: "No.", recoverable: true });
    expect(reduce(started, fault)).toMatchObject({ tools: [], lines: [{ failed: true }] });
    // What was refused never began, and has its name all the same.
    expect(after(fault)).toMatchObject({ lines: [{ text: "calculate", failed: true, note: "No." }] });
  });

  test("what is left open when it ends is closed, and what never came is gone", () => {
    const now = after(
      event("transcription.delta", { item_id: "a1", delta: "And then", role: "assistant" }),
      event("speech.started", { item_id: "u1" }),
      { type: "stopped" },
    );
    expect(now.lines).toMatchObject([{ text: "And then", done: true }]);
  });

  test("after a gap it is read anew from the server's record", () => {
    const entry = { id: "e1", timestamp: "" };
    const now = after(said("user", "old", "Gone"), {
      type: "transcript.read",
      entries: [
        { ...entry, entry_type: "user", text: "Hello", item_id: "u1" },
        { ...entry, entry_type: "tool_call", tool_name: "clock", tool_call_id: "c1" },
        { ...entry, entry_type: "tool_result", tool_call_id: "c1" },
        {
          ...entry,
          entry_type: "assistant",
          text: "It is",
          interrupted: true,
          generated_text: "It is noon",
          item_id: "a1",
        },
      ],
    });
    expect(shown(now)).toEqual(["user: Hello", "tool: clock", "assistant: It is"]);
    expect(now.lines[2]).toMatchObject({ unheard: " noon", cut: true });
  });

  test("it does not grow without end", () => {
    const many = Array.from({ length: 600 }, (_, at) => said("user", `u${at}`, `${at}`));
    const now = after(...many);
    expect(now.lines).toHaveLength(500);
    expect(now.lines.at(-1)?.text).toBe("599");
  });

  test("a new conversation begins with an empty page", () => {
    expect(after(said("user", "u1", "Old"), { type: "microphone.asked" }).lines).toEqual([]);
  });
});
