import { describe, expect, test } from "vitest";
import {
  type Fact,
  INITIAL,
  intentStatus,
  type Line,
  newest,
  reduce,
  rowsOf,
  type ServerFact,
  type State,
  titleOf,
  type Understood,
} from "@vivavoce/client";
import { Transcript } from "../src/conversation/Transcript";
import { Scene } from "../packages/client/tests/scene";
import { drawn } from "./drawn";

const GOAL = { goal_statement: "learn Spanish", timeline: "in three months", context_notes: null };

function event(name: ServerFact["name"], data: object): Fact {
  return { type: "event", name, data: { timestamp: "", ...data } } as unknown as Fact;
}

function submitted(more: object = {}): Fact {
  const goal = { intent_id: "i1", intent: "GOAL", payload: GOAL, status: "pending", revision: 0 };
  return event("intent.submitted", { ...goal, ...more });
}

const RETRACTED = event("intent.retracted", { intent_id: "i1", intent: "GOAL" });

function after(...facts: Fact[]): State {
  return facts.reduce(reduce, INITIAL);
}

function said(item_id: string, transcript: string): Fact {
  return event("transcription.completed", { role: "user", item_id, transcript });
}

function shown(...facts: Fact[]): string {
  return drawn(<Transcript lines={after(...facts).lines} />);
}

function card(state: State): Line["intent"] {
  return state.lines.find(({ kind }) => kind === "intent")?.intent;
}

describe("an intent's card", () => {
  test("stands where it was understood, and changes there", () => {
    const state = after(
      said("u1", "I want to learn Spanish"),
      submitted(),
      said("u2", "By spring"),
      submitted({ status: "accepted", revision: 1, payload: { ...GOAL, timeline: "by spring" } }),
    );
    expect(state.lines.map(({ id }) => id)).toEqual(["u1", "i1", "u2"]);
    expect(card(state)).toMatchObject({ revision: 1, payload: { timeline: "by spring" } });
  });

  test("says in plain words what it is and what became of it", () => {
    const pending = shown(submitted());
    for (const part of ["Goal", "learn Spanish", "By when", "in three months", "On its way"]) {
      expect(pending).toContain(part);
    }
    expect(pending).not.toContain("Notes"); // there are none
    expect(shown(submitted(), submitted({ status: "accepted" }))).toContain("Saved");
    const changed = submitted({ status: "accepted", revision: 2 });
    expect(shown(submitted(), changed)).toContain("Changed");
    const failed = shown(submitted({ status: "failed", error: "No room." }));
    expect(failed).toContain("Not accepted");
    expect(failed).toContain("No room.");
  });

  test("is struck through once it is taken back, and stays so", () => {
    const markup = shown(submitted({ status: "accepted" }), RETRACTED, submitted({ revision: 3 }));
    expect(markup).toContain("<s>learn Spanish</s>");
    expect(markup).toContain("Taken back");
    expect(shown(RETRACTED)).toContain('<s>Goal</s>'); // of a talk before this one
  });

  test("is text whatever the payload holds", () => {
    const hostile = { title: "<img src=x onerror=alert(1)>\u202e", "<b>": { deep: ["</dl>"] } };
    const markup = shown(submitted({ intent: "<i>X</i>", payload: hostile, status: "<u>" }));
    expect(markup).not.toMatch(/<img|<b>|<i>|<u>|<\/dl>"/);
    expect(markup).toContain("&lt;img src=x onerror=alert(1)&gt;\\u{202e}");
    expect(shown(submitted({ intent: "constructor", payload: {} }))).toContain("Constructor");
  });

  test("keeps to a few short lines", () => {
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`key_${at}`, "x".repeat(999)]));
    const rows = rowsOf(many);
    expect(rows).toHaveLength(12);
    expect(Math.max(...rows.map(({ text }) => text.length))).toBe(241);
    expect(rowsOf({ task_id: "0b8f", trigger_type: "time", title: "Run" })).toEqual([
      { label: "What", text: "Run", main: true },
    ]);
  });

  test("has the route for a title, also one that we do not know", () => {
    expect(["GOAL", "NEW_TASK", "RESCHEDULE_TASK", "BOOK_A_TABLE"].map(titleOf)).toEqual([
      "Goal",
      "New task",
      "Rescheduled",
      "Book a table",
    ]);
    expect(intentStatus({ status: "of_tomorrow", revision: 0 } as Understood)).toBe("Of tomorrow");
  });

  test("does not go back when the same news come late from another stream", () => {
    const accepted: Understood = { route: "GOAL", payload: GOAL, status: "accepted", revision: 1, error: null };
    expect(newest(accepted, { ...accepted, status: "pending" })).toBe(accepted);
    expect(newest(accepted, { ...accepted, revision: 0 })).toBe(accepted);
    expect(newest(accepted, { ...accepted, status: "pending", revision: 2 }).status).toBe("pending");
  });

  test("takes the place of its tool's line, but of no other", () => {
    const started = (call_id: string, tool_name: string) =>
      event("tool.started", { call_id, tool_name, description: tool_name });
    const done = (call_id: string, tool_name: string, success = true) =>
      event("tool.completed", { call_id, tool_name, success, duration_ms: 1 });
    const ids = (...facts: Fact[]) => after(...facts).lines.map(({ id }) => id);
    const call = started("c1", "submit_goal_intent");
    expect(ids(call, submitted(), done("c1", "submit_goal_intent"))).toEqual(["i1"]);
    expect(ids(call, done("c1", "submit_goal_intent"))).toEqual(["c1"]);
    expect(ids(call, submitted(), done("c1", "submit_goal_intent", false))).toEqual(["c1", "i1"]);
    expect(ids(started("c2", "bash"), submitted(), done("c2", "bash"))).toEqual(["c2", "i1"]);
  });

  test("is still there when the transcript is read anew", () => {
    const entry = { id: "e1", item_id: "u1", entry_type: "user", text: "I want to learn Spanish" };
    const later = { id: "e2", item_id: "a1", entry_type: "assistant", text: "Fine." };
    const read = { type: "transcript.read", entries: [entry, later] } as unknown as Fact;
    const state = after(said("u1", "I want"), submitted(), read);
    expect(state.lines.map(({ id }) => id)).toEqual(["u1", "i1", "a1"]);
  });

  test("hears from the inbox how it ended after the call, and only if it is here", () => {
    const scene = new Scene(after(submitted()));
    scene.conversation.work.open();
    const news = (intent_id: string) =>
      scene.news("intent.submitted", { intent_id, intent: "GOAL", payload: GOAL, status: "accepted" });
    news("i1");
    news("i2");
    const { lines } = scene.conversation.store.getState();
    expect(lines.map(({ id, intent }) => [id, intent?.status])).toEqual([["i1", "accepted"]]);
    scene.conversation.work.close();
  });
});

test("what was said aloud has a mark, what was written has none", () => {
  const spoken = shown(said("u1", "Hello"));
  expect(spoken).toContain('aria-label="by voice"');
  const written = event("transcription.completed", {
    role: "user",
    item_id: "u1",
    transcript: "Hello",
    modality: "text",
  });
  expect(shown(written)).not.toContain("by voice");
});
