// The documents' site, as a reader has it: is it whole, is a search answered, is a diagram drawn,
// and is nobody asked but whoever serves it?

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { openBrowser } from "./browser.mjs";
import { given, play, tell } from "./scene.mjs";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".png": "image/png" };

await play(async () => {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://here").pathname;
    try {
      const file = normalize(path.endsWith("/") ? `${path}index.html` : path);
      const body = await readFile(join(given.site, file));
      response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const browser = await openBrowser({});
  const page = await browser.newPage();
  const asked = [];
  const wrong = [];
  page.on("request", (request) => asked.push(request.url()));
  page.on("pageerror", (fault) => wrong.push(String(fault)));
  page.on("console", (line) => line.type() === "error" && wrong.push(line.text()));

  await page.goto(`${origin}/`);
  const sidebar = await page.locator(".VPSidebarItem.is-link a").evaluateAll((links) =>
    links.map((link) => new URL(link.href).pathname),
  );
  await page.locator(".VPNavBarSearchButton, .DocSearch-Button").first().click();
  await page.locator("#localsearch-input").fill(given.search);
  await page.locator("#localsearch-list a").first().waitFor();
  const found = await page.locator("#localsearch-list a").evaluateAll((links) =>
    links.map((link) => new URL(link.href).pathname),
  );
  await page.goto(`${origin}/${given.diagram}`);
  await page.locator(".diagram svg").first().waitFor();
  await page.waitForFunction(() => document.querySelector(".undrawn") === null);
  const diagrams = await page.locator(".diagram svg").count();
  const screen = given.shot ? await page.screenshot({ path: given.shot }) : null;
  const others = asked.filter((url) => !url.startsWith(origin) && !/^(data|blob):/.test(url));
  tell("site", { sidebar, found, diagrams, others, wrong, shot: screen !== null });
  await browser.close();
  server.close();
});
