// Our page beside the talk: a goal that is written about comes into the work pane by itself; tasks
// are added, ticked off, moved, changed and deleted by hand; a talk is renamed, found, saved, deleted.

import { readFile } from "node:fs/promises";
import { openBrowser, openPage } from "./browser.mjs";
import { given, play, tell } from "./scene.mjs";

const at = (name) => `[data-testid="${name}"]`;
const OLD = { timeout: 60_000 };

async function write(page, words, count) {
  await page.fill(`${at("write")} textarea`, words);
  await page.keyboard.press("Enter");
  await page.waitForFunction(
    (wanted) => document.querySelectorAll('[data-role="assistant"][data-done="true"]').length >= wanted,
    count,
    OLD,
  );
}

const row = (page, title) => page.locator(at("todo")).filter({ hasText: title });
const shown = (page, part) => page.$$eval(`${at(part)} ${at("todo")} p:first-child`, (all) => all.map((one) => one.textContent));

async function chosen(page, title, what) {
  await row(page, title).locator(at("more")).click();
  await page.click(at(what));
}

async function added(page, title, when) {
  await page.click(at("add"));
  await page.fill('[name="title"]', title);
  await page.fill('[name="when"]', when);
  await page.click(at("save"));
  await row(page, title).waitFor(OLD);
}

/** What the menu of the first conversation saves. */
async function saved(page, what) {
  await page.locator(`${at("history")} ${at("more")}`).first().click();
  const [download] = await Promise.all([page.waitForEvent("download", OLD), page.click(at(what))]);
  return { name: download.suggestedFilename(), text: await readFile(await download.path(), "utf8") };
}

play(async () => {
  const browser = await openBrowser(given);
  try {
    const page = await openPage(browser, given);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(given.page);
    await page.waitForFunction(() => document.body.dataset.state === "idle", null, OLD);
    await page.waitForSelector(at("hints"), OLD);
    tell("hints", { hints: await page.$$eval(`${at("hints")} li`, (all) => all.map((one) => one.textContent)) });

    await write(page, given.says[0], 1);
    const current = page.locator(`${at("conversation")}[aria-current]`);
    await current.filter({ hasNotText: "Nothing was said" }).waitFor(OLD); // the list knows of it
    tell("asked", { goals: await page.locator(at("goal")).count() });
    await page.fill(`${at("write")} textarea`, given.says[1]);
    await page.keyboard.press("Enter");
    await page.waitForSelector(at("goal"), OLD); // nobody loads the page anew
    tell("goal", { words: await page.textContent(`${at("goal")} h4`) });

    for (const title of ["Water the plants", "Buy stamps", "Call the bank", "Sell the bike"]) await added(page, title, given.tonight);
    await row(page, "Water the plants").locator(at("tick")).click();
    await row(page, "Water the plants").waitFor({ state: "detached" });
    await chosen(page, "Buy stamps", "move-week");
    await page.locator(`${at("later")} ${at("todo")}`).filter({ hasText: "Buy stamps" }).waitFor();
    await chosen(page, "Call the bank", "edit");
    await page.fill('[name="title"]', "Call the insurance");
    await page.click(at("save"));
    await row(page, "Call the insurance").waitFor();
    const removed = page.waitForResponse((one) => one.request().method() === "DELETE", OLD);
    await chosen(page, "Sell the bike", "remove");
    await row(page, "Sell the bike").waitFor({ state: "detached" });
    await removed; // or the page is loaded anew before the server has heard of it

    await page.reload();
    await row(page, "Buy stamps").waitFor(OLD);
    await page.click(`${at("done")} summary`);
    await row(page, "Water the plants").waitFor();
    tell("reloaded", {
      today: await shown(page, "today"),
      later: await shown(page, "later"),
      done: await shown(page, "done"),
    });

    await page.locator(`${at("history")} ${at("more")}`).first().click();
    await page.click(at("rename"));
    await page.fill('[name="title"]', given.name);
    await page.click(at("save"));
    await page.locator(at("conversation")).filter({ hasText: given.name }).waitFor();
    tell("markdown", await saved(page, "save-markdown"));
    tell("json", await saved(page, "save-json"));
    // A browser that shares files, and one that does not. Chromium's own would ask where to.
    await page.evaluate(() => Object.defineProperty(navigator, "canShare", { value: undefined, configurable: true }));
    tell("instead", await saved(page, "share"));
    await page.evaluate(() => {
      const given = { canShare: () => true, share: async ({ files }) => void (window.given = files[0]) };
      for (const [name, value] of Object.entries(given)) Object.defineProperty(navigator, name, { value, configurable: true });
    });
    await page.locator(`${at("history")} ${at("more")}`).first().click();
    await page.click(at("share"));
    await page.waitForFunction(() => window.given, null, OLD);
    tell("shared", await page.evaluate(async () => ({ name: window.given.name, type: window.given.type, text: await window.given.text() })));

    await page.getByRole("searchbox").fill(given.search);
    await page.waitForSelector(`${at("hit")} mark`, OLD);
    tell("hit", { name: await page.textContent(`${at("hit")} span`), word: await page.textContent(`${at("hit")} mark`) });
    await page.getByRole("searchbox").fill("");
    await page.locator(`${at("history")} ${at("more")}`).first().click();
    await page.click(at("delete"));
    await page.click(at("delete for good"));
    await page.getByText("No conversation yet").waitFor(OLD);
  } finally {
    await browser.close();
  }
});
