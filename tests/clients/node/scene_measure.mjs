// How quick the page is in a browser: its first picture, and a long conversation that is scrolled.

import { openBrowser } from "./browser.mjs";
import { given, play, tell } from "./scene.mjs";

const LIMIT = { timeout: 120_000 };
const TRANSCRIPT = '[data-testid="transcript"]';

/** The second visit has what the first one left: files that are kept, and a service worker. */
async function painted(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    for (const visit of ["first", "second"]) {
      const page = await context.newPage();
      await page.goto(given.page, { waitUntil: "load" });
      await page.waitForSelector('[data-testid="talk"]', LIMIT);
      await page.evaluate(() => navigator.serviceWorker.ready.then(() => null));
      const ms = await page.evaluate(
        () =>
          new Promise((resolve) => {
            const each = ({ entries }) => entries.at(-1)?.startTime;
            new PerformanceObserver((list) => resolve(each({ entries: list.getEntries() }))).observe({
              type: "largest-contentful-paint",
              buffered: true,
            });
          }),
      );
      tell("painted", { visit, ms });
      await page.close();
    }
  } finally {
    await context.close();
  }
}

// In the page: from end to end, a frame at a time, and what kept it from drawing meanwhile.
async function scrolled(place) {
  const list = document.querySelector(place);
  const long = [];
  const watcher = new PerformanceObserver((found) => {
    for (const { duration } of found.getEntries()) long.push(duration);
  });
  watcher.observe({ type: "longtask" });
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  let longest = 0;
  for (const [from, step] of [
    [list.scrollHeight, -1],
    [0, 1],
  ]) {
    list.scrollTop = from;
    await frame();
    let last = await frame();
    const stride = Math.max(400, list.scrollHeight / 240); // four seconds at most from end to end
    for (;;) {
      const before = list.scrollTop;
      list.scrollTop += step * stride;
      const now = await frame();
      longest = Math.max(longest, now - last);
      last = now;
      if (list.scrollTop === before) break;
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 200)); // the last ones are told later
  watcher.disconnect();
  return { tasks: long.length, task: Math.max(0, ...long), frame: longest, height: list.scrollHeight };
}

// In the page: the same entries without any thought, as a list of all of them.
function plainly([place, count]) {
  const list = document.querySelector(place);
  const some = [...list.querySelectorAll("[data-role]")].slice(0, 40);
  const all = document.createElement("div");
  all.id = "plain";
  all.style.cssText = "position:fixed;inset:0;overflow-y:auto;background:Canvas";
  for (let number = 0; number < count; number += 1) {
    const copy = some[number % some.length].cloneNode(true);
    copy.removeAttribute("style");
    all.append(copy);
  }
  document.body.replaceChildren(all);
}

async function long(browser) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(given.page);
  await page.locator('[data-testid="history"]').getByText(given.title).first().click(LIMIT);
  await page.waitForSelector(`${TRANSCRIPT} [data-role]`, LIMIT);
  const older = page.getByRole("button", { name: "Older messages" });
  for (let rounds = 0; rounds < given.rounds; rounds += 1) {
    await page.evaluate((place) => (document.querySelector(place).scrollTop = 0), TRANSCRIPT);
    await older.waitFor({ timeout: 5000 }).catch(() => null);
    if (!(await older.isVisible())) break;
    await older.click();
    await page.waitForFunction(
      () => ![...document.querySelectorAll("button")].some((one) => one.textContent === "One moment…"),
      null,
      LIMIT,
    );
  }
  await page.waitForTimeout(500);
  for (let round = 0; round < given.times; round += 1)
    tell("scrolled", { whose: "ours", ...(await page.evaluate(scrolled, TRANSCRIPT)) });
  await page.evaluate(plainly, [TRANSCRIPT, given.entries]);
  await page.waitForTimeout(500);
  for (let round = 0; round < given.times; round += 1)
    tell("scrolled", { whose: "plain", ...(await page.evaluate(scrolled, "#plain")) });
}

play(async () => {
  const browser = await openBrowser(given);
  try {
    for (let round = 0; round < given.times; round += 1) await painted(browser);
    await long(browser);
  } finally {
    await browser.close();
  }
});
