// Our page in many states, sizes and colours, as pictures to be looked at; what its console and the
// policy complain about, and what axe finds, is told.
//
// What needs a long talk before it is seen (tasks, approvals, past talks) is put into the answers of
// the server; the rest is real.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openBrowser } from "./browser.mjs";
import { given, play, tell } from "./scene.mjs";

const at = (name) => `[data-testid="${name}"]`;
const AXE = fileURLToPath(new URL("../../../web/node_modules/axe-core/axe.min.js", import.meta.url));
const SIZES = { 390: [390, 844], 1280: [1280, 800], 1920: [1920, 1080] };

const soon = (ms) => new Date(Date.now() + ms).toISOString();
const task = (id, more) => ({
  id, title: "", description: "", agent: "coder", phase: "", progress: "", percentage: null, question: null,
  status: "running", result: null, error: null, details: [], suggestions: [], files_changed: [], told: false,
  session_id: null, created_at: soon(-600_000), updated_at: soon(-5000), finished_at: null, ...more,
});
const TASKS = [
  task("t1", { title: "Tidy up the tests of the parser", phase: "planner", progress: "Reading 12 files", percentage: 40 }),
  task("t2", {
    title: "Book a table for Friday", status: "waiting",
    question: { id: "q1", text: "For how many people?", choices: ["Two", "Four"], asked_at: soon(-9000) },
  }),
  task("t3", { title: "Summarise the report", status: "completed", result: "It has three parts.", finished_at: soon(-60_000) }),
  task("t4", {
    title: "Update the dependencies", status: "failed", error: "The registry did not answer.",
    suggestions: ["Try again later"], finished_at: soon(-3_600_000),
  }),
];
const REMINDERS = [{ id: "r1", title: "Call mum", due_at: soon(-120_000), task_id: "x", conversation_id: null, created_at: soon(-9e6) }];
const HOUR = 3_600_000;
/** In so many days, when the clock shows this. */
const atOClock = (days, hour) => {
  const day = new Date(Date.now() + days * 24 * HOUR);
  return new Date(day.setHours(hour, 0, 0, 0)).toISOString();
};
const todo = (id, more) => ({
  id, title: "", trigger_type: "time", scheduled_at: null, scheduled_words: null, recurrence_rule: null, recurrence_words: null,
  time_zone: "Europe/Berlin", location_trigger: null, status: "active", reason: null, goal_id: null, conversation_id: null,
  intent_id: null, created_at: soon(-9e7), updated_at: soon(-9e7), ...more,
});
const TODOS = [
  todo("p1", { title: "Water the plants on the balcony", scheduled_at: soon(-20 * HOUR) }),
  todo("p2", { title: "Meditate", scheduled_at: soon(HOUR / 6), recurrence_rule: "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR" }),
  todo("p3", { title: "Learn twenty words", scheduled_at: soon(HOUR / 3), goal_id: "g1", recurrence_rule: "FREQ=DAILY" }),
  todo("p4", { title: "Dentist", scheduled_at: atOClock(2, 10) }),
  todo("p5", { title: "Bring the car to the garage and ask about the noise behind the left door", scheduled_at: soon(70 * HOUR) }),
  todo("p6", { title: "Renew the passport", scheduled_at: soon(40 * 24 * HOUR) }),
  todo("p7", { title: "Buy milk", trigger_type: "location", location_trigger: "when I leave home" }),
];
const step = (id, title, done = false) => ({ id, title, position: Number(id), due_at: null, completed_at: done ? soon(-9e7) : null });
const goal = (id, more) => ({
  id, statement: "", timeline: null, target_at: null, context_notes: null, status: "active", milestones: [],
  conversation_id: null, intent_id: null, created_at: soon(-9e7), updated_at: soon(-9e7), ...more,
});
const GOALS = [
  goal("g1", {
    statement: "Learn Spanish", timeline: "in three months", target_at: soon(90 * 24 * HOUR), context_notes: "Going to Mexico with Ana",
    milestones: [
      step("0", "Order a coffee", true), step("1", "Introduce yourself", true), step("2", "Hold a talk of five minutes"),
      step("3", "Read a short book"), step("4", "Watch a film without subtitles"), step("5", "Write to Ana in Spanish"),
    ],
  }),
  goal("g2", { statement: "Run a 5K" }),
];
const talk = (at, more) => ({
  id: `c${at}`, context_type: "voice", title: null, created_at: soon(-at * 9 * HOUR), last_message_at: soon(-at * 9 * HOUR), ended_at: null,
  extracted_intent: null, preview: null, message_count: 2 + (at % 17), ...more,
});
const NAMES = ["Learning Spanish by the summer", "The gym, moved to Friday", "What to cook tonight", "Tests of the parser", "A trip to the mountains in spring"];
const TALKS = Array.from({ length: 300 }, (_, at) =>
  talk(at + 1, {
    title: at % 6 === 5 ? null : NAMES[at % 5],
    preview: at % 6 === 5 ? "Good, then I tell you tomorrow at nine." : "All right, your goal is set: learn Spanish in three months.",
    context_type: ["voice", "goal", "voice", "task", "reschedule"][at % 5],
    extracted_intent: [null, "GOAL", "NEW_TASK", null, "RESCHEDULE_TASK"][at % 5],
  }),
);
const HITS = [
  { message_id: "m1", conversation_id: "c1", role: "user", created_at: soon(-9 * HOUR), snippet: "", conversation_title: "Learning Spanish by the summer", context_type: "goal",
    parts: [{ text: "I want to learn ", found: false }, { text: "Spanish", found: true }, { text: " before we go to Mexico, and I have about three months.", found: false }] },
  { message_id: "m2", conversation_id: "c2", role: "assistant", created_at: soon(-30 * HOUR), snippet: "", conversation_title: null, context_type: "voice",
    parts: [{ text: "Done! Your ", found: false }, { text: "Spanish", found: true }, { text: " goal is set.", found: false }] },
];

const approval = () => ({
  approval_id: "a1", tool_name: "bash", question: "I want to run npm test. May I? Yes or no?",
  arguments: { command: "npm test -- --watch=false", timeout: 60 }, expires_at: soon(55_000),
  session_id: "vs_1", call_id: "c1", reach: "once", because: "the page docs.example.org",
});
const ALLOWED = [
  { ...approval(), id: "g1", tool_name: "bash", arguments: { command: "npm test -- --watch=false" }, status: "granted", reach: "always", requested_at: soon(-9e7) },
  { ...approval(), id: "g2", tool_name: "web_fetch", arguments: { url: "https://docs.example.org/guide/first-steps" }, status: "granted", reach: "session", requested_at: soon(-9e6) },
];
const LOADING = {
  ready: false, failed: false, message: null, waiting_for: ["The engine is loading its models."],
  models: [
    { name: "qwen-1.5b", state: "fetching", received: 512_000_000, total: 1_117_000_000 },
    { name: "kokoro", state: "verifying", received: 92_000_000, total: 92_000_000 },
  ],
};
const USAGE = (conversation) => ({
  today: { input_tokens: 5120, output_tokens: 812, cost_usd: 0.0312, since: soon(-9e6), sessions: 1 },
  budget: { tokens_per_day: null, tokens_left: null, cost_usd_per_day: null, cost_usd_left: null, sessions_per_day: null, sessions_left: null },
  sessions: [{ session_id: "vs_9", conversation_id: conversation, model: "gpt-realtime", input_tokens: 5120, output_tokens: 812, cost_usd: 0.0312, created_at: soon(-9e5), ended_at: null, estimated: true }],
});
const TURNS = [640, 910, 720, 1480].map((ms, at) => ({
  began_with: "speech", outcome: "completed", speech_end: soon(-60_000 * (at + 1)), transcript_ms: 0.3 * ms, first_token_ms: 0.6 * ms,
  first_sound_ms: ms, response_ids: [], item_ids: [], tools: at === 3 ? ["edit_file"] : [],
}));

const json = (body) => (route) => route.fulfill({ json: body });

// Runs in the page before its own scripts: the events of a session are those that `window.tell` is
// given, and both voices have a level, so that each state can be held still and looked at.
function staged() {
  const streams = [];
  class Staged extends EventTarget {
    static CLOSED = 2;
    readyState = 1;
    constructor() {
      super();
      streams.push(this);
      setTimeout(() => this.onopen?.());
    }
    close() {}
  }
  window.EventSource = Staged;
  window.tell = (name, data) => {
    const event = new MessageEvent(name, { data: JSON.stringify({ timestamp: new Date().toISOString(), ...data }) });
    streams.at(-1)?.dispatchEvent(event);
  };
  const calls = [];
  window.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(...given) {
      super(...given);
      calls.push(this);
    }
  };
  window.cut = () => {
    Object.defineProperty(calls.at(-1), "connectionState", { get: () => "failed" });
    calls.at(-1).dispatchEvent(new Event("connectionstatechange"));
  };
  AnalyserNode.prototype.getFloatTimeDomainData = (samples) => {
    for (let at = 0; at < samples.length; at += 1) samples[at] = 0.14 * Math.sin(at / 3);
  };
}

/** The browser asks, and nobody answers. */
function unanswered() {
  if (navigator.mediaDevices) navigator.mediaDevices.getUserMedia = () => new Promise(() => undefined);
}

function refusing() {
  if (navigator.mediaDevices) navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("", "NotAllowedError"));
}

const status = (state) => [
  "session.status",
  { state, voice_session_active: true, amplifier_connected: true, pending_tasks: 0, session_age_ms: 0, estimated_tokens: 0 },
];
const said = (role, item_id, transcript, more = {}) => ["transcription.completed", { role, item_id, transcript, modality: "voice", ...more }];
const DIFF = `Changed 1 place in parser.py.
--- parser.py
+++ parser.py
@@ -3,4 +3,4 @@
 def parse(text):
-    return text.split(",")
+    return [part.strip() for part in text.split(",")]
`;
const MARKED = `Here is a short way to do it:

\`\`\`python
from pathlib import Path

def lines(name: str) -> int:
    """How many lines a file has."""
    return len(Path(name).read_text().splitlines())
\`\`\`

1. It reads the file **once**.
2. \`splitlines\` also knows other line ends.

| File | Lines |
|---|---|
| parser.py | 214 |
| test_parser.py | 388 |`;
const TALK = [
  said("user", "u1", "Could you make the parser forgive spaces around the commas?"),
  said("assistant", "a1", "Sure. I look at the parser first."),
  ["tool.started", { call_id: "c1", tool_name: "edit_file", description: "Editing file parser.py" }],
  ["tool.completed", { call_id: "c1", tool_name: "edit_file", success: true, duration_ms: 240, output_preview: DIFF, files_changed: ["src/parser.py"] }],
  said("user", "u2", "And remind me to release it on Friday.", { modality: "text" }),
  ["intent.submitted", { intent_id: "i1", intent: "NEW_TASK", payload: { title: "Release the parser", scheduled_at: "Friday, 20 November, 09:00" }, status: "accepted", task_id: "5b0e4f9e-0000-4000-8000-000000000001" }],
];
const CUT = [
  ["transcription.delta", { role: "assistant", item_id: "a2", delta: "It is on your list for Friday at nine. The tests pass as well, and there are two more places that split by commas." }],
  said("assistant", "a2", "It is on your list for Friday at nine.", { interrupted: true }),
];
const ANSWER = "There are two more places that split by commas, in the reader and in the importer. Shall I change them, too?";
const SPEAKING = [
  said("user", "u3", "Where else?"),
  ["assistant.heard", { item_id: "a3", transcript: "", audio_end_ms: 0, state: "playing" }],
  ["transcription.delta", { role: "assistant", item_id: "a3", delta: ANSWER }],
  ["assistant.heard", { item_id: "a3", transcript: "There are two more places that split by commas, in the reader", audio_end_ms: 3100, state: "playing" }],
  status("speaking"),
];

async function talking(page, ...events) {
  await page.click(at("talk"));
  const ready = (told) => {
    if (document.body.dataset.transport) window.tell(...told);
    return document.body.dataset.state === "listening";
  };
  await page.waitForFunction(ready, status("ready"), { timeout: 60_000, polling: 200 });
  await page.evaluate((list) => list.forEach(([name, data]) => window.tell(name, data)), events);
  await page.mouse.move(0, 0); // nothing looks as if somebody pointed at it
}
/** The talk's own menu: a row of the history beside it has one of the same name. */
const menu = (page) => page.click(`main header ${at("more")}`);
const large = async (page) => {
  await menu(page);
  await page.click('[role="menuitem"] >> nth=0');
};

const toWork = async (page) => {
  if (await page.$(at("open-work"))) await page.click(at("open-work"));
  await page.waitForSelector(at("work"));
};

const STATES = {
  async idle() {},
  async history(page) {
    if (await page.$(at("open-history"))) await page.click(at("open-history"));
    await page.waitForSelector(at("conversation"));
  },
  async work(page) {
    await toWork(page);
    await page.waitForSelector(at("tasks"));
    await page.click(`${at("handed")} summary >> nth=1`);
  },
  async plans(page) {
    await toWork(page);
    await page.waitForSelector(`${at("goal")} >> nth=1`);
  },
  async workempty(page) {
    await toWork(page);
    await page.getByText("Nothing to do").waitFor();
  },
  async moving(page) {
    await toWork(page);
    await page.click(`${at("today")} ${at("more")} >> nth=1`);
    await page.waitForSelector('[role="menu"]');
  },
  async adding(page) {
    await toWork(page);
    await page.click(at("add"));
    await page.waitForSelector('[role="dialog"]');
  },
  async addinggoal(page) {
    await STATES.adding(page);
    await page.getByText("Goal", { exact: true }).last().click();
  },
  async germanplans(page) {
    await STATES.plans(page);
  },
  async historyfull(page) {
    await STATES.history(page);
    await page.hover(`${at("conversation")} >> nth=1`);
  },
  async historymenu(page) {
    await STATES.history(page);
    await page.click(`${at("history")} ${at("more")} >> nth=1`);
    await page.waitForSelector('[role="menu"]');
  },
  async historydelete(page) {
    await STATES.historymenu(page);
    await page.click(at("delete"));
    await page.waitForSelector(at("delete for good"));
  },
  async renaming(page) {
    await STATES.historymenu(page);
    await page.click(at("rename"));
    await page.waitForSelector('[role="dialog"]');
  },
  async search(page) {
    await STATES.history(page);
    await page.getByRole("searchbox").fill("spanish");
    await page.waitForSelector(at("hit"));
  },
  async historyempty(page) {
    if (await page.$(at("open-history"))) await page.click(at("open-history"));
    await page.getByText("No conversation yet").waitFor();
  },
  async settings(page) {
    await page.click(at("open-settings"));
    await page.waitForSelector(`${at("settings")} dl`);
  },
  async tested(page) {
    await page.click(at("open-settings"));
    await page.waitForSelector(`${at("settings")} dl`);
    await page.click(at("self-test"));
    await page.waitForSelector(at("heard-it"), { timeout: 60_000 });
    await page.locator(at("results")).scrollIntoViewIfNeeded();
  },
  async models(page) {
    await page.click(at("open-settings"));
    await page.locator(at("models")).scrollIntoViewIfNeeded();
  },
  async approval(page) {
    await talking(page, ...TALK.slice(0, 2), status("executing_tool"), ["approval.requested", approval()]);
    await page.waitForSelector(at("approval"));
    await page.waitForTimeout(800);
  },
  async written(page) {
    await page.fill(`${at("write")} textarea`, "What is six times seven?");
    await page.keyboard.press("Enter");
    await page.waitForSelector('[data-role="assistant"][data-done="true"]', { timeout: 60_000 });
  },
  listening: (page) => talking(page, status("ready")),
  hearing: (page) => talking(page, ...TALK, ["transcription.delta", { role: "user", item_id: "u9", delta: "And what about" }], status("listening")),
  thinking: (page) => talking(page, ...TALK, status("processing")),
  speaking: (page) => talking(page, ...TALK, ...CUT, ...SPEAKING),
  muted: async (page) => {
    await talking(page, ...TALK, status("ready"));
    await page.click(at("mute"));
  },
  tool: (page) =>
    talking(
      page,
      TALK[0],
      ["tool.started", { call_id: "c2", tool_name: "run_tests", description: "Running the tests" }],
      ["tool.progress", { call_id: "c2", tool_name: "run_tests", message: "12 of 50 passed", percentage: 24 }],
      status("executing_tool"),
    ),
  async opened(page) {
    await talking(page, ...TALK.slice(0, 4), ...CUT, status("ready"));
    await page.click(`${at("tool")} button`);
    await page.waitForTimeout(400);
  },
  async marked(page) {
    await talking(page, said("user", "u1", "How do I count lines?", { modality: "text" }), said("assistant", "a1", MARKED, { modality: "text" }), status("ready"));
    await page.waitForSelector(".hljs-keyword");
  },
  async reconnecting(page) {
    await talking(page, ...TALK, status("ready"));
    await page.route(/\/(session|sdp)\b/, (route) => route.abort());
    await page.evaluate(() => window.cut());
    await page.locator(`${at("banner")} button`).waitFor();
  },
  async ended(page) {
    await talking(page, ...TALK, status("ready"));
    await page.click(at("talk"));
    await page.waitForFunction(() => document.body.dataset.state === "idle");
  },
  async refused(page) {
    await page.click(at("talk"));
    await page.waitForFunction(() => document.body.dataset.state === "refused");
    await page.waitForSelector(at("how-to-allow"));
  },
  async asking(page) {
    await page.click(at("talk"));
    await page.waitForFunction(() => document.body.dataset.state === "asking");
  },
  async loading(page) {
    await page.locator(`${at("banner")} progress`).waitFor();
  },
  async failed(page) {
    await page.click(at("talk"));
    await page.waitForSelector(at("problem"));
  },
  async germanfailed(page) {
    await STATES.failed(page);
  },
  async elsewhere(page) {
    await talking(page, ...TALK, status("ready"), ["session.ended", { reason: "taken_over" }]);
    await page.waitForSelector(at("notice"));
  },
  async allowed(page) {
    await page.click(at("open-settings"));
    await page.locator(at("revoke")).first().scrollIntoViewIfNeeded();
  },
  async "voice-listening"(page) {
    await talking(page, ...TALK, status("ready"));
    await large(page);
  },
  async "voice-speaking"(page) {
    await talking(page, ...TALK, ...SPEAKING);
    await large(page);
  },
  async "voice-thinking"(page) {
    await talking(page, ...TALK.slice(0, 1), status("processing"));
    await large(page);
  },
  async "voice-refused"(page) {
    await large(page);
    await page.click(at("talk"));
    await page.waitForFunction(() => document.body.dataset.state === "refused");
  },
  async keys(page) {
    await menu(page);
    await page.click('[role="menuitem"] >> nth=-1');
  },
  async figures(page) {
    await talking(page, ...TALK, status("ready"));
    await menu(page);
    await page.click(at("open-figures"));
    await page.waitForSelector(at("figures"));
  },
  async german(page) {
    await page.waitForFunction(() => document.documentElement.lang === "de");
    await talking(page, ...TALK, ...CUT, status("ready"));
  },
  async locked(page) {
    await page.waitForSelector("input[type=password]");
  },
  async openid(page) {
    await page.waitForSelector(at("log-in"));
  },
  async supabase(page) {
    await page.waitForSelector(at("log-in"));
  },
};
/** What is real: there the server's own events are wanted. */
const REAL = ["idle", "history", "work", "settings", "written", "locked"];

const PROVIDER = {
  kind: "oidc", issuer: "https://id.example/realms/home", authorization_endpoint: "https://id.example/auth",
  token_endpoint: "https://id.example/token", client_id: "page", scope: "openid", audience: null,
  token: "access_token", end_session_endpoint: null, key: null, providers: [],
};
const LOGINS = {
  locked: { mode: "token", provider: null },
  openid: { mode: "jwt", provider: PROVIDER },
  supabase: { mode: "jwt", provider: { ...PROVIDER, kind: "supabase", key: "k", providers: ["google", "github"] } },
};
const LOCKED = Object.keys(LOGINS);

/** A browser tells of each request that is refused. */
const expected = (state, message) =>
  (LOCKED.includes(state) && message.text().includes("401")) ||
  (state === "loading" && message.text().includes("503")) ||
  (state.endsWith("failed") && message.text().includes("429")) ||
  (state === "reconnecting" && message.text().includes("ERR_FAILED"));

async function prepared(page, state) {
  if (!REAL.includes(state)) await page.addInitScript(staged);
  if (state.endsWith("refused")) await page.addInitScript(refusing);
  if (state === "asking") await page.addInitScript(unanswered);
  if (state === "loading") await page.route("**/ready", (route) => route.fulfill({ status: 503, json: LOADING }));
  if (state.endsWith("failed")) {
    const error = { code: "rate_limited", message: "You have 3 talks at once already", details: { retry_after_ms: 30_000 } };
    await page.route(/\/session$/, (route) => route.fulfill({ status: 429, json: { error } }));
  }
  if (state === "allowed") await page.route("**/grants", json({ approvals: ALLOWED, count: ALLOWED.length }));
  if (state === "work") {
    await page.route("**/tasks", json({ tasks: TASKS, count: TASKS.length }));
    await page.route("**/reminders?*", json({ reminders: REMINDERS }));
  }
  if (["plans", "germanplans", "moving", "work"].includes(state)) {
    await page.route("**/api/v1/tasks?*", json({ tasks: TODOS }));
    await page.route("**/api/v1/goals?*", json({ goals: GOALS }));
  }
  if (["historyfull", "historymenu", "historydelete", "renaming", "search"].includes(state)) {
    await page.route("**/api/v1/conversations?*", (route) => {
      const { searchParams } = new URL(route.request().url());
      const from = Number(searchParams.get("offset"));
      const some = TALKS.slice(from, from + Number(searchParams.get("limit")));
      return route.fulfill({ json: { conversations: some, total: TALKS.length } });
    });
    await page.route("**/conversations/search?*", json({ results: HITS }));
  }
  if (["ended", "elsewhere"].includes(state)) {
    // What was said was told to the page only: the list is to know of it, too.
    await page.route("**/api/v1/conversations?*", async (route) => {
      const list = await route.fetch().then((answer) => answer.json());
      const known = (one) => (one.title ? one : { ...one, preview: "It is on your list for Friday at nine.", message_count: 5 });
      await route.fulfill({ json: { ...list, conversations: list.conversations.map(known) } });
    });
  }
  if (state === "historyempty") await page.route("**/api/v1/conversations?*", json({ conversations: [], total: 0 }));
  if (state === "figures") {
    let conversation = "";
    page.on("response", async (response) => {
      if (response.url().endsWith("/session")) conversation = (await response.json()).conversation_id;
    });
    await page.route("**/api/v1/usage", (route) => route.fulfill({ json: USAGE(conversation) }));
    await page.route("**/sessions/vs_9", json({ session: {}, transcript: [], turns: TURNS }));
  }
  if (state === "models") {
    await page.route("**/status", async (route) => {
      const status = await route.fetch().then((answer) => answer.json()).catch(() => null);
      if (!status) return; // the page was closed meanwhile
      const models = [
        { name: "qwen3-4b-instruct", state: "fetching", received: 1_130_000_000, total: 2_497_000_000 },
        { name: "parakeet-tdt-0.6b", state: "verifying", received: 640_000_000, total: 640_000_000 },
        { name: "kokoro-82m", state: "failed", received: 0, total: 320_000_000, error: "The registry did not answer." },
      ];
      status.engine = { ...status.engine, ready: false, reading: false, waiting_for: ["The engine is fetching its models (51 %)."], models };
      await route.fulfill({ json: status });
    });
  }
  if (LOCKED.includes(state)) {
    await page.route("**/api/v1/login", json(LOGINS[state]));
    const refusal = { error: { code: "unauthorized", message: "Who is there?", details: {} } };
    await page.route("**/{tasks,ready,approvals,status}", (route) => route.fulfill({ status: 401, json: refusal }));
  }
}

// Small enough to be kept: the browser itself knows how to write WebP.
async function kept(page, paper, name) {
  const png = await page.screenshot();
  if (given.format !== "webp") return writeFileSync(`${given.folder}/${name}.png`, png);
  const webp = await paper.evaluate(async (data) => {
    const blob = await (await fetch(`data:image/png;base64,${data}`)).blob();
    const picture = await createImageBitmap(blob);
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    canvas.getContext("2d").drawImage(picture, 0, 0);
    const made = new Uint8Array(await (await canvas.convertToBlob({ type: "image/webp", quality: 0.72 })).arrayBuffer());
    let text = "";
    for (const byte of made) text += String.fromCharCode(byte);
    return btoa(text);
  }, png.toString("base64"));
  writeFileSync(`${given.folder}/${name}.webp`, Buffer.from(webp, "base64"));
}

const LIST = "/api/v1/conversations";
/** The conversations that the server has. */
async function talks(page) {
  const { conversations } = await (await page.request.get(`${given.page}${LIST}?limit=50`)).json();
  return conversations.map(({ id }) => id);
}

play(async () => {
  const browser = await openBrowser(given);
  try {
    const paper = await browser.newPage();
    const before = await talks(paper);
    for (const state of given.states ?? Object.keys(STATES))
      for (const [size, [width, height]] of Object.entries(SIZES).filter(([size]) => given.sizes?.includes(size) ?? true))
        for (const colorScheme of given.colours ?? ["light", "dark"]) {
          const name = `${state}-${size}-${colorScheme}`;
          const context = await browser.newContext({
            viewport: { width, height }, colorScheme, locale: state.startsWith("german") ? "de-DE" : "en-GB", bypassCSP: false,
            // A narrow window may have a keyboard; else it is a phone.
            ...(width < 500 && state !== "keys" && { isMobile: true, hasTouch: true }),
          });
          const page = await context.newPage();
          const complain = (what) => tell("complaint", { name, what });
          page.on("console", (message) => message.type() === "error" && !expected(state, message) && complain(message.text()));
          page.on("pageerror", (error) => complain(String(error.stack ?? error)));
          try {
            await prepared(page, state);
            await page.goto(given.page);
            if (![...LOCKED, "loading"].includes(state)) await page.waitForSelector('[data-state="idle"]');
            await STATES[state](page);
            await page.waitForTimeout(500);
            await kept(page, paper, name);
            await page.evaluate(readFileSync(AXE, "utf8"));
            const found = await page.evaluate(() => window.axe.run().then(({ violations }) => violations));
            for (const { id, nodes } of found) complain(`axe ${id}: ${nodes.map(({ html }) => html).join(" | ").slice(0, 600)}`);
          } catch (error) {
            complain(`not reached: ${error}`);
            await kept(page, paper, name);
          }
          await page.goto("about:blank"); // which hangs up
          // The list is to be the same in every picture.
          for (const id of await talks(page)) if (!before.includes(id)) await page.request.delete(`${given.page}${LIST}/${id}`);
          await context.close();
        }
  } finally {
    await browser.close();
  }
});
