// Our own page, as a user has it: press the button, speak, read the words, hear the answer.

import { openBrowser, openPage, untilSpoken } from "./browser.mjs";
import { given, play, tell } from "./scene.mjs";
import { writeWav } from "./wav.mjs";

const at = (name) => `[data-testid="${name}"]`;

play(async () => {
  const browser = await openBrowser(given);
  try {
    const page = await openPage(browser, given);
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
        state: await page.evaluate(() => document.body.dataset.state ?? null),
        transcript: await page.textContent(at("transcript")),
      });
    }
  } finally {
    await browser.close();
  }
});
