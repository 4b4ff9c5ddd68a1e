// Our own page, step by step: what is done and what is waited for is given, what was seen is told.
//
// A step is [what, argument]. Everything that the page shows meanwhile is kept with its second: its
// states, what it says beside them, and its sound, from the moment its script runs.

import { heard, measure, openBrowser, openPage } from "./browser.mjs";
import { road } from "./road.mjs";
import { given, play, tell } from "./scene.mjs";
import { writeWav } from "./wav.mjs";

const LIMIT = { timeout: 60_000 };
const at = (name) => `[data-testid="${name}"]`;

// Runs in the page before its own scripts.
function remember() {
  window.shown = [];
  const last = {};
  const keep = (kind, words) => {
    if (!words || last[kind] === words) return;
    last[kind] = words;
    window.shown.push([kind, words, Math.round(performance.now()) / 1000]);
  };
  const look = () => {
    keep("state", document.body.dataset.state);
    keep("words", document.querySelector('[data-testid="state"]')?.textContent);
    keep("notice", document.querySelector('[data-testid="notice"]')?.textContent ?? "-");
    keep("banner", document.querySelector('[data-testid="banner"]')?.textContent);
    keep("problem", document.querySelector('[data-testid="problem"]')?.textContent);
    keep("button", document.querySelector('[data-testid="talk"]')?.textContent);
  };
  document.addEventListener("DOMContentLoaded", () => {
    const wishes = { attributes: true, childList: true, subtree: true, characterData: true };
    new MutationObserver(look).observe(document.body, wishes);
    look();
  });
}

const STEPS = {
  click: (page, name) => page.click(at(name)),
  state: (page, name) =>
    page.waitForFunction((wanted) => document.body.dataset.state === wanted, name, LIMIT),
  /** Until the page has shown this state, now or before. */
  seen: (page, name) =>
    page.waitForFunction(
      (wanted) => window.shown.some(([kind, words]) => kind === "state" && words === wanted),
      name,
      LIMIT,
    ),
  /** Until all of these are in the transcript, in any case. */
  words: (page, wanted) =>
    page.waitForFunction(
      ([transcript, words]) => {
        const text = document.querySelector(transcript)?.textContent.toLowerCase() ?? "";
        return words.every((word) => text.includes(word.toLowerCase()));
      },
      [at("transcript"), wanted],
      LIMIT,
    ),
  notice: (page, part) =>
    page.waitForFunction(
      ([notice, wanted]) => document.querySelector(notice)?.textContent.includes(wanted),
      [at("notice"), part],
      LIMIT,
    ),
  /** Until the page's service worker has all that it keeps. */
  kept: (page) => page.evaluate(() => navigator.serviceWorker.ready.then(() => null)),
  /** In a browser that keeps in mind that the page may hear its user. */
  async reload(page) {
    await page.context().grantPermissions(["microphone"]);
    await page.reload();
  },
  wait: (page, seconds) => page.waitForTimeout(seconds * 1000),
  /** Until so many seconds of speech were heard since the step before, and then silence. */
  async speech(page, seconds) {
    const from = (await heard(page)).length;
    const end = Date.now() + LIMIT.timeout;
    for (;;) {
      const { spoken, quiet } = measure((await heard(page)).subarray(from));
      if (spoken >= seconds && quiet >= 1) return;
      if (Date.now() > end) throw new Error(`heard ${spoken} s, quiet for ${quiet} s`);
      await page.waitForTimeout(200);
    }
  },
  /** Nothing comes and nothing goes, and nobody says so. */
  cut: () => way.close(),
  mend: () => way.open(),
  shot: (page, path) => page.screenshot({ path }),
  /** Goes on in another tab of the same browser; `turn` leads back to one of them, from 0. */
  async tab() {
    tabs.push(await opened());
  },
  turn(_page, number) {
    tabs.push(...tabs.splice(number, 1)); // the last one is looked at
    return tabs.at(-1).bringToFront();
  },
  /** A conversation of before, by its words. */
  async conversation(page, words) {
    await page.click(at("open-history"));
    await page.locator(at("history")).getByText(words).first().click();
  },
  /** Nothing but this for so many seconds. */
  async stays(page, [name, seconds]) {
    await page.waitForTimeout(seconds * 1000);
    const now = await page.evaluate(() => document.body.dataset.state);
    if (now !== name) throw new Error(`it is ${now}, and was to stay ${name}`);
  },
  async mark(page, name) {
    const moment = await page.evaluate(() => performance.now() / 1000);
    tell("mark", { name, moment });
  },
};

let way = null;
const tabs = [];
let opened = null;

play(async () => {
  const browser = await openBrowser(given);
  try {
    const context = await browser.newContext({ viewport: { width: 420, height: 800 } });
    opened = async () => {
      const page = await openPage(context, given);
      await page.addInitScript(remember);
      if (way) await way.lead(page);
      await page.goto(way ? given.page.replace(new URL(given.page).origin, way.origin) : given.page);
      return page;
    };
    if (given.steps.some(([what]) => what === "cut")) way = await road(given.page);
    const page = await opened();
    tabs.push(page);
    try {
      for (const [what, argument] of given.steps) {
        tell("step", { what, argument });
        await STEPS[what](tabs.at(-1), argument);
      }
    } finally {
      if (given.screenshot) await page.screenshot({ path: given.screenshot });
      if (given.heard) writeWav(given.heard, await heard(page));
      tell("page", {
        shown: await page.evaluate(() => window.shown),
        since: await page.evaluate(() => window.soundSince()),
        signs: await page.evaluate(() => window.signs()),
        transport: await page.evaluate(() => document.body.dataset.transport ?? null),
        lines: await page.$$eval(`${at("transcript")} [data-role]`, (found) =>
          found.map((each) => [each.dataset.role, each.textContent]),
        ),
      });
    }
  } finally {
    await browser.close();
  }
});
