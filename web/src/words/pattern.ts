/** English that was made of a pattern such as "Editing file {path}". Pure. */

const made = new Map<string, { form: RegExp; names: string[] }>();

/** What stands in its places; null if the text was not made of it. `{number}` is of digits. */
export function valuesOf(pattern: string, text: string): Record<string, string> | null {
  const { form, names } = made.get(pattern) ?? compiled(pattern);
  const found = form.exec(text);
  return found && Object.fromEntries(names.map((name, at) => [name, found[at + 1] ?? ""]));
}

function compiled(pattern: string): { form: RegExp; names: string[] } {
  const names: string[] = [];
  const escaped = pattern
    .replace(/[.*+?^$()|[\]\\]/g, "\\$&")
    .replace(/\{(\w+)\}/g, (_, name: string) => {
      names.push(name);
      return name === "number" ? "(\\d+)" : "(.+?)";
    });
  const one = { form: new RegExp(`^${escaped}$`, "s"), names };
  made.set(pattern, one);
  return one;
}
