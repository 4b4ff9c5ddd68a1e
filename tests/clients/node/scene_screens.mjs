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
const APPROVAL = {
  id: "a1", tool_name: "bash", question: "May I run a command in your project?", task_id: null,
  arguments: { command: "npm test -- --watch=false", timeout: 60 }, requested_at: soon(-2000), expires_at: soon(55_000),
  session_id: "vs_1", call_id: "c1", reach: "once",
};

const json = (body) => (route) => route.fulfill({ json: body });

const STATES = {
  async idle() {},
  async history(page) {
    if (await page.$(at("open-history"))) await page.click(at("open-history"));
    await page.waitForSelector(at("conversation"));
  },
  async work(page) {
    if (await page.$(at("open-work"))) await page.click(at("open-work"));
    await page.waitForSelector(at("tasks"));
    await page.click("summary >> nth=1");
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
            viewport: { width, height }, colorScheme, locale: state === "german" ? "de-DE" : "en-GB", bypassCSP: false,
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
