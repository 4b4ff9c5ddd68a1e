import { describe, expect, test } from "vitest";
import { NO_WORK, type Work } from "@vivavoce/client";
import { Asked } from "../src/approvals/Approvals";
import { Transcript } from "../src/conversation/Transcript";
import { TooltipProvider } from "../src/parts/tooltip";
import { Handed, Tray } from "../src/work/Tray";
import { anApproval, aTask } from "../packages/client/tests/scene";
import { drawn, drawnIn } from "./drawn";

const nothing = async () => undefined;
const never = () => undefined;
const actions = { cancel: nothing, answer: nothing, noted: nothing, seen: () => undefined };

function tray(work: Partial<Work>, quiet = false): string {
  return drawn(
    <TooltipProvider>
      <Tray work={{ ...NO_WORK, ...work }} actions={actions} quiet={quiet} done={never} snooze={never} />
      <Handed work={{ ...NO_WORK, ...work }} actions={actions} />
    </TooltipProvider>,
  );
}

function approvals(work: Partial<Work>): string {
  return drawn(
    <Asked work={{ ...NO_WORK, ...work }} decide={() => undefined} />,
  );
}

test("what is due is in the work pane, with a way to put it away", () => {
  const shown = tray({ due: [{ id: "r1", task_id: "x", title: "Call mum", due_at: new Date().toISOString() }] });
  expect(shown).toContain("Call mum");
  expect(shown).toContain("Due just now");
  for (const words of ["Got it", "Done", "In 10 minutes"]) expect(shown).toContain(words);
});

describe("the work pane", () => {
  test("takes no room without tasks, and says why there are none", () => {
    expect(tray({})).toBe("");
    expect(tray({ unread: "Busy." }, true)).toBe("");
    expect(tray({ unread: "Busy." })).toContain("Tasks could not be read: Busy.");
  });

  test("shows who is at it, the last word and how far it is", () => {
    const running = tray({ tasks: [aTask({ phase: "planner", progress: "Reading", percentage: 40 })] });
    expect(running).toContain("planner · Reading");
    expect(running).toMatch(/<progress max="100"[^>]*value="40"/);
    expect(running).toContain("Cancel");
    expect(tray({ tasks: [aTask({ percentage: null })] })).not.toContain("<progress");
  });

  test("asks with choices and a field, and says what was refused", () => {
    const question = { id: "q1", text: "Which?", choices: ["A", "B"], asked_at: "" };
    const asking = tray({ tasks: [aTask({ status: "waiting", question })], faults: { t1: "Too late." } });
    for (const part of ["Which?", ">A</button>", ">B</button>", "<input", "Too late."]) {
      expect(asking).toContain(part);
    }
    const call = { callId: "c1", id: "q2", text: "Sure?", choices: [] };
    expect(tray({ questions: [call] })).toContain("Sure?");
  });

  test("keeps results and failures to be read, with a mark on the new ones", () => {
    const failed = aTask({
      status: "failed",
      error: "It broke.",
      details: ["Tried once", "Tried once"],
      suggestions: ["Wait"],
      finished_at: "2026-11-15T12:00:00.000Z",
    });
    const fresh = tray({ tasks: [failed] });
    for (const part of ["Failed", "It broke.", "What was tried", "Tried once", "Wait", "New:"]) {
      expect(fresh).toContain(part);
    }
    const seen = tray({ tasks: [failed], seen: ["t1"] });
    expect(seen).not.toContain("New:");
  });
});

describe("an approval's card", () => {
  const hostile = anApproval("a1", {
    question: "Write <b>it</b>?",
    arguments: { content: "<img src=x onerror=alert(1)>\u202e", count: 2 },
    expires_at: new Date(Date.now() + 30_000).toISOString(),
  });

  test("shows the tool and its arguments as text and never as markup", () => {
    const card = approvals({ approvals: [hostile] });
    expect(card).toContain("bash");
    expect(card).toContain("&lt;img src=x onerror=alert(1)&gt;\\u{202e}");
    expect(card).not.toMatch(/<img|<b>/);
    expect(card).toContain("<dt>count</dt><dd><pre>2</pre></dd>");
  });

  test("is announced at once, and no button is the default", () => {
    const card = approvals({ approvals: [hostile] });
    expect(card).toContain('role="alert" aria-live="assertive">Write');
    expect(card).toContain('role="alertdialog"');
    expect(card).not.toMatch(/autofocus|type="submit"|<form/i);
    expect(card.indexOf(">No</button>")).toBeLessThan(card.indexOf(">Yes, this once</button>"));
    // Not before it has been there for a moment.
    expect(card.match(/aria-disabled="true"/g)).toHaveLength(4);
    // Its place is known before anything is asked, or nobody would hear it.
    expect(approvals({})).toContain('aria-live="assertive"');
  });

  test("offers a yes that goes further, where there is further to go", () => {
    const card = approvals({ approvals: [hostile] });
    expect(card.indexOf(">Yes, this once</button>")).toBeLessThan(card.indexOf(">Yes, for this session<"));
    expect(card).toContain(">Yes, always</button>");
    const outside = approvals({ approvals: [{ ...hostile, session_id: null }] });
    expect(outside).not.toContain("for this session<");
    expect(outside).toContain(">Yes, always</button>");
    // Asked once for a session: a yes is no smaller than that, and says so.
    const whole = approvals({ approvals: [{ ...hostile, reach: "session" }] });
    expect(whole).not.toContain("this once");
    expect(whole.match(/for this session</g)).toHaveLength(1);
  });

  test("says who asks, and whose words it has read", () => {
    expect(approvals({ approvals: [hostile] })).toContain("The assistant wants to run bash");
    const task = { ...hostile, asked_by: 'the task "Tidy"', because: "the page <b>evil.example</b>" };
    const card = approvals({ approvals: [task] });
    expect(card).toContain("The task &quot;Tidy&quot; wants to run bash");
    expect(card).toContain("It has read the page &lt;b&gt;evil.example&lt;/b&gt; before");
    const aloud = approvals({ approvals: [{ ...hostile, question: "I want to push. May I? Yes or no?" }] });
    expect(aloud).toContain(">I want to push. May I?<");
  });

  test("counts down, and says when it is too late", () => {
    expect(approvals({ approvals: [hostile] })).toMatch(/in (29|30) s\./);
    expect(approvals({ approvals: [hostile], skewMs: 60_000 })).toContain("Time is up");
  });

  test("is one at a time, and says what is behind it and what went wrong", () => {
    const work = { approvals: [hostile, anApproval("a2")], faults: { a1: "One moment." } };
    const card = approvals(work);
    expect(card.match(/alertdialog/g)).toHaveLength(1);
    expect(card).toContain("1 more after this.");
    expect(card).toContain("One moment.");
  });
});

test("a tool that waits for a yes is not told as running", () => {
  const line = { id: "c1", kind: "tool" as const, text: "Running rm x", unheard: "", cut: false };
  const begun = { ...line, done: false, failed: false, note: "", percentage: null };
  const asked = drawn(<Transcript lines={[begun]} asking={["c1"]} />);
  expect(asked).toContain("Waiting for your yes");
  expect(asked).not.toContain("Running");
  expect(drawn(<Transcript lines={[begun]} />)).toContain("Running rm x");
});

test("a running tool shows its progress in the conversation", () => {
  const line = { id: "c1", kind: "tool" as const, text: "Running pytest", unheard: "", cut: false };
  const going = { ...line, done: false, failed: false, note: "12 of 50 tests passed", percentage: 24 };
  const markup = drawn(<Transcript lines={[going]} />);
  expect(markup).toContain(" · 12 of 50 tests passed");
  expect(markup).toMatch(/<progress max="100"[^>]*value="24"/);
  const failed = { ...going, done: true, failed: true, note: "Killed.", percentage: null };
  expect(drawn(<Transcript lines={[failed]} />)).toContain(" · failed: Killed.");
});

test("an approval is asked for in the language of the page", async () => {
  const work = { ...NO_WORK, approvals: [anApproval("a1")] };
  const card = await drawnIn("de", <Asked work={work} decide={() => undefined} />);
  for (const part of [">Nein</button>", ">Ja, dieses Mal</button>", ">Ja, immer</button>"]) {
    expect(card).toContain(part);
  }
});
