// A page of somebody else's, on another origin: press its button, speak, write, hang up.
//
// `told` says where the page lists what it was told; `talk`, `write` and `send` are selectors.

import { openBrowser, openPage, untilSpoken } from "./browser.mjs";
import { given, play, tell } from "./scene.mjs";
import { writeWav } from "./wav.mjs";

const LIMIT = { timeout: 60_000 };

play(async () => {
  const browser = await openBrowser(given);
  try {
    const page = await openPage(browser, given);
    await page.setViewportSize({ width: given.width ?? 420, height: 900 });
    const requests = [];
    page.on("request", (request) => requests.push(request.url()));
    const refused = [];
    page.on("console", (message) => {
      if (/Content Security Policy|CORS/i.test(message.text())) refused.push(message.text());
    });
    await page.goto(given.page);
    await page.waitForSelector(given.talk);
    if (given.before) await page.screenshot({ path: given.before });
    tell("quiet", { requests: requests.filter((url) => !url.endsWith(".js")) });
    const all = () =>
      page.$$eval(`${given.told} li`, (found) => found.map((each) => each.textContent));
    const until = (words, who) =>
      page.waitForFunction(
        ([told, wanted, role]) =>
          [...document.querySelectorAll(`${told} li`)].some(({ textContent }) => {
            const text = textContent.toLowerCase();
            return text.startsWith(role) && wanted.every((word) => text.includes(word));
          }),
        [given.told, words, who],
        LIMIT,
      );
    try {
      await page.click(given.talk);
      await until(given.words, "user:");
      if (!given.interrupt) await until(given.words, "assistant:");
      if (given.interrupt) {
        // In the middle of an answer, as soon as a bit of it was heard.
        await page.waitForSelector(given.interrupt, LIMIT);
        await page.waitForTimeout(1500);
        await page.click(given.interrupt);
        const at = Date.now();
        await page.waitForSelector(given.interrupted, LIMIT);
        tell("interrupted", { ms: Date.now() - at });
      }
      writeWav(given.heard, await untilSpoken(page));
      if (given.during) await page.screenshot({ path: given.during });
      if (given.write) {
        await page.fill(given.write, "What is six times seven?");
        await page.press(given.write, "Enter");
        await until(["42"], "assistant:");
      }
      if (given.hangUp) await page.click(given.hangUp);
    } finally {
      if (given.after) await page.screenshot({ path: given.after });
      tell("page", { told: await all(), refused });
    }
  } finally {
    await browser.close();
  }
});
