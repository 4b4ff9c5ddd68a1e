// The icons of the installed page, from the one picture that it has: `node icons.mjs` writes them to
// `public/`, with the browser of the tests.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { openBrowser } from "../tests/clients/node/browser.mjs";

const folder = fileURLToPath(new URL("public/", import.meta.url));
const drawn = await readFile(new URL("src/style/icon.svg", import.meta.url), "utf8");
const ground = /<circle[^>]*fill="([^"]+)"[^>]*\/>/.exec(drawn);
const wave = /<path[^>]*\/>/.exec(drawn);
if (!ground || !wave) throw new Error("the icon has another form: a circle, and a path on it");

/** behind: what is around and under the wave; scale: of the wave around the middle. */
function picture({ behind, scale = 1 }) {
  const place = `translate(16 16) scale(${scale}) translate(-16 -16)`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${behind}<g transform="${place}">${wave[0]}</g></svg>`;
}

const ALL_OVER = `<rect width="32" height="32" fill="${ground[1]}"/>`;
const PICTURES = [
  ["icon-192.png", 192, { behind: ground[0] }],
  ["icon-512.png", 512, { behind: ground[0] }],
  // A system cuts its own shape out of these: all but the middle four fifths may go.
  ["icon-maskable-512.png", 512, { behind: ALL_OVER, scale: 0.85 }],
  ["apple-touch-icon.png", 180, { behind: ALL_OVER, scale: 0.95 }],
  // Of this one a system takes the shape alone.
  ["badge-96.png", 96, { behind: "", scale: 1.5 }],
];

await mkdir(folder, { recursive: true });
const browser = await openBrowser({ wav: "" });
try {
  const page = await browser.newPage();
  for (const [name, size, how] of PICTURES) {
    await page.setViewportSize({ width: size, height: size });
    await page.setContent(`<style>body{margin:0}svg{display:block;width:100vw;height:100vh}</style>${picture(how)}`);
    await writeFile(`${folder}${name}`, await page.screenshot({ omitBackground: true }));
  }
} finally {
  await browser.close();
}
