// What a first visit loads may not grow: the script of the page and all that it needs at once, as
// gzip. `node budget.mjs FOLDER` fails when it is too much.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const MOST = 200_000; // bytes
const here = fileURLToPath(new URL(".", import.meta.url));
const [folder = join(here, "../src/vivavoce/server/static")] = process.argv.slice(2);

const page = await readFile(join(folder, "index.html"), "utf8");
const scripts = [...page.matchAll(/(?:src|href)="(\.\/assets\/[^"]+\.js)"/g)].map(([, name]) => name);
if (scripts.length === 0) throw new Error("index.html loads no script");

let bytes = 0;
for (const name of scripts) bytes += gzipSync(await readFile(join(folder, name)), { level: 9 }).length;
const said = `first load: ${scripts.length} scripts, ${Math.round(bytes / 1000)} kB as gzip`;
if (bytes > MOST) {
  console.error(`${said}, at most ${MOST / 1000} kB are allowed: load what is not needed at once lazily`);
  process.exit(1);
}
console.log(said);
