// @openai/agents-realtime in Chromium: WebRTC with a microphone that plays a WAV.

import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { openBrowser, openPage, untilSpoken } from "./browser.mjs";
import { given, play, tell } from "./scene.mjs";
import { writeWav } from "./wav.mjs";

async function bundled() {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("./agents_page.js", import.meta.url))],
    bundle: true,
    format: "iife",
    platform: "browser",
    conditions: ["browser"],
    write: false,
    logLevel: "warning",
  });
  return outputFiles[0].text;
}

play(async () => {
  const script = await bundled();
  const browser = await openBrowser(given);
  try {
    const page = await openPage(browser, given);
    // A page of the test's own at the server's origin, where a browser asks for no permission.
    const place = new URL("/a-page-of-the-test", given.url).href;
    await page.route(place, (route) =>
      route.fulfill({
        contentType: "text/html",
        body: `<!doctype html><title>agents</title><body><script>${script.replaceAll("</script", "<\\/script")}</script>`,
      }),
    );
    await page.goto(place);
    const wish = { calls: `${given.url}/realtime/calls`, key: given.key, model: given.model };
    const callId = await page.evaluate((wanted) => window.talk(wanted), wish);
    tell("connected", { callId });
    try {
      const limit = { timeout: 60_000 };
      await page.waitForFunction(() => window.said("user").length > 0, null, limit);
      await page.waitForFunction(() => window.said("assistant").length > 0, null, limit);
      const over = () => window.seen.some(({ type }) => type === "output_audio_buffer.stopped");
      writeWav(given.heard, await untilSpoken(page, { over }));
    } finally {
      for (const event of await page.evaluate(() => window.seen)) tell("event", { event });
      for (const error of await page.evaluate(() => window.faults)) tell("error", { error });
    }
    const [user, answer] = await page.evaluate(() => [window.said("user"), window.said("assistant")]);
    tell("speech", { user: user[0], answer: answer[0] });
    await page.evaluate(() => window.hangUp());
  } finally {
    await browser.close();
  }
});
