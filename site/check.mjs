// What VitePress does not look at: headings that links name, and whether the site asks others for
// anything. A reader who opens a page asks nobody but whoever serves it.
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

const site = process.argv[2] ?? new URL("../dist/site", import.meta.url).pathname;
const base = process.env.SITE_BASE ?? "/";
const files = new Set(readdirSync(site, { recursive: true }));
const pages = [...files].filter((file) => file.endsWith(".html"));
const text = new Map(pages.map((page) => [page, readFileSync(join(site, page), "utf8")]));
const headings = new Map(
  [...text].map(([page, html]) => [page, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]),
);
const wrong = [];

for (const [page, html] of text) {
  for (const [, href] of html.matchAll(/<a [^>]*?href="([^"]+)"/g)) {
    if (/^[a-z]+:/.test(href)) continue; // another site: a link is no request
    const [path, anchor] = href.split("#");
    const to = path ? posix.relative(base, posix.resolve(base, posix.dirname(page), path)) : page;
    const file = [to, `${to}.html`, posix.join(to, "index.html")].find((one) => files.has(one));
    if (!file) wrong.push(`${page}: nothing is at ${href}`);
    else if (anchor && !headings.get(file)?.has(decodeURIComponent(anchor)))
      wrong.push(`${page}: no such heading: ${href}`);
  }
  for (const [tag] of html.matchAll(/<(?:script|link|img|iframe|source)\b[^>]*>/g))
    if (/(?:src|href)="(?:[a-z]+:)?\/\//.test(tag)) wrong.push(`${page}: asks somebody else: ${tag}`);
}
for (const style of [...files].filter((file) => file.endsWith(".css")))
  for (const [asked] of readFileSync(join(site, style), "utf8").matchAll(/(?:url\(|@import )["']?(?:[a-z]+:)?\/\/[^)"']+/g))
    wrong.push(`${style}: asks somebody else: ${asked}`);

for (const one of wrong) console.error(one);
console.log(`${pages.length} pages, ${wrong.length || "nothing"} wrong`);
process.exitCode = wrong.length || pages.length < 2 ? 1 : 0;
