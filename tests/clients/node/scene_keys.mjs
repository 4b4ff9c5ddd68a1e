// Our page by keyboard, in a real call: mute, hold Space, the large view; and a conversation of two
// thousand messages that is scrolled from end to beginning.

import { openBrowser, openPage } from "./browser.mjs";
import { given, play, tell } from "./scene.mjs";

const at = (name) => `[data-testid="${name}"]`;
const MANY = 2000;
const LONG_MS = 200;

const muted = (page) => page.getAttribute(at("mute"), "aria-pressed");

async function keys(page) {
  const seen = {};
  await page.keyboard.press("Alt+t");
  await page.waitForFunction(() => document.body.dataset.state === "listening", null, { timeout: 60_000 });
  await page.keyboard.press("Alt+m");
  seen.words = await page.textContent(at("state"));
  seen.muted = [await muted(page)];
  await page.keyboard.down("Space");
  seen.muted.push(await muted(page));
  await page.keyboard.up("Space");
  seen.muted.push(await muted(page));
  // Where somebody writes, a space is a space.
  await page.click("textarea");
  await page.keyboard.type("a b");
  seen.written = await page.inputValue("textarea");
  seen.muted.push(await muted(page));
  // A press of the button opens it, and holding it is as holding Space.
  await page.click(at("mute"));
  seen.muted.push(await muted(page));
  await page.click(at("mute"));
  seen.muted.push(await muted(page));
  const box = await page.locator(at("mute")).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  seen.muted.push(await muted(page));
  await page.waitForTimeout(500);
  await page.mouse.up();
  await page.waitForSelector(`${at("mute")}[aria-pressed="true"]`);
  seen.muted.push(await muted(page));
  await page.keyboard.press("Alt+v");
  seen.view = [await page.isVisible('[data-view="voice"]'), await page.isVisible(at("history"))];
  seen.kept = await page.inputValue("textarea"); // the same field, not another one
  await page.keyboard.press("Alt+t");
  await page.waitForFunction(() => document.body.dataset.state === "idle");
  await page.waitForSelector('[data-view="voice"]', { state: "detached" });
  seen.view.push(await page.isVisible(at("history")));
  tell("keys", seen);
}

async function long(page) {
  const message = (number) => ({
    id: `m${number}`,
    role: number % 2 ? "assistant" : "user",
    content: `Message ${number}. ${"It goes on for a while, as people do. ".repeat(number % 7)}`,
    input_modality: number % 3 ? "voice" : "text",
    created_at: new Date(Date.UTC(2026, 0, 1, 0, 0, number)).toISOString(),
    metadata: {},
  });
  const messages = Array.from({ length: MANY }, (_, number) => message(number));
  await page.route("**/api/v1/conversations/*/messages*", (route) => route.fulfill({ json: { messages, has_more: false } }));
  await page.evaluate(() => {
    window.tasks = [];
    new PerformanceObserver((list) => {
      for (const { duration, startTime } of list.getEntries()) window.tasks.push([Math.round(startTime), Math.round(duration)]);
    }).observe({ type: "longtask" });
  });
  await page.locator(at("history")).getByText(given.title).click();
  const last = `[data-id="m${MANY - 1}"]`;
  await page.waitForSelector(last);
  await page.waitForFunction(
    (list) => {
      const { scrollHeight, scrollTop, clientHeight } = document.querySelector(list);
      return scrollHeight - scrollTop - clientHeight < 4;
    },
    at("transcript"),
  );
  const shown = await page.$eval(at("transcript"), (list) => ({
    drawn: list.querySelectorAll("[data-role]").length,
    left: Math.round(list.scrollHeight - list.scrollTop - list.clientHeight),
  }));
  const opened = await page.evaluate(() => window.tasks.splice(0));
  await page.hover(at("transcript"));
  const first = '[data-id="m0"]';
  let scrolled = [];
  // Who shares the machine makes a task longer, and never shorter: the best of three.
  for (let round = 0; round < 3; round += 1) {
    await page.evaluate(() => window.tasks.splice(0));
    for (let turn = 0; turn < 60; turn += 1) {
      await page.mouse.wheel(0, -900);
      await page.waitForTimeout(30);
    }
    await page.$eval(at("transcript"), (list) => list.scrollTo(0, 0));
    await page.waitForSelector(first);
    scrolled = await page.evaluate(() => window.tasks);
    if (scrolled.every(([, ms]) => ms <= LONG_MS)) break;
    await page.$eval(at("transcript"), (list) => list.scrollTo(0, list.scrollHeight));
    await page.waitForSelector(last);
  }
  tell("long", { ...shown, opened, scrolled, first: (await page.locator(first).count()) > 0 });
}

play(async () => {
  const browser = await openBrowser(given);
  try {
    const page = await openPage(browser, given);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(given.page);
    await page.waitForFunction(() => document.body.dataset.state === "idle");
    await keys(page);
    await long(page);
  } finally {
    await browser.close();
  }
});
