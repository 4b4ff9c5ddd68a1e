import { INITIAL, type State } from "@vivavoce/client";
import { beforeAll, describe, expect, test } from "vitest";
import { entries, used } from "../catalogue.mjs";
import { i18n, speak } from "../src/words/i18n";
import { known } from "../src/words/known";
import { stateWords, talkWords } from "../src/words/talk";
import { agoWords } from "../src/words/time";

/** In both languages the same, and rightly so. */
const SAME = ["Agent", "Esc", "Server", "Version", "{ms} ms", "{seconds} s", "{time} min"];

const placeholders = (text: string) => [...new Set(text.match(/\{\w+/g))].sort();

describe("the catalogue", () => {
  test("has every string of the code, and no other", () => {
    const wanted = used();
    expect(wanted.length).toBeGreaterThan(100);
    const run = "run `npm --prefix web run strings`";
    expect([...entries("en").keys()].sort(), run).toEqual([...wanted].sort());
    expect([...entries("de").keys()].sort(), run).toEqual([...wanted].sort());
  });

  test("lacks no German, and each translation says the same things", () => {
    for (const [id, words] of entries("de")) {
      expect(words, id).not.toBe("");
      expect(placeholders(words), id).toEqual(placeholders(id));
      if (!SAME.includes(id)) expect(words, `${id} is not translated`).not.toBe(id);
    }
  });
});

describe("in German", () => {
  beforeAll(async () => {
    await speak("de");
    return () => speak("en");
  });

  test("everything that the talk can be doing has its words", () => {
    const english = (state: Partial<State>) => stateWords(i18n, { ...INITIAL, ...state });
    expect(english({ stage: "idle" })).toBe("Bereit, wenn du es bist");
    const stages = ["idle", "loading", "asking", "connecting", "reconnecting", "ended", "refused", "locked", "failed"] as const;
    const voices = ["ready", "listening", "processing", "speaking", "executing_tool"];
    const said = [
      ...stages.map((stage) => english({ stage })),
      ...voices.map((voice) => english({ stage: "live", voice })),
    ];
    const inEnglish = [...entries("en").keys()];
    for (const words of said) expect(inEnglish).not.toContain(words);
    expect(new Set(said).size).toBeGreaterThan(12);
  });

  test("what happened to a talk has its words, with its numbers", () => {
    const ends = "Still there? Without a word this ends in 30 seconds.";
    expect(known(i18n, ends)).toBe("Noch da? Ohne ein Wort endet das in 30 Sekunden.");
    expect(known(i18n, "The connection was lost.")).toBe("Die Verbindung ist abgerissen.");
    expect(known(i18n, "The disk of 20 GB is full.")).toBe("The disk of 20 GB is full."); // the server's own
  });

  test("the button, numbers and times have theirs", () => {
    expect(talkWords(i18n, { ...INITIAL, stage: "idle" })).toBe("Gespräch beginnen");
    expect(talkWords(i18n, { ...INITIAL, stage: "live", voice: "ready" })).toBe("Auflegen");
    const count = "{count, plural, one {# message} other {# messages}}";
    expect(i18n._(count, { count: 1 })).toBe("1 Nachricht");
    expect(i18n._(count, { count: 2 })).toBe("2 Nachrichten");
    const now = Date.parse("2026-11-15T12:00:30Z");
    expect(agoWords(i18n, "2026-11-15T10:00:00Z", now)).toBe("vor 2 Stunden");
  });
});
