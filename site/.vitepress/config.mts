// The site from docs/: what stands where is read from docs/index.md, so there is one list.
import { existsSync, readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type DefaultTheme } from "vitepress";

const SITE = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const ROOT = resolve(SITE, "..");
const DOCS = resolve(ROOT, "docs");
const SOURCE = "https://github.com/vivavoce/vivavoce";

/** A group for each bold line of the index, a link for each item under it. */
function sidebar(): DefaultTheme.SidebarItem[] {
  const groups: DefaultTheme.SidebarItem[] = [];
  for (const line of read("index.md").split("\n")) {
    const group = /^\*\*(.+)\*\*$/.exec(line)?.[1];
    const page = /^- \[[^\]]+\]\(([^):]+\.md)\)/.exec(line)?.[1];
    if (group) groups.push({ text: group, items: [], collapsed: false });
    if (page && !page.startsWith(".."))
      groups.at(-1)?.items?.push({ text: title(page), link: `/${page.replace(/\.md$/, "")}` });
  }
  for (const group of groups) if ((group.items?.length ?? 0) > 25) group.collapsed = true;
  return groups;
}

function read(page: string): string {
  return readFileSync(resolve(DOCS, page), "utf8");
}

function title(page: string): string {
  return (/^# (.+)$/m.exec(read(page))?.[1] ?? page).replaceAll("`", "");
}

/** As GitHub makes them, since that is how the documents name them; tests/docs_text.py has it too. */
function slug(heading: string): string {
  return heading.toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
}

/** A link to what is no page of the site goes to the sources; one to nothing fails the build. */
function elsewhere(href: string, page: string): string {
  if (/^[a-z]+:|^#/.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  const file = resolve(DOCS, dirname(page), path);
  if (!existsSync(file)) throw new Error(`docs/${page}: nothing is at ${href}`);
  const inside = relative(DOCS, file);
  if (inside.endsWith(".md") && !/^(\.\.|examples)\//.test(inside)) return href;
  return `${SOURCE}/blob/main/${relative(ROOT, file)}${anchor ? `#${anchor}` : ""}`;
}

const icon = readFileSync(resolve(ROOT, "web/src/style/icon.svg"), "utf8");

export default defineConfig({
  title: "Vivavoce",
  description: "A self-hosted realtime voice-agent server",
  srcDir: DOCS,
  srcExclude: ["examples/**"],
  ignoreDeadLinks: "localhostLinks", // addresses of a server of the reader's
  outDir: resolve(ROOT, "dist/site"),
  cacheDir: resolve(SITE, "node_modules/.cache"),
  base: process.env.SITE_BASE ?? "/",
  cleanUrls: false, // so that any file server will do
  head: [["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  markdown: {
    anchor: { slugify: slug },
    toc: { slugify: slug },
    languageAlias: { console: "sh" },
    config(md) {
      md.core.ruler.push("elsewhere", ({ tokens, env }) => {
        for (const token of tokens.flatMap((one) => one.children ?? []))
          if (token.type === "link_open")
            token.attrSet("href", elsewhere(token.attrGet("href") ?? "", env.relativePath));
      });
      const fence = md.renderer.rules.fence;
      md.renderer.rules.fence = (tokens, at, ...rest) =>
        tokens[at]?.info === "mermaid"
          ? `<Diagram code="${encodeURIComponent(tokens[at].content)}" />\n`
          : (fence?.(tokens, at, ...rest) ?? "");
    },
  },
  vite: {
    // The pages are outside of this folder, and what they are made into needs Vue.
    resolve: {
      alias: [
        { find: /^vue\/server-renderer$/, replacement: resolve(SITE, "node_modules/@vue/server-renderer") },
        { find: /^vue$/, replacement: resolve(SITE, "node_modules/vue") },
      ],
    },
    server: { fs: { allow: [ROOT] } },
    build: { chunkSizeWarningLimit: 2000 }, // the index of the search
  },
  themeConfig: {
    sidebar: sidebar(),
    outline: "deep",
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: SOURCE }],
  },
});
