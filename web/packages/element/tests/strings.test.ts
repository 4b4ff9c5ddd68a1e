import { describe, expect, test } from "vitest";
import { stringsFor } from "../src/strings";

describe("the element's words", () => {
  test("are those of the page's language, and English where it has none", () => {
    expect(stringsFor("de-AT").start).toBe("Gespräch beginnen");
    expect(stringsFor("DE").send).toBe("Senden");
    expect(stringsFor("en-GB").start).toBe("Start talking");
    expect(stringsFor("fr").start).toBe("Start talking");
    expect(stringsFor("").start).toBe("Start talking");
  });

  test("are all there in each, and none is left in English", () => {
    const { situations, ...plain } = stringsFor("en");
    const { situations: lagen, ...schlicht } = stringsFor("de");
    expect(Object.keys(schlicht)).toEqual(Object.keys(plain));
    expect(Object.keys(lagen)).toEqual(Object.keys(situations));
    const other = { ...schlicht, ...lagen } as Record<string, string>;
    for (const [name, words] of Object.entries({ ...plain, ...situations })) {
      expect(other[name], name).not.toBe(words);
    }
    expect(schlicht.retryIn).toContain("{seconds}");
  });
});
