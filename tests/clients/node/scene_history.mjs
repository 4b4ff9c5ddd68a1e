// Our page and a conversation of before: find it, read it, write to it, go on with it by voice.

import { openBrowser, openPage } from "./browser.mjs";
import { given, play, tell } from "./scene.mjs";

const at = (name) => `[data-testid="${name}"]`;
const state = (page, wanted) =>
  page.waitForFunction((name) => document.body.dataset.state === name, wanted, { timeout: 60_000 });

/** The words of its lines, those that are there for good. */
const lines = (page) =>
  page.$$eval(`${at("transcript")} [data-done="true"] p`, (found) =>
    found.map(({ textContent }) => textContent),
  );

async function write(page, words, count) {
  await page.fill(`${at("write")} input`, words);
  await page.keyboard.press("Enter");
  await page.waitForFunction(
    ([transcript, wanted]) =>
      document.querySelectorAll(`${transcript} [data-done="true"]:not([data-id="sending"])`).length >=
        wanted && !document.querySelector(`${transcript} [data-done="false"]`),
    [at("transcript"), count],
    { timeout: 60_000 },
  );
}

play(async () => {
  const browser = await openBrowser(given);
  try {
    const page = await openPage(browser, given);
    await page.setViewportSize({ width: 375, height: 700 });
    await page.goto(given.page);
    await state(page, "idle");
    await page.click(at("open-history"));
    await page.getByRole("dialog").getByText(given.title).click();
    await page.waitForSelector(at("write"));
    await write(page, given.words, 2);
    tell("written", { lines: await lines(page) });

    await page.click(at("talk"));
    await page.waitForFunction(() => document.body.dataset.transport, null, { timeout: 60_000 });
    tell("talking", { lines: await lines(page) });
    await page.click(at("talk"));
    await state(page, "idle");
    await write(page, given.more, 4);
    tell("again", { lines: await lines(page) });

    await page.click(at("new"));
    await page.click(at("open-history"));
    await page.getByRole("searchbox").fill(given.search);
    await page.waitForSelector(at("hit"));
    const found = await page.textContent(`${at("hit")} mark`);
    await page.click(at("hit"));
    await page.waitForSelector(".found");
    tell("found", { word: found, line: await page.textContent(".found p") });
  } finally {
    await browser.close();
  }
});
