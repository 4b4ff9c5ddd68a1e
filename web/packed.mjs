// Beside each file of the page that text compresses well, the same as Brotli and as gzip: the server
// sends what a browser takes. `node packed.mjs FOLDER` packs those there.

import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import zlib from "node:zlib";

const here = fileURLToPath(new URL(".", import.meta.url));
const [folder = join(here, "../src/vivavoce/server/static")] = process.argv.slice(2);
const TEXT = /\.(js|css|html|svg|json|webmanifest|txt|map)$/;
const LEAST = 1024; // bytes: below that the head of the answer is most of it

const quality = { [zlib.constants.BROTLI_PARAM_QUALITY]: zlib.constants.BROTLI_MAX_QUALITY };
const WAYS = {
  br: (data) => promisify(zlib.brotliCompress)(data, { params: quality }),
  gz: (data) => promisify(zlib.gzip)(data, { level: 9 }),
};

for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
  const file = join(entry.parentPath, entry.name);
  if (!entry.isFile() || !TEXT.test(entry.name)) continue;
  const data = await readFile(file);
  for (const [ending, pack] of Object.entries(WAYS)) {
    const packed = data.length < LEAST ? data : await pack(data);
    if (packed.length < data.length) await writeFile(`${file}.${ending}`, packed);
    else await rm(`${file}.${ending}`, { force: true });
  }
}
