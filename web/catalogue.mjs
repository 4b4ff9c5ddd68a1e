// The page's strings: found in its source, kept as PO files, compiled for Lingui when the page is
// built. `node catalogue.mjs` brings the files up to date with the source; German is written by hand.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compileMessage } from "@lingui/message-utils/compileMessage";

const SOURCE = fileURLToPath(new URL("src/", import.meta.url));
const FILES = join(SOURCE, "words", "catalogue");
const LANGUAGES = ["en", "de"];
const TEXT = String.raw`"(?:[^"\\]|\\.)*"`;
/** Where a string comes from elsewhere and is looked up. */
const LOOKS_UP = "known.ts";

/** Every string of the source, in order. */
export function used() {
  const found = new Set();
  for (const entry of readdirSync(SOURCE, { recursive: true, withFileTypes: true })) {
    if (!/\.tsx?$/.test(entry.name)) continue;
    const file = join(entry.parentPath, entry.name);
    const text = readFileSync(file, "utf8");
    for (const [, literal] of text.matchAll(new RegExp(`(?:i18n\\._\\(|/\\*i18n\\*/)\\s*(${TEXT})`, "g"))) {
      found.add(JSON.parse(literal));
    }
    const other = entry.name === LOOKS_UP ? null : text.match(/i18n\._\(\s*[^"\s].*/);
    if (other) throw new Error(`${file}: what is said must stand there as a string: ${other[0]}`);
  }
  return [...found].sort((a, b) => (a < b ? -1 : 1));
}

/** The entries of a file: its strings, each with what it is in that language. */
export function entries(language) {
  const text = readFileSync(join(FILES, `${language}.po`), "utf8");
  return parsed(text);
}

function parsed(text) {
  const found = text.matchAll(/^msgid ((?:".*"\n)+)msgstr ((?:".*"(?:\n|$))+)/gm);
  const plain = (lines) => lines.trim().split("\n").map((line) => JSON.parse(line)).join("");
  return new Map([...found].map(([, id, words]) => [plain(id), plain(words)]).filter(([id]) => id));
}

/** For Vite: a PO file as the messages that Lingui takes. */
export function catalogue() {
  return {
    name: "catalogue",
    transform(text, file) {
      if (!file.endsWith(".po")) return null;
      const messages = Object.fromEntries(
        [...parsed(text)].map(([id, words]) => [id, compileMessage(words || id)]),
      );
      return { code: `export const messages = ${JSON.stringify(messages)};`, map: null };
    },
  };
}

function update() {
  const ids = used();
  for (const language of LANGUAGES) {
    const before = entries(language);
    const words = (id) => (language === "en" ? id : (before.get(id) ?? ""));
    const head = `msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n"Language: ${language}\\n"\n`;
    const body = ids.map((id) => `\nmsgid ${JSON.stringify(id)}\nmsgstr ${JSON.stringify(words(id))}\n`);
    writeFileSync(join(FILES, `${language}.po`), head + body.join(""));
    const missing = ids.filter((id) => !words(id));
    console.log(`${language}: ${ids.length} strings, ${missing.length} to be translated`);
    for (const id of missing) console.log(`  ${id}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) update();
