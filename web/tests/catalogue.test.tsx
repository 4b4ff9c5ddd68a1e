import { INITIAL, type State } from "@vivavoce/client";
import { beforeAll, describe, expect, test } from "vitest";
import { entries, used } from "../catalogue.mjs";
import { i18n, speak } from "../src/words/i18n";
import { troubleWords } from "../src/words/faults";
import { exactly, known } from "../src/words/known";
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

  test("what the server says of a fault is said by its code, and until when to wait", () => {
    const at = Date.parse("2026-11-15T12:00:30Z");
    const told = (code: string, message: string, retryAfterMs: number | null = null) =>
      troubleWords(i18n, { code, message, retryAfterMs }, at);
    expect(told("not_found", "Conversation 'x' not found.")).toBe("Das gibt es nicht mehr.");
    expect(told("invalid_request", "title: too long")).toBe("Das kann der Server so nicht annehmen: title: too long");
    expect(told("rate_limited", "3 sessions already", 30_000)).toBe(
      "Das ist für den Moment zu viel. Versuche es in 30 Sekunden wieder.",
    );
    expect(told("service_unavailable", "The server is shutting down.")).toBe("Der Server wird gerade beendet.");
    expect(told("of_another_server", "Its own words.")).toBe("Its own words.");
  });

  test("a tool's work, a decision and a provider have theirs, and a user's own words stay", () => {
    expect(known(i18n, "Editing file src/a (b).py")).toBe("Ändert die Datei src/a (b).py");
    expect(known(i18n, "Searching for apples in lib")).toBe("Sucht nach apples in lib");
    expect(known(i18n, "12 of 50 tests passed")).toBe("12 von 50 Tests bestanden");
    expect(known(i18n, "bash was refused: nobody answered in time.")).toMatch(/^bash wurde abgelehnt: Niemand/);
    expect(known(i18n, "OpenAI does not answer. One moment, I try the voice of this server.")).toBe(
      "OpenAI antwortet nicht. Einen Moment, ich versuche es mit der Stimme dieses Servers.",
    );
    expect(exactly(i18n, "Looking for a flat")).toBe("Looking for a flat");
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

test("in English the server's own words of a fault stay, since they say more", () => {
  const trouble = { code: "rate_limited", message: "3 sessions already", retryAfterMs: 1000 };
  expect(troubleWords(i18n, trouble)).toBe("3 sessions already. Try again in 1 second.");
  expect(troubleWords(i18n, { ...trouble, code: "not_found" })).toBe("3 sessions already");
});
