// The element in every state that it can show, on a narrow page, light and dark, without a server:
// does anything break its accessibility, or stand out of the page?

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { openBrowser } from "./browser.mjs";
import { given, play, tell } from "./scene.mjs";

const PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Elsewhere</title>
<meta name="viewport" content="width=device-width"><script type="module" src="/element.js"></script>
</head><body><main><h1>Elsewhere</h1><vivavoce-voice></vivavoce-voice></main></body></html>`;

function line(id, kind, text, more = {}) {
  const usual = { unheard: "", cut: false, done: true, failed: false, note: "", percentage: null };
  return { id, kind, text, ...usual, ...more };
}
const GOAL = {
  route: "GOAL",
  payload: { goal_statement: "Get fit", timeline: "by June 15" },
  status: "accepted",
  revision: 0,
  error: null,
};
const LINES = [
  line("1", "user", "I want to get fit by June.", { spoken: true }),
  line("2", "assistant", "Great! How often do you want to", { cut: true, unheard: " train?" }),
  line("3", "tool", "Looking at your calendar", { note: "two of three weeks" }),
  line("4", "intent", "Goal", { intent: GOAL }),
  line("5", "user", "Send it".repeat(20), { failed: true, note: "The server does not answer." }),
];
const APPROVAL = {
  id: "a",
  tool_name: "bash",
  question: "I want to delete src/config.py. May I?",
  arguments: { command: "rm src/config.py" },
  expires_at: "2030-01-01T00:00:00Z",
};
const talk = { stage: "live", conversation: "c", lines: LINES };
const STATES = {
  idle: {},
  connecting: { stage: "connecting" },
  listening: { ...talk, voice: "ready" },
  speaking: { ...talk, voice: "speaking" },
  asking: { ...talk, voice: "executing_tool", approvals: [APPROVAL] },
  muted: { ...talk, voice: "ready", muted: true },
  reconnecting: {
    ...talk,
    stage: "reconnecting",
    retry: { reason: "The server does not answer.", attempt: 4, at: Date.now() + 3_600_000 },
  },
  refused: { stage: "refused", problem: "No microphone was found. Plug one in, then try again." },
  ended: { ...talk, stage: "ended", notice: "Ended, since nobody said a word for a while." },
};

play(async () => {
  const element = readFileSync(given.element);
  const server = createServer(({ url }, response) => {
    response.setHeader("content-type", url === "/element.js" ? "text/javascript" : "text/html");
    response.end(url === "/element.js" ? element : PAGE);
  }).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  const origin = `http://127.0.0.1:${server.address().port}/`;
  const axe = readFileSync(given.axe, "utf8");
  const browser = await openBrowser({ wav: given.wav });
  try {
    for (const colorScheme of ["light", "dark"]) {
      const page = await browser.newPage({ viewport: { width: 320, height: 700 }, colorScheme });
      await page.emulateMedia({ reducedMotion: "reduce" });
      await page.goto(origin);
      await page.waitForSelector("vivavoce-voice [part=orb]");
      await page.evaluate(axe);
      for (const layout of ["card", "button"]) {
        for (const [name, state] of Object.entries(STATES)) {
          await page.evaluate(
            async ([wish, how]) => {
              const voice = document.querySelector("vivavoce-voice");
              voice.layout = how;
              const { approvals = [], ...more } = wish;
              const { store } = voice.client;
              window.first ??= store.getState();
              const work = { ...window.first.work, approvals };
              store.setState({ ...window.first, ...more, work }, true);
              await voice.updateComplete;
            },
            [state, layout],
          );
          const found = await page.evaluate(async () => ({
            wrong: (await window.axe.run()).violations.map(({ id, nodes }) => [
              id,
              nodes.map(({ target }) => target.join(" ")),
            ]),
            width: document.documentElement.scrollWidth,
            shown: document.querySelector("vivavoce-voice").shadowRoot.querySelector(".state")
              .textContent,
          }));
          tell("state", { name, layout, colorScheme, ...found });
        }
      }
      await page.close();
    }
  } finally {
    await browser.close();
    server.close();
  }
});
