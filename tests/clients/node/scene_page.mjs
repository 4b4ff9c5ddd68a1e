// Our own page, as a user has it: press the button, speak, read the words, hear the answer.

import { openBrowser, openPage, untilSpoken } from "./browser.mjs";
import { given, play, tell } from "./scene.mjs";
import { writeWav } from "./wav.mjs";

// Runs in the page before its own scripts: its states, each with its second.
function remember() {
  window.states = [];
  const look = () => {
    const { state } = document.body.dataset;
    if (state && window.states.at(-1)?.[0] !== state)
      window.states.push([state, Math.round(performance.now() / 100) / 10]);
  };
  document.addEventListener("DOMContentLoaded", () => {
    new MutationObserver(look).observe(document.body, { attributes: true });
    look();
  });
}

const at = (name) => `[data-testid="${name}"]`;

play(async () => {
  const browser = await openBrowser(given);
  try {
    const page = await openPage(browser, given);
    await page.addInitScript(remember);
    await page.goto(given.page);
    await page.click(at("talk"));
    await page.waitForFunction(() => document.body.dataset.transport, null, { timeout: 60_000 });
    try {
      await page.waitForFunction(
        ([transcript, words]) =>
          words.every((word) =>
            document.querySelector(transcript)?.textContent.toLowerCase().includes(word),
          ),
        [at("transcript"), given.words],
        { timeout: 60_000 },
      );
      const over = () => document.body.dataset.state !== "speaking";
      writeWav(given.heard, await untilSpoken(page, { over }));
    } finally {
      await page.screenshot({ path: given.screenshot });
      tell("page", {
        transport: await page.evaluate(() => document.body.dataset.transport ?? null),
        states: await page.evaluate(() => window.states),
        transcript: await page.textContent(at("transcript")),
      });
    }
  } finally {
    await browser.close();
  }
});
