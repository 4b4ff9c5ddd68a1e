// The icons of the installed page, drawn here: `node icons.mjs` writes them to `public/`, with the
// browser of the tests. Four bars, as of a voice.

import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { openBrowser } from "../tests/clients/node/browser.mjs";

const folder = fileURLToPath(new URL("public/", import.meta.url));
const BLUE = "#3d5afe";
const BARS = [
  [6, 13, 6],
  [11.5, 9, 14],
  [17, 6, 20],
  [22.5, 12, 8],
];

/** scale: of the bars around the middle; round: the corners of what is behind them. */
function picture({ behind = BLUE, round = 0, scale = 1 }) {
  const bars = BARS.map(([x, y, height]) => `<rect x="${x}" y="${y}" width="3.4" height="${height}" rx="1.7"/>`);
  const ground = behind && `<rect width="32" height="32" rx="${round}" fill="${behind}"/>`;
  // The bars' own middle is a little left of the picture's.
  const place = `translate(16 16) scale(${scale}) translate(-15.95 -16)`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${ground}<g fill="#fff" transform="${place}">${bars.join("")}</g></svg>`;
}

const PICTURES = [
  ["icon-192.png", 192, { round: 9 }],
  ["icon-512.png", 512, { round: 9 }],
  // A system cuts its own shape out of these: all but the middle four fifths may go.
  ["icon-maskable-512.png", 512, { scale: 0.8 }],
  ["apple-touch-icon.png", 180, { scale: 0.9 }],
  // Of this one a system takes the shape alone.
  ["badge-96.png", 96, { behind: "", scale: 1.3 }],
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
