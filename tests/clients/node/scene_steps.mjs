// Our own page, step by step: what is done and what is waited for is given, what was seen is told.
//
// A step is [what, argument]. Everything that the page shows meanwhile is kept with its second: its
// states, what it says beside them, and its sound, from the moment its script runs. Where a step
// says something the microphone is one that says it then; else it is a WAV that just goes on.
import { readFileSync } from "node:fs";
import { heard, measure, openBrowser, openPage } from "./browser.mjs";
import { road } from "./road.mjs";
import { given, play, tell } from "./scene.mjs";
import { RATE, writeWav } from "./wav.mjs";

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
    keep("answer", [...document.querySelectorAll('[data-role="assistant"]')].at(-1)?.textContent);
    keep("tool", [...document.querySelectorAll('[data-role="tool"]')].at(-1)?.textContent);
  };
  document.addEventListener("DOMContentLoaded", () => {
    const wishes = { attributes: true, childList: true, subtree: true, characterData: true };
    new MutationObserver(look).observe(document.body, wishes);
    look();
  });
}

// Runs in the page before its own scripts: a microphone that is silent until it is to say something.
function speak(rate) {
  let opened = null;
  navigator.mediaDevices.getUserMedia = async () => {
    const context = new AudioContext();
    const into = new MediaStreamAudioDestinationNode(context);
    const silence = new ConstantSourceNode(context, { offset: 0 });
    silence.connect(into);
    silence.start();
    opened = { context, into };
    return into.stream;
  };
  window.say = (text) =>
    new Promise((resolve) => {
      const { context, into } = opened;
      window.saidAt = performance.now() / 1000;
      const samples = new Int16Array(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer);
      const buffer = new AudioBuffer({ length: samples.length, sampleRate: rate });
      buffer.copyToChannel(Float32Array.from(samples, (sample) => sample / 32768), 0);
      const source = new AudioBufferSourceNode(context, { buffer });
      source.connect(into);
      source.onended = () => resolve();
      source.start();
    });
}

// Runs in the page before its own scripts: which of them the page opens last.
function noteDevices() {
  const { mediaDevices } = navigator;
  const open = mediaDevices.getUserMedia.bind(mediaDevices);
  let heard = null;
  const sounding = [];
  mediaDevices.getUserMedia = async (wish) => (heard = await open(wish));
  for (const { prototype } of [AudioContext, HTMLMediaElement]) {
    const plain = prototype.setSinkId;
    prototype.setSinkId = function setSinkId(id) {
      sounding.push(this);
      return plain.call(this, id);
    };
  }
  window.devices = async () => {
    const all = await mediaDevices.enumerateDevices();
    const label = (kind, id) => all.find((one) => one.kind === kind && one.deviceId === id)?.label;
    return {
      microphone: label("audioinput", heard.getAudioTracks()[0].getSettings().deviceId),
      speakers: sounding.map(({ sinkId }) => label("audiooutput", sinkId)),
    };
  };
}

// Runs in the page before its own scripts: the browser's question whether the page may hear its user.
// A browser without a window draws none, so here it stays open until it is answered.
function ask() {
  const { mediaDevices } = navigator;
  const open = mediaDevices.getUserMedia.bind(mediaDevices);
  const answered = new Promise((resolve, reject) => {
    window.answer = (yes) => (yes ? resolve() : reject(new DOMException("Dismissed", "NotAllowedError")));
  });
  window.asked = 0;
  window.tracks = [];
  mediaDevices.getUserMedia = async (wish) => {
    window.asked += 1;
    await answered;
    const stream = await open(wish);
    window.tracks.push(...stream.getTracks());
    return stream;
  };
}

const STEPS = {
  click: (page, name) => page.click(at(name), LIMIT),
  /** PCM16 at 24 kHz. */
  say: (page, path) => page.evaluate((text) => window.say(text), readFileSync(path).toString("base64")),
  async write(page, words) {
    await page.fill(`${at("write")} textarea`, words);
    await page.keyboard.press("Enter");
  },
  /** To the browser's own question; the page asks nothing of the server before. */
  async answer(page, yes) {
    const asks = () => navigator.permissions.query({ name: "microphone" }).then(({ state }) => state);
    const called = () => performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname);
    const asked = await page.evaluate(() => window.asked);
    tell("asked", { asked, permission: await page.evaluate(asks), called: await page.evaluate(called) });
    await page.evaluate((granted) => window.answer(granted), yes);
  },
  /** Until nobody can hear the user any more. */
  deaf: (page) =>
    page.waitForFunction(
      () => window.tracks.length > 0 && window.tracks.every(({ readyState }) => readyState === "ended"),
      null,
      LIMIT,
    ),
  choose: (page, [name, label]) => page.selectOption(at(name), { label }, LIMIT),
  key: (page, name) => page.keyboard.press(name),
  /** Until one of these has the words in it. */
  sees: (page, [name, words]) => page.locator(at(name)).filter({ hasText: words }).first().waitFor(LIMIT),
  /** Until none of these has the words in it. */
  never: (page, [name, words]) =>
    page.locator(at(name)).filter({ hasText: words }).first().waitFor({ ...LIMIT, state: "detached" }),
  gone: (page, name) => page.waitForSelector(at(name), { ...LIMIT, state: "detached" }),
  /** As a user closes a tab. */
  close: (page) => page.close({ runBeforeUnload: true }),
  /** Of the call that is on. */
  async devices(page) {
    tell("devices", await page.evaluate(() => window.devices()));
  },
  /** All of a user's talks are deleted, from somewhere else. */
  async forgotten() {
    const { headers = {} } = given;
    const list = `${new URL(given.page).origin}/api/v1/conversations`;
    const { conversations } = await (await fetch(list, { headers })).json();
    for (const { id } of conversations) {
      const answer = await fetch(`${list}/${id}`, { method: "DELETE", headers });
      if (!answer.ok) throw new Error(`deleting: ${answer.status}`);
    }
  },
  state: (page, name) =>
    page.waitForFunction((wanted) => document.body.dataset.state === wanted, name, LIMIT),
  /** Until the page has shown this state, now or before. */
  seen: (page, name) =>
    page.waitForFunction(
      (wanted) => window.shown.some(([kind, words]) => kind === "state" && words === wanted),
      name,
      LIMIT,
    ),
  /** Until it was in this state after something was said, be it for a moment. */
  since: (page, name) =>
    page.waitForFunction(
      (wanted) => window.shown.some(([kind, words, at]) => kind === "state" && words === wanted && at > window.saidAt),
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
  /** Until this is in the last line, and it is the assistant's. */
  last: (page, words) =>
    page.waitForFunction(
      ([lines, wanted]) => {
        const line = [...document.querySelectorAll(lines)].at(-1);
        return line?.dataset.role === "assistant" && line.textContent.includes(wanted);
      },
      [`${at("transcript")} [data-role]`, words],
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
    const { viewport = { width: 420, height: 800 }, locale = "en-GB", headers } = given;
    const wishes = headers ? { extraHTTPHeaders: headers, serviceWorkers: "block" } : {};
    const context = await browser.newContext({ viewport, locale, ...wishes });
    opened = async () => {
      const page = await openPage(context, given);
      await page.addInitScript(remember);
      if (given.steps.some(([what]) => what === "say")) await page.addInitScript(speak, RATE);
      if (given.steps.some(([what]) => what === "devices")) await page.addInitScript(noteDevices);
      if (given.steps.some(([what]) => what === "answer")) await page.addInitScript(ask);
      if (way) await way.lead(page);
      await page.goto(way ? given.page.replace(new URL(given.page).origin, way.origin) : given.page);
      return page;
    };
    if (given.steps.some(([what]) => what === "cut")) way = await road(given.page);
    const first = await opened();
    tabs.push(first);
    try {
      for (const [what, argument] of given.steps) {
        tell("step", { what, argument });
        await STEPS[what](tabs.at(-1), argument);
      }
    } finally {
      const page = first.isClosed() ? tabs.at(-1) : first;
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
