// Our page and a conversation of before: find it, read it, write to it, go on with it by voice.

import { openBrowser, openPage } from "./browser.mjs";
import { given, play, tell } from "./scene.mjs";

const at = (name) => `[data-testid="${name}"]`;
const state = (page, wanted) =>
  page.waitForFunction((name) => document.body.dataset.state === name, wanted, { timeout: 60_000 });

/** What was said and written, as far as it is there for good. */
const SAID =
  `${at("transcript")} :is([data-role="user"], [data-role="assistant"])` +
  `[data-done="true"]:not([data-id="sending"])`;
const said = (page) => page.$$eval(`${SAID} p`, (found) => found.map((words) => words.textContent));

/** Write, and wait for so many lines in all. */
async function write(page, words, count) {
  await page.fill(`${at("write")} textarea`, words);
  await page.keyboard.press("Enter");
  await page.waitForFunction(
    ([lines, wanted]) => document.querySelectorAll(lines).length >= wanted,
    [SAID, count],
    { timeout: 60_000 },
  );
  return said(page);
}

play(async () => {
  const browser = await openBrowser(given);
  try {
    const page = await openPage(browser, given);
    await page.setViewportSize({ width: 375, height: 700 });
    await page.goto(given.page);
    await state(page, "idle");
    await page.click(at("open-history"));
    await page.locator(at("history")).getByText(given.title).click();
    await page.waitForSelector(at("write"));
    tell("written", { lines: await write(page, given.words, 2) });

    await page.click(at("talk"));
    await page.waitForFunction(
      () => ["listening", "speaking"].includes(document.body.dataset.state),
      null,
      { timeout: 60_000 },
    );
    tell("talking", { lines: await said(page) });
    await page.click(at("talk"));
    await state(page, "idle");
    tell("again", { lines: await write(page, given.more, 4) });

    await page.click(at("new"));
    await page.click(at("open-history"));
    await page.getByRole("searchbox").fill(given.search);
    await page.waitForSelector(at("hit"));
    const found = await page.textContent(`${at("hit")} mark`);
    await page.click(at("hit"));
    await page.waitForSelector("[data-found]");
    tell("found", { word: found, line: await page.textContent("[data-found] p") });
  } finally {
    await browser.close();
  }
});
