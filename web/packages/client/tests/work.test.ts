import { describe, expect, test } from "vitest";
import { reduce } from "../src/session/reducer";
import { type Fact, INITIAL, type ServerFact, type State } from "../src/session/state";
import type { Approval, Task, WorkNews } from "../src/session/work/work";
import {
  agoWords,
  argumentRows,
  countdown,
  inOrder,
  isNew,
  lengthWords,
  secondsLeft,
  trayWords,
  visible,
} from "../src/session/work/words";
import type { EventName, VoiceEvents } from "../src/wire/types";
import { anApproval, aTask } from "./scene";

function at(second: number): string {
  return `2026-11-15T12:00:${String(second).padStart(2, "0")}.000Z`;
}

function event<Name extends EventName>(
  name: Name,
  second: number,
  data: Omit<VoiceEvents[Name], "timestamp">,
): ServerFact {
  return { type: "event", name, data: { timestamp: at(second), ...data } } as unknown as ServerFact;
}

function news(told: WorkNews): Fact {
  return { type: "work", news: told };
}

function read(tasks: Task[], approvals: Approval[] = []): Fact {
  return news({ what: "read", tasks, approvals, skewMs: 0 });
}

function after(...facts: Fact[]): State {
  return facts.reduce(reduce, INITIAL);
}

const BEGUN = event("task.delegated", 1, {
  task_id: "t1",
  title: "Write it",
  agent: "coder",
  backend: "embedded",
});
const progress = (second: number, message: string, percentage?: number) =>
  event("task.progress", second, {
    task_id: "t1",
    message,
    agent: "planner",
    ...(percentage === undefined ? {} : { percentage }),
  });
const DONE = event("task.completed", 9, {
  task_id: "t1",
  title: "Write it",
  summary: "Written.",
  files_changed: ["a.py"],
  duration_ms: 1,
});
const ASKED = event("task.question", 4, {
  task_id: "t1",
  question_id: "q1",
  question: "Which?",
  choices: ["A", "B"],
});
const WANTED = event("approval.requested", 2, {
  approval_id: "a1",
  tool_name: "bash",
  question: "Push?",
  arguments: { command: "git push" },
  expires_at: at(59),
});
const resolved = (granted: boolean, by: string) =>
  event("approval.resolved", 3, { approval_id: "a1", tool_name: "bash", granted, by });

describe("a task", () => {
  test("goes from its beginning over progress to its result", () => {
    const going = after(BEGUN, progress(2, "12 of 50 tests passed", 24));
    expect(going.work.tasks).toMatchObject([
      { id: "t1", title: "Write it", phase: "planner", progress: "12 of 50 tests passed", percentage: 24 },
    ]);
    expect(trayWords(going.work)).toBe("1 running");
    const done = reduce(going, DONE);
    expect(done.work.tasks).toMatchObject([
      { status: "completed", result: "Written.", files_changed: ["a.py"], finished_at: at(9) },
    ]);
    expect(trayWords(done.work)).toBe("1 new");
  });

  test("that fails says what was tried and what could help", () => {
    const failed = { task_id: "t1", title: "Write it", error: "No.", details: ["A"], suggestions: ["B"] };
    const state = after(BEGUN, event("task.failed", 5, failed));
    expect(state.work.tasks[0]).toMatchObject({ status: "failed", error: "No.", details: ["A"], suggestions: ["B"] });
    const stopped = after(BEGUN, event("task.failed", 5, { ...failed, cancelled: true }));
    expect(stopped.work.tasks[0]?.status).toBe("cancelled");
  });

  test("that is over stays over, whatever comes late or twice", () => {
    const state = after(BEGUN, DONE, progress(8, "late"), BEGUN, ASKED, DONE);
    expect(state.work.tasks).toMatchObject([{ status: "completed", result: "Written." }]);
    const old = aTask({ id: "t1", updated_at: at(3), progress: "old list" });
    expect(reduce(state, read([old])).work.tasks[0]?.status).toBe("completed");
  });

  test("is what the newer of an event and a list says", () => {
    const listed = aTask({ id: "t1", updated_at: at(5), progress: "from the list" });
    expect(after(read([listed]), progress(4, "older")).work.tasks[0]?.progress).toBe("from the list");
    expect(after(read([listed]), progress(6, "newer")).work.tasks[0]?.progress).toBe("newer");
    expect(after(BEGUN, progress(6, "newer"), read([listed])).work.tasks[0]?.progress).toBe("newer");
  });

  test("that began after the list was read is not lost by it", () => {
    expect(after(BEGUN, read([])).work.tasks).toHaveLength(1);
  });

  test("that ended before anybody here knew of it is shown all the same", () => {
    expect(after(DONE).work.tasks).toMatchObject([{ title: "Write it", status: "completed" }]);
  });

  test("outlives the call and the beginning of the next one, but not a change of token", () => {
    const state = after(BEGUN, { type: "stopped" }, { type: "microphone.asked" });
    expect(state.work.tasks).toHaveLength(1);
    expect(reduce(state, { type: "locked", why: null }).work.tasks).toEqual([]);
  });

  test("is new until it was told or read", () => {
    const ended = { status: "completed", finished_at: at(9) };
    const state = after(
      news({ what: "seen", ids: ["read"] }),
      read([
        aTask({ id: "unread", ...ended }),
        aTask({ id: "read", ...ended }),
        aTask({ id: "told", ...ended, told: true }),
        aTask({ id: "running" }),
      ]),
    );
    const fresh = state.work.tasks.filter((task) => isNew(task, state.work));
    expect(fresh.map((task) => task.id)).toEqual(["unread"]);
  });

  test("stands in the order of what matters: questions, running, then ends, newest first", () => {
    const question = { id: "q", text: "?", choices: [], asked_at: at(1) };
    const state = after(
      read([
        aTask({ id: "early", status: "failed", created_at: at(1), finished_at: at(2) }),
        aTask({ id: "late", status: "completed", created_at: at(1), finished_at: at(8) }),
        aTask({ id: "runs", created_at: at(7) }),
        aTask({ id: "asks", created_at: at(3), status: "waiting", question }),
      ]),
    );
    expect(inOrder(state.work).map((task) => task.id)).toEqual(["asks", "runs", "late", "early"]);
    expect(trayWords(state.work)).toBe("1 question · 1 running · 2 new");
  });

  test("is one of a hundred at most", () => {
    const many = Array.from({ length: 150 }, (_, n) =>
      aTask({ id: `t${n}`, created_at: `2026-11-15T12:00:00.${String(n).padStart(3, "0")}Z` }),
    );
    const { tasks } = after(read(many)).work;
    expect([tasks.length, tasks[0]?.id]).toEqual([100, "t149"]);
  });
});

describe("a question", () => {
  test("waits until it is answered, and a late copy does not ask again", () => {
    const asking = after(BEGUN, ASKED);
    expect(asking.work.tasks[0]).toMatchObject({ status: "waiting", question: { id: "q1", choices: ["A", "B"] } });
    const answered = reduce(asking, news({ what: "answered", id: "t1", questionId: "q1" }));
    expect(answered.work.tasks[0]).toMatchObject({ status: "running", question: null });
    const question = { id: "q1", text: "Which?", choices: [], asked_at: at(4) };
    const listed = aTask({ id: "t1", status: "waiting", question, updated_at: at(4) });
    expect(reduce(reduce(answered, ASKED), read([listed])).work.tasks[0]?.question).toBeNull();
  });

  test("answered by voice is gone with the next progress", () => {
    expect(after(BEGUN, ASKED, progress(5, "On it")).work.tasks[0]?.question).toBeNull();
  });

  test("of a running tool goes with its call, whose number may carry its conversation", () => {
    const question = { task_id: "c1@conv", question_id: "q2", question: "Sure?", choices: [] };
    const asking = after(event("task.question", 1, question));
    expect(asking.work).toMatchObject({ tasks: [], questions: [{ callId: "c1@conv", text: "Sure?" }] });
    const call = { tool_name: "ask_user", success: true, duration_ms: 1 };
    const other = reduce(asking, event("tool.completed", 2, { ...call, call_id: "c2" }));
    expect(other.work.questions).toHaveLength(1);
    const done = reduce(asking, event("tool.completed", 2, { ...call, call_id: "c1" }));
    expect(done.work.questions).toEqual([]);
  });
});

describe("an approval", () => {
  test("is asked with everything it is about, and is gone when it was answered by voice", () => {
    const asking = after(WANTED);
    expect(asking.work.approvals).toMatchObject([
      { id: "a1", tool_name: "bash", question: "Push?", arguments: { command: "git push" } },
    ]);
    const gone = reduce(asking, resolved(true, "voice"));
    expect([gone.work.approvals, gone.notice]).toEqual([[], "bash was allowed by voice."]);
    const late = reduce(asking, resolved(false, "timeout"));
    expect(late.notice).toBe("bash was refused: nobody answered in time.");
    expect(reduce(asking, resolved(true, "click")).notice).toBeNull();
  });

  test("that was settled does not come back with a late copy or an old list", () => {
    const settled = after(WANTED, resolved(false, "voice"));
    expect(reduce(settled, WANTED).work.approvals).toEqual([]);
    expect(reduce(settled, read([], [anApproval("a1")])).work.approvals).toEqual([]);
    expect(after(resolved(false, "voice"), WANTED).notice).toBeNull();
  });

  test("that the list does not have any more is gone", () => {
    expect(after(WANTED, read([])).work.approvals).toEqual([]);
  });

  test("comes in its turn, the oldest first", () => {
    const younger = anApproval("young", { requested_at: at(9) });
    const older = anApproval("old", { requested_at: at(1) });
    const ids = after(read([], [younger, older]), WANTED).work.approvals.map((one) => one.id);
    expect(ids).toEqual(["old", "a1", "young"]);
  });

  test("counts down by the server's clock, and not below nothing", () => {
    const approval = anApproval("a1", { expires_at: at(30) });
    const now = Date.parse(at(10));
    expect(secondsLeft(approval, now, 0)).toBe(20);
    expect(secondsLeft(approval, now, 5_000)).toBe(15); // the server is ahead of us
    expect(secondsLeft(approval, now, 60_000)).toBe(0);
    expect(secondsLeft({ ...approval, expires_at: "never" }, now, 0)).toBe(0);
    expect([countdown(59), countdown(61)]).toEqual(["59 s", "1:01 min"]);
  });

  test("hides nothing of what it is about", () => {
    expect(visible("a\u200bb\u202ec\td\ne\u{e0041}")).toBe("a\\u{200b}b\\u{202e}c\td\ne\\u{e0041}");
    const rows = argumentRows({ command: "ls", deep: { a: [1] }, none: null });
    expect(rows).toEqual([
      { name: "command", text: "ls" },
      { name: "deep", text: '{\n  "a": [\n    1\n  ]\n}' },
      { name: "none", text: "null" },
    ]);
    expect(lengthWords(rows)).toBeNull();
    const long = argumentRows({ content: "x\n".repeat(500) });
    expect(lengthWords(long)).toBe("501 lines, 1000 characters. Scroll to read all of it.");
  });
});

test("what is refused is said where it was asked for, and forgotten at the next try", () => {
  const refused = after(BEGUN, news({ what: "acting", id: "t1" }), news({ what: "refused", id: "t1", why: "No." }));
  expect(refused.work).toMatchObject({ acting: [], faults: { t1: "No." } });
  expect(reduce(refused, news({ what: "acting", id: "t1" })).work).toMatchObject({ acting: ["t1"], faults: {} });
});

test("how long ago is said in words", () => {
  const now = Date.parse("2026-11-15T12:00:00Z");
  const ago = (ms: number) => agoWords(new Date(now - ms).toISOString(), now);
  expect([0, 5, 90, 60 * 26, 60 * 72].map((minutes) => ago(minutes * 60_000))).toEqual([
    "just now",
    "5 min ago",
    "1 h ago",
    "yesterday",
    "3 days ago",
  ]);
  expect(agoWords(null, now)).toBe("");
});

describe("a running tool", () => {
  const call = { call_id: "c1", tool_name: "bash" };
  const started = event("tool.started", 1, { ...call, description: "Running pytest" });
  const on = event("tool.progress", 2, { ...call, message: "12 of 50 tests passed", percentage: 24 });

  test("shows its progress in the conversation until it ends", () => {
    const going = after(started, on);
    expect(going.lines).toMatchObject([
      { text: "Running pytest", note: "12 of 50 tests passed", percentage: 24, done: false },
    ]);
    const done = reduce(going, event("tool.completed", 3, { ...call, success: true, duration_ms: 1 }));
    expect(done.lines).toMatchObject([{ text: "Running pytest", note: "", percentage: null, done: true }]);
    const late = reduce(done, on);
    expect([late.tools, late.lines]).toEqual([[], done.lines]);
  });

  test("that fails says why", () => {
    const error = { ...call, error: "It was killed.", recoverable: true, suggestion: "Try less." };
    const state = after(started, event("tool.error", 2, error));
    expect(state.lines).toMatchObject([{ failed: true, note: "It was killed. Try less." }]);
  });

  test("whose beginning was missed is known by its name", () => {
    const odd = event("tool.progress", 2, { ...call, message: "Going", percentage: 250 });
    expect(after(odd).lines).toMatchObject([{ text: "bash", note: "Going", percentage: 100 }]);
  });
});

describe("what is due", () => {
  const due = (second: number, id = "r1") =>
    event("task.due", second, { reminder_id: id, task_id: "td", title: "Call mum", due_at: at(second) });

  test("is in the tray once, whichever stream brought it, and a line where a call goes on", () => {
    const live: State = { ...INITIAL, stage: "live" };
    const state = [due(1), due(1), due(2, "r2")].reduce(reduce, live);
    expect(state.work.due.map(({ id }) => id)).toEqual(["r2", "r1"]);
    expect(state.lines.map(({ kind, text }) => [kind, text])).toEqual([
      ["due", "Call mum"],
      ["due", "Call mum"],
    ]);
    expect(trayWords(state.work)).toBe("2 due");
  });

  test("is no line of a conversation that does not go on", () => {
    expect(after(due(1)).lines).toEqual([]);
  });

  test("goes when it was read, and does not come back with a late copy", () => {
    const state = after(due(1), news({ what: "seen", ids: ["r1"] }), due(1));
    expect(state.work.due).toEqual([]);
  });

  test("is what the server says when the list is read", () => {
    const state = after(due(1), news({ what: "due", due: [{ id: "r3", task_id: "t", title: "Gym", due_at: at(3) }] }));
    expect(state.work.due.map(({ title }) => title)).toEqual(["Gym"]);
  });
});
