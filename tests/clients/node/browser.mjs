// A headless Chromium with a WAV for a microphone, and ears for all that its page plays.
//
// The machine's own Chromium if there is one, else the one from npm with the
// few libraries it brings. It knows nothing of the pages it opens.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { RATE } from "./wav.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const ON_A_MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";

function onMachine() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const places = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [...places, ON_A_MAC].find(existsSync);
}

// Its archive is for a serverless machine: told that it runs on one, it also
// unpacks the libraries that a bare machine lacks. Into a folder of our own,
// since its usual place in the shared temporary folder could be anybody's, and
// renamed when whole, since two may unpack at once and one may be killed.
const UNPACK = 'import packed from "@sparticuz/chromium"; await packed.executablePath();';

function unpack(folder) {
  const fresh = `${folder}.${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  execFileSync(process.execPath, ["--input-type=module", "--eval", UNPACK], {
    cwd: HERE,
    env: { ...process.env, TMPDIR: fresh, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs22.x" },
  });
  try {
    renameSync(fresh, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(fresh, { recursive: true }); // another was quicker
  }
}

// Its own list of fonts names places of a serverless machine: on another one there would be no
// letters, and a text without height is not to be clicked on.
function fontsIn(folder) {
  const list = join(folder, "fonts-here.conf");
  const places = [join(folder, "fonts", "fonts"), "/usr/share/fonts"];
  writeFileSync(
    list,
    `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
${places.map((place) => `  <dir>${place}</dir>`).join("\n")}
  <cachedir>${join(folder, "fonts-cache")}</cachedir>
</fontconfig>
`,
  );
  return list;
}

function fromNpm() {
  const folder = join(HERE, "node_modules", ".cache", "chromium");
  if (!existsSync(folder)) unpack(folder);
  return {
    executablePath: join(folder, "chromium"),
    env: {
      ...process.env,
      FONTCONFIG_FILE: fontsIn(folder),
      LD_LIBRARY_PATH: join(folder, "al2023", "lib"),
    },
  };
}

export function findChromium() {
  const wish = process.env.CHROMIUM;
  if (wish === "npm") return fromNpm();
  const executablePath = wish || onMachine();
  return executablePath ? { executablePath, env: process.env } : fromNpm();
}

/**
 * wav: what the microphone hears, over and over (end it with a long silence);
 * flags: more of Chromium's own.
 */
export async function openBrowser({ wav, flags = [] }) {
  const { executablePath, env } = findChromium();
  return chromium.launch({
    executablePath,
    env,
    headless: true,
    chromiumSandbox: false, // it cannot be had by root, nor inside a namespace
    ignoreDefaultArgs: ["--mute-audio"],
    args: [
      "--use-fake-ui-for-media-stream",
      "--use-fake-device-for-media-stream",
      `--use-file-for-fake-audio-capture=${wav}`,
      "--autoplay-policy=no-user-gesture-required",
      ...flags,
    ],
  });
}

// Runs in the page before its own scripts. Two ways lead to the loudspeaker: a
// remote track of a peer connection, and whatever is connected to the
// destination of an audio context. Both are recorded on the way.
function listen({ rate, noWay }) {
  const sources = { track: [], context: [] };
  const keep = (way, context, source) => {
    const tap = context.createScriptProcessor(4096, 1, 1);
    const step = context.sampleRate / rate;
    const kept = { began: null, pieces: [] };
    sources[way].push(kept);
    tap.onaudioprocess = ({ inputBuffer }) => {
      const sound = inputBuffer.getChannelData(0);
      const piece = new Int16Array(Math.floor(sound.length / step));
      for (let at = 0; at < piece.length; at += 1)
        piece[at] = Math.max(-1, Math.min(1, sound[Math.floor(at * step)])) * 32767;
      kept.began ??= performance.now() / 1000 - piece.length / rate;
      kept.pieces.push(piece);
    };
    const silent = new GainNode(context, { gain: 0 });
    plainConnect.call(source, tap);
    plainConnect.call(tap, silent);
    plainConnect.call(silent, context.destination); // nothing runs that leads nowhere
  };

  const plainConnect = AudioNode.prototype.connect;
  const tapped = new WeakSet();
  AudioNode.prototype.connect = function connect(target, ...more) {
    if (target instanceof AudioDestinationNode && !tapped.has(this)) {
      tapped.add(this);
      keep("context", this.context, this);
    }
    return plainConnect.call(this, target, ...more);
  };

  const Plain = window.RTCPeerConnection;
  window.RTCPeerConnection = class extends Plain {
    constructor(wish) {
      // Relays only, and there is none: a connection that finds no way.
      super(noWay ? { ...wish, iceTransportPolicy: "relay" } : wish);
      this.addEventListener("track", ({ track }) => {
        if (track.kind !== "audio") return;
        const context = new AudioContext({ sampleRate: rate });
        keep("track", context, context.createMediaStreamSource(new MediaStream([track])));
      });
    }
  };

  const begun = () => {
    const tracks = sources.track.filter(({ began }) => began !== null);
    return tracks.length > 0 ? tracks : sources.context.filter(({ began }) => began !== null);
  };
  /** The second of the page at which what is heard begins. */
  window.soundSince = () => Math.min(...begun().map(({ began }) => began));
  /** The seconds of the page at which it made a sound of its own, beside that of its calls. */
  window.signs = () =>
    sources.context.flatMap(({ began, pieces }) => {
      let at = began;
      return pieces.flatMap((piece) => {
        const from = at;
        at += piece.length / rate;
        return piece.some((sample) => Math.abs(sample) > 200) ? [from] : [];
      });
    });
  // A page that goes from one call to the next has two at a time: each is heard when it sounds.
  window.heard = () => {
    const since = window.soundSince();
    const placed = begun().map(({ began, pieces }) => ({
      at: Math.round((began - since) * rate),
      pieces,
      length: pieces.reduce((sum, piece) => sum + piece.length, 0),
    }));
    const mixed = new Int16Array(Math.max(0, ...placed.map(({ at, length }) => at + length)));
    for (const { at, pieces } of placed) {
      let to = at;
      for (const piece of pieces)
        for (const sample of piece) {
          mixed[to] = Math.max(-32768, Math.min(32767, mixed[to] + sample));
          to += 1;
        }
    }
    const bytes = new Uint8Array(mixed.buffer);
    let text = "";
    for (let from = 0; from < bytes.length; from += 32768)
      text += String.fromCharCode(...bytes.subarray(from, from + 32768));
    return btoa(text);
  };
}

/**
 * A page whose console goes to our standard error and whose sound is recorded.
 * noWay: as if no packet of WebRTC ever arrived.
 */
export async function openPage(browser, { noWay = false } = {}) {
  const page = await browser.newPage();
  page.on("console", (message) => console.error(`page ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => console.error(`page failed: ${error.stack ?? error}`));
  await page.addInitScript(listen, { rate: RATE, noWay });
  return page;
}

/** Everything the page played so far: PCM16 at 24 kHz. */
export async function heard(page) {
  const bytes = Buffer.from(await page.evaluate(() => window.heard()), "base64");
  return new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
}

function loud(sound) {
  let sum = 0;
  for (const sample of sound) sum += sample * sample;
  return sound.length > 0 && Math.sqrt(sum / sound.length) > 200;
}

/** How many seconds of it were loud enough to be speech, and how many quiet ones follow. */
export function measure(sound) {
  const step = RATE / 10;
  let spoken = 0;
  let quiet = 0;
  for (let from = 0; from + step <= sound.length; from += step) {
    if (loud(sound.subarray(from, from + step))) {
      spoken += 0.1;
      quiet = 0;
    } else {
      quiet += 0.1;
    }
  }
  return { spoken, quiet };
}

/**
 * Wait until the page spoke and fell silent again: the sound, or an error with what there was.
 * over: asks the page whether the answer has ended. Only silence after that counts: a pause
 * before it may be the mouth thinking, and what was sent last is still to be played.
 */
export async function untilSpoken(page, { seconds = 60, over = () => true } = {}) {
  const end = Date.now() + seconds * 1000;
  let ended = null;
  for (;;) {
    const sound = await heard(page);
    const now = measure(sound);
    if (!(await page.evaluate(over))) ended = null;
    else ended ??= sound.length;
    const after = ended === null ? 0 : (sound.length - ended) / RATE;
    if (after >= 1 && now.spoken >= 0.5 && now.quiet >= 1) return sound;
    if (Date.now() > end) throw new Error(`no answer was heard: ${JSON.stringify(now)}`);
    await page.waitForTimeout(200);
  }
}

// Called by itself it only has one ready.
if (process.argv[1] === fileURLToPath(import.meta.url)) findChromium();
