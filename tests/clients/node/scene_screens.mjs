// Our page in many states, sizes and colours, as pictures to be looked at; what its console and the
// policy complain about, and what axe finds, is told.
//
// What needs a long talk before it is seen (tasks, approvals, past talks) is put into the answers of
// the server; the rest is real.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openBrowser } from "./browser.mjs";
import { given, play, tell } from "./scene.mjs";

const at = (name) => `[data-testid="${name}"]`;
const AXE = fileURLToPath(new URL("../../../web/node_modules/axe-core/axe.min.js", import.meta.url));
const SIZES = { phone: [390, 844], desktop: [1280, 800] };

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
const todo = (id, more) => ({
  id, title: "", trigger_type: "time", scheduled_at: null, scheduled_words: null, recurrence_rule: null, recurrence_words: null,
  time_zone: "Europe/Berlin", location_trigger: null, status: "active", reason: null, goal_id: null, conversation_id: null,
  intent_id: null, created_at: soon(-9e7), updated_at: soon(-9e7), ...more,
});
const TODOS = [
  todo("p1", { title: "Water the plants on the balcony", scheduled_at: soon(-20 * HOUR) }),
  todo("p2", { title: "Meditate", scheduled_at: soon(HOUR / 6), recurrence_rule: "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR" }),
  todo("p3", { title: "Learn twenty words", scheduled_at: soon(HOUR / 3), goal_id: "g1", recurrence_rule: "FREQ=DAILY" }),
  todo("p4", { title: "Dentist", scheduled_at: soon(30 * HOUR) }),
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
const APPROVAL = {
  id: "a1", tool_name: "bash", question: "May I run a command in your project?", task_id: null,
  arguments: { command: "npm test -- --watch=false", timeout: 60 }, requested_at: soon(-2000), expires_at: soon(55_000),
  session_id: "vs_1", call_id: "c1", reach: "once",
};

const json = (body) => (route) => route.fulfill({ json: body });

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
    await page.waitForSelector(at("hints"));
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
  async approval(page) {
    await page.waitForSelector(at("approval"));
    await page.waitForTimeout(800);
  },
  async written(page) {
    await page.fill(`${at("write")} textarea`, "What is six times seven?");
    await page.keyboard.press("Enter");
    await page.waitForSelector('[data-role="assistant"][data-done="true"]', { timeout: 60_000 });
  },
  async talking(page) {
    await page.click(at("talk"));
    await page.waitForFunction(() => document.body.dataset.state === "listening", null, { timeout: 60_000 });
  },
  async german(page) {
    await page.waitForFunction(() => document.documentElement.lang === "de");
  },
  async locked() {},
};

/** A browser tells of each request that is refused. */
const expected = (state, message) => state === "locked" && message.text().includes("401");

async function prepared(page, state) {
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
  if (state === "historyempty") await page.route("**/api/v1/conversations?*", json({ conversations: [], total: 0 }));
  if (state === "approval") await page.route("**/approvals", json({ approvals: [APPROVAL], count: 1 }));
  if (state === "locked") {
    const refusal = { error: { code: "unauthorized", message: "Who is there?", details: {} } };
    await page.route("**/{tasks,ready,approvals,status}", (route) => route.fulfill({ status: 401, json: refusal }));
  }
}

play(async () => {
  const browser = await openBrowser(given);
  try {
    for (const state of given.states ?? Object.keys(STATES))
      for (const [size, [width, height]] of Object.entries(SIZES))
        for (const colorScheme of given.colours ?? ["light", "dark"]) {
          const name = `${state}-${size}-${colorScheme}`;
          const context = await browser.newContext({
            viewport: { width, height }, colorScheme, locale: state.startsWith("german") ? "de-DE" : "en-GB", bypassCSP: false,
          });
          const page = await context.newPage();
          const complain = (what) => tell("complaint", { name, what });
          page.on("console", (message) => message.type() === "error" && !expected(state, message) && complain(message.text()));
          page.on("pageerror", (error) => complain(String(error.stack ?? error)));
          try {
            await prepared(page, state);
            await page.goto(given.page);
            if (state !== "locked") await page.waitForSelector('[data-state="idle"]');
            await STATES[state](page);
            await page.waitForTimeout(500);
            await page.screenshot({ path: `${given.folder}/${name}.png` });
            await page.evaluate(readFileSync(AXE, "utf8"));
            const found = await page.evaluate(() => window.axe.run().then(({ violations }) => violations));
            for (const { id, nodes } of found) complain(`axe ${id}: ${nodes.map(({ html }) => html).join(" | ").slice(0, 600)}`);
          } catch (error) {
            complain(`not reached: ${error}`);
            await page.screenshot({ path: `${given.folder}/${name}.png` });
          }
          await context.close();
        }
  } finally {
    await browser.close();
  }
});
