import { type Fact, INITIAL, type Line, reduce, type ServerFact, situation, type State, undoOf } from "@vivavoce/client";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Quiet } from "../packages/client/src/session/quiet";
import { Transcript } from "../src/conversation/Transcript";
import { failed, hintWords, stateWords, talkWords } from "../src/words/talk";
import { percentWords, sizeWords } from "../src/words/region";
import { clockWords, durationWords } from "../src/words/time";
import { i18n } from "../src/words/i18n";
import { drawn } from "./drawn";

const ANSWER = "There are two more places that split by commas.";

function event(name: ServerFact["name"], data: object): Fact {
  return { type: "event", name, data: { timestamp: "", ...data } } as unknown as Fact;
}

function status(state: string): Fact {
  return event("session.status", { state });
}

function heard(transcript: string, state = "playing"): Fact {
  return event("assistant.heard", { item_id: "a1", transcript, audio_end_ms: 100, state });
}

const delta = event("transcription.delta", { item_id: "a1", delta: ANSWER, role: "assistant" });
const whole = event("transcription.completed", { item_id: "a1", transcript: ANSWER, role: "assistant" });
const LIVE: readonly Fact[] = [{ type: "call.up", transport: "webrtc" }, status("speaking")];

function after(...facts: readonly Fact[]): State {
  return [...LIVE, ...facts].reduce(reduce, INITIAL);
}

function shown(...facts: readonly Fact[]): string {
  return drawn(<Transcript lines={after(...facts).lines} />);
}

describe("a caption", () => {
  test("shows no word before it was heard, also where the answer is whole already", () => {
    const soon = shown(heard(""), delta, whole);
    expect(soon).not.toContain("There");
    const on = shown(heard(""), delta, heard("There are two"), whole);
    expect(on).toContain(">There are two<");
    expect(on).not.toContain("commas");
  });

  test("is the whole answer at its end, and where its end was lost on the way", () => {
    expect(shown(heard(""), delta, whole, heard(ANSWER, "played"))).toContain(ANSWER);
    const done = event("assistant.done", { item_id: "a1", duration_ms: 10 });
    expect(shown(heard(""), delta, whole, heard("There"), done)).toContain(ANSWER);
    expect(shown(heard(""), delta, whole, heard("There"), { type: "call.lost" })).toContain(ANSWER);
    expect(shown(heard(""), delta, whole, heard("There"), { type: "stopped" })).toContain(ANSWER);
  });

  test("is the answer as it comes where nobody tells how far it was heard", () => {
    expect(shown(delta)).toContain(ANSWER);
  });
});

test("what was not heard is folded away, and says how much it is", () => {
  const cut = event("transcription.completed", {
    item_id: "a1",
    transcript: "There are two",
    role: "assistant",
    interrupted: true,
  });
  const markup = shown(heard(""), delta, heard("There are"), cut);
  expect(markup).toContain(">There are two<");
  expect(markup).toContain("interrupted");
  expect(markup).toMatch(/aria-expanded="false"[^>]*>6 words were not heard</);
  expect(markup).not.toContain("commas");
});

describe("the words for what it does", () => {
  test("are 'Thinking' again when the sound stops and the answer is not over", () => {
    const silent = after({ type: "silence", on: true });
    expect([situation(silent), stateWords(i18n, silent)]).toEqual(["thinking", "Thinking"]);
    expect(situation(reduce(silent, { type: "silence", on: false }))).toBe("speaking");
    expect(situation(reduce(silent, status("ready")))).toBe("listening");
  });

  test("do not claim to listen to somebody who is muted", () => {
    const muted = after(status("ready"), { type: "muted", on: true });
    expect(stateWords(i18n, muted)).toBe("Muted");
    expect(hintWords(i18n, muted)).toBe("Hold Space to speak");
    expect(hintWords(i18n, after(status("ready")))).toBeNull();
  });

  test("say what runs as its card does, and how far it is on the card alone", () => {
    const started = (call_id: string, description: string) =>
      event("tool.started", { call_id, tool_name: "bash", description });
    const further = event("tool.progress", { call_id: "c1", tool_name: "bash", message: "12 of 50", percentage: 24 });
    const one = after(status("executing_tool"), started("c1", "Running the tests"), further);
    expect([stateWords(i18n, one), hintWords(i18n, one)]).toEqual(["Running the tests", null]);
    expect(stateWords(i18n, reduce(one, started("c2", "Reading a page")))).toBe("2 tools are running");
    const beside = reduce(one, status("ready"));
    expect([stateWords(i18n, beside), hintWords(i18n, beside)]).toEqual(["Listening", "Running the tests"]);
  });

  test("offer to try again what failed", () => {
    const refused = after({ type: "microphone.refused", why: "No." });
    expect([failed(refused), talkWords(i18n, refused)]).toEqual([true, "Try again"]);
    expect(failed(after())).toBe(false);
  });
});

describe("silence in an answer", () => {
  const told: boolean[] = [];
  const quiet = new Quiet((on) => told.push(on));

  test("is told once it is longer than a pause, behind a sound only, and taken back at once", () => {
    quiet.look(true, 0, 0);
    quiet.look(true, 0, 5000);
    expect(told).toEqual([]); // nothing was heard of it yet: nobody knows whether it can be
    quiet.look(true, 0.1, 5100);
    quiet.look(true, 0, 6500);
    expect(told).toEqual([]);
    quiet.look(true, 0, 6700);
    expect(told).toEqual([true]);
    quiet.look(true, 0.1, 6800);
    expect(told).toEqual([true, false]);
  });

  test("is over with the answer", () => {
    quiet.look(true, 0, 9000);
    quiet.look(false, 0, 9100);
    expect(told).toEqual([true, false, true, false]);
  });
});

describe("a tool's card", () => {
  const started = event("tool.started", { call_id: "c1", tool_name: "bash", description: "Running make" });
  const done = event("tool.completed", {
    call_id: "c1",
    tool_name: "bash",
    success: true,
    duration_ms: 2400,
    output_preview: "All is well.",
    files_changed: ["a.py", "b.py"],
  });

  test("is one line that opens once there is something to see, with its length", () => {
    expect(shown(started)).not.toContain("<button");
    const card = shown(started, done);
    expect(card).toContain('aria-expanded="false"');
    for (const part of ["Running make", " · done", "2 files", "2.4 s"]) expect(card).toContain(part);
    expect(card).not.toContain("All is well."); // nobody wanted to see it yet
  });

  test("keeps what came of it", () => {
    const line = after(started, done).lines.find(({ id }) => id === "c1");
    expect(line?.call).toMatchObject({ tool: "bash", output: "All is well.", files: ["a.py", "b.py"], ms: 2400 });
    const fault = event("tool.error", { call_id: "c1", tool_name: "bash", error: "No.", recoverable: true, output_preview: "Oh" });
    expect(after(started, fault).lines.at(-1)).toMatchObject({ failed: true, note: "No.", call: { output: "Oh" } });
  });
});

test("what was understood can be taken back where something new came of it", () => {
  const intent = { route: "GOAL", payload: {}, status: "accepted", revision: 0, error: null, goal: "g/1" };
  expect(undoOf(intent)).toBe("api/v1/goals/g%2F1");
  expect(undoOf({ ...intent, task: "t1" })).toBe("api/v1/tasks/t1");
  expect(undoOf({ ...intent, status: "pending" })).toBeNull();
  expect(undoOf({ ...intent, status: "retracted" })).toBeNull();
  expect(undoOf({ ...intent, route: "RESCHEDULE_TASK", task: "t1" })).toBeNull();
});

test("how long something took is told as people would", () => {
  expect([240, 2400, 24_000, 90_000].map((ms) => durationWords(i18n, ms))).toEqual(["240 ms", "2.4 s", "24 s", "1:30 min"]);
});

test("a written message has another mark than a spoken one, and one that was not sent says why", () => {
  const line: Line = { id: "u1", kind: "user", text: "Hi", unheard: "", cut: false, done: true, failed: false, note: "", percentage: null };
  expect(drawn(<Transcript lines={[{ ...line, spoken: false }]} />)).toContain('aria-label="in writing"');
  expect(drawn(<Transcript lines={[{ ...line, spoken: true }]} />)).toContain('aria-label="by voice"');
  const lost = drawn(<Transcript lines={[{ ...line, failed: true, note: "Too many." }]} />);
  expect(lost).toContain("Not sent. Too many.");
});

describe("numbers and times", () => {
  afterEach(() => vi.unstubAllGlobals());

  test("are written as in the user's country, where it speaks the page's language", () => {
    const inCountry = (...languages: string[]) => {
      vi.stubGlobal("navigator", { languages });
      return clockWords(i18n, new Date(2026, 10, 18, 17, 46).toISOString()).replace(/\s/u, " ");
    };
    expect(inCountry("en-GB", "en-US")).toBe("17:46");
    expect(inCountry("fr-FR", "en-US")).toBe("5:46 PM");
    expect(inCountry("en-US@posix", "en-GB")).toBe("17:46");
    expect(inCountry("de-AT")).toBe("5:46 PM"); // the page is in English all the same
  });

  test("have their signs and units", () => {
    vi.stubGlobal("navigator", { languages: [] });
    expect(percentWords(i18n, 24)).toBe("24%");
    expect([4.2e6, 320e6, 2497e6].map((bytes) => sizeWords(i18n, bytes))).toEqual(["4.2 MB", "320 MB", "2.5 GB"]);
  });
});
