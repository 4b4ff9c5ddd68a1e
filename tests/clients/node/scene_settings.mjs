// Our page's settings, its self-test and its login, in a real browser. `act` names what is played.

import { openBrowser, openPage } from "./browser.mjs";
import { given, play, tell } from "./scene.mjs";

const LIMIT = { timeout: 60_000 };
const at = (name) => `[data-testid="${name}"]`;
const state = (page, wanted) =>
  page.waitForFunction((name) => document.body.dataset.state === name, wanted, LIMIT);

async function settings(page) {
  await page.click(at("open-settings"));
  await page.waitForSelector(`${at("settings")} dl`, LIMIT);
}

const ACTS = {
  /** Another voice and another manner; then the page is loaded anew, and a talk begins. */
  async kept(page) {
    await page.goto(given.page);
    await settings(page);
    const changed = () => page.waitForResponse((answer) => answer.request().method() === "PATCH");
    for (const [name, value] of Object.entries(given.choices)) {
      const [answer] = await Promise.all([changed(), page.selectOption(at(name), value)]);
      tell("changed", { status: answer.status(), ...(await answer.json()) });
    }
    await page.reload(); // which shows the settings again
    await page.waitForSelector(at("verbosity"), LIMIT);
    const shown = {};
    for (const name of Object.keys(given.choices)) shown[name] = await page.inputValue(at(name));
    tell("shown", { shown });
    await page.keyboard.press("Escape");
    const opened = page.waitForResponse((answer) => new URL(answer.url()).pathname === "/session", LIMIT);
    await page.click(at("talk"));
    tell("session", { voice: (await (await opened).json()).voice });
  },

  /** The browser itself says no. */
  async refused(page) {
    await page.goto(given.page);
    await state(page, "idle");
    await page.click(at("talk"));
    await state(page, "refused");
    await page.waitForSelector(at("how-to-allow"), LIMIT);
    const steps = await page.locator(`${at("how-to-allow")} li`).allTextContents();
    const problem = await page.textContent(at("problem"));
    await page.click(at("write-instead"));
    await page.keyboard.type(given.words);
    await page.keyboard.press("Enter");
    const answered = '[data-role="assistant"][data-done="true"]';
    await page.waitForSelector(answered, LIMIT);
    tell("refused", { problem, steps, answer: await page.textContent(answered) });
  },

  /** With a microphone that hears nothing, and a mouth that cannot speak. */
  async tested(page) {
    await page.route("**/config/voices/*/sample", (route) =>
      route.fulfill({ status: 503, json: { error: { code: "unavailable", message: "The voice is away.", details: {} } } }),
    );
    await page.goto(given.page);
    await settings(page);
    await page.click(at("self-test"));
    await page.waitForSelector(at("heard-nothing"), { timeout: 90_000 });
    await page.click(at("heard-nothing"));
    const rows = page.locator(`${at("results")} > li`);
    const parts = await rows.evaluateAll((all) =>
      all.map((row) => [row.dataset.part, row.dataset.verdict, row.textContent]),
    );
    tell("tested", { parts, verdict: await page.textContent(at("verdict")) });
  },

  /** A wrong token, the right one, the page loaded anew, and out again. */
  async login(page) {
    const type = async (token) => {
      await page.waitForSelector("input[type=password]", LIMIT);
      await page.fill("input[type=password]", token);
      await page.keyboard.press("Enter");
    };
    await page.goto(given.page);
    await state(page, "locked");
    await type("not-the-token");
    await page.waitForFunction((problem) => document.querySelector(problem)?.textContent, at("problem"), LIMIT);
    tell("wrong", { problem: await page.textContent(at("problem")) });
    await type(given.token);
    await state(page, "idle");
    await page.reload();
    await state(page, "idle");
    await settings(page);
    await page.click(at("log-out"));
    await state(page, "locked");
    const kept = await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]));
    tell("out", { kept });
  },

  /** To the provider and back, the page loaded anew, a renewal, and out again. */
  async openid(page) {
    await page.goto(`${given.page}/?transport=websocket#work`);
    await page.click(at("log-in"), LIMIT);
    await state(page, "idle");
    tell("in", { address: page.url() });
    await page.waitForTimeout(given.patience);
    await page.reload();
    await state(page, "idle");
    await page.click(at("open-settings"));
    await page.fill("input[name=name]", "Ada");
    const changed = page.waitForResponse((answer) => answer.request().method() === "PATCH");
    await page.click(at("save-profile"));
    tell("profile", await (await changed).json());
    await page.click(at("log-out"));
    await page.waitForURL(/\/logout/, LIMIT);
    tell("out", { address: page.url() });
  },
};

play(async () => {
  const browser = await openBrowser(given);
  const page = await openPage(browser, given);
  try {
    await ACTS[given.act](page);
  } finally {
    if (given.screenshot) await page.screenshot({ path: given.screenshot });
    await browser.close();
  }
});
