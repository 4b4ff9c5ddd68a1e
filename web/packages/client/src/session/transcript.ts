/** The lines of the transcript: pure operations on a list that is never changed in place. */

import type { TranscriptEntry } from "../wire/types.js";
import { newest, titleOf, type Understood } from "./intents.js";
import type { Line, ToolCall } from "./state.js";

const KEPT = 500; // lines on the page; the server has them all

export type Lines = readonly Line[];

export const EMPTY: Omit<Line, "id" | "kind"> = {
  text: "",
  unheard: "",
  cut: false,
  done: false,
  failed: false,
  note: "",
  percentage: null,
};

/** A place for what is being said, so that a late transcript does not come after its answer. */
export function opened(lines: Lines, id: string, kind: Line["kind"], after?: string): Lines {
  if (lines.some((line) => line.id === id)) return lines;
  const line: Line = { ...EMPTY, id, kind };
  const before = after === undefined ? -1 : lines.findIndex((found) => found.id === after);
  const at = before < 0 ? lines.length : before + 1;
  return [...lines.slice(0, at), line, ...lines.slice(at)].slice(-KEPT);
}

export function grown(lines: Lines, id: string, kind: Line["kind"], delta: string): Lines {
  return changed(opened(lines, id, kind), id, (line) =>
    line.done ? line : { ...line, text: line.text + delta },
  );
}

/** What was said or heard. Of an answer that was cut off, what remains is kept as unheard. */
export function completed(
  lines: Lines,
  said: Pick<Line, "id" | "kind" | "text" | "cut" | "spoken"> & { after?: string },
): Lines {
  const text = said.text.trim();
  if (!text && !said.cut) return lines.filter((line) => line.id !== said.id);
  return changed(opened(lines, said.id, said.kind, said.after), said.id, (line) => {
    const meant = line.text + line.unheard;
    const rest = said.cut && meant.startsWith(text) ? meant.slice(text.length) : "";
    const spoken = said.spoken ?? false;
    const sounds = said.cut ? whole(line) : line; // its words are complete before its sound is
    return { ...sounds, text, unheard: rest, cut: said.cut, spoken, done: true };
  });
}

/** How far an answer that sounds was heard. Once it is over its text is what was heard. */
export function heard(
  lines: Lines,
  told: { readonly item_id: string; readonly transcript?: string; readonly state: string },
): Lines {
  const { item_id: id, transcript: text = "", state } = told;
  if (state === "playing") {
    return changed(opened(lines, id, "assistant"), id, (line) => ({ ...line, heard: text }));
  }
  return changed(lines, id, whole);
}

/** Nobody tells any more how far an answer is. */
export function unfollowed(lines: Lines): Lines {
  return lines.some((line) => line.heard !== undefined) ? lines.map(whole) : lines;
}

function whole(line: Line): Line {
  const { heard: _, ...rest } = line;
  return line.heard === undefined ? line : rest;
}

/** What was said earlier, above what is here. */
export function before(lines: Lines, earlier: Lines): Lines {
  const here = new Set(lines.map(({ id }) => id));
  return [...earlier.filter(({ id }) => !here.has(id)), ...lines].slice(-KEPT);
}

/** Typed here, and on its way. */
export function written(lines: Lines, id: string, text: string): Lines {
  return changed(opened(lines, id, "user"), id, (line) => ({ ...line, text, spoken: false }));
}

/** The server has it, under its own name; it may have told so already. */
export function stored(lines: Lines, id: string, itemId: string): Lines {
  if (lines.some((line) => line.id === itemId)) return lines.filter((line) => line.id !== id);
  return changed(lines, id, (line) => ({ ...line, id: itemId, done: true }));
}

export function refused(lines: Lines, id: string, why: string): Lines {
  return changed(lines, id, (line) => ({ ...line, done: true, failed: true, note: why }));
}

export function tool(lines: Lines, id: string, change: Partial<Line>): Lines {
  return changed(opened(lines, id, "tool"), id, (line) => ({ ...line, ...change }));
}

/** A card where it was understood; it changes in its place. */
export function understood(lines: Lines, id: string, news: Understood): Lines {
  return changed(opened(lines, id, "intent"), id, (line) => {
    const intent = line.intent ? newest(line.intent, news) : news;
    return { ...line, text: titleOf(intent.route), intent, done: true };
  });
}

/** Something on the list is due: a line where it came. */
export function due(lines: Lines, id: string, title: string): Lines {
  return changed(opened(lines, id, "due"), id, (line) => ({ ...line, text: title, done: true }));
}

/** The card that came of a tool's call says more than its line does. */
export function withoutCallOf(lines: Lines, id: string): Lines {
  const at = lines.findIndex((line) => line.id === id);
  const next = lines.slice(at + 1).find((line) => line.kind !== "tool");
  return at >= 0 && next?.kind === "intent" ? lines.filter((line) => line.id !== id) : lines;
}

/** The server's record after a gap. It has no cards and nothing that was due: those that there are stay at their place. */
export function reread(lines: Lines, entries: readonly TranscriptEntry[]): Lines {
  return lines.reduce<Lines>((fresh, line, at) => {
    if (line.kind !== "intent" && line.kind !== "due") return fresh;
    return changed(opened(fresh, line.id, line.kind, lines[at - 1]?.id), line.id, () => line);
  }, fromEntries(entries));
}

export function fromEntries(entries: readonly TranscriptEntry[]): Lines {
  const lines: Line[] = [];
  const results = new Map(
    entries.flatMap((entry) => {
      const { entry_type, tool_call_id: id, tool_result: result } = entry;
      return entry_type === "tool_result" && id && result ? [[id, result] as const] : [];
    }),
  );
  for (const entry of entries) {
    const kind = entry.entry_type;
    if (kind === "user" || kind === "assistant") {
      const cut = entry.interrupted === true;
      const text = entry.text ?? "";
      const meant = entry.generated_text ?? "";
      const unheard = cut && meant.startsWith(text) ? meant.slice(text.length) : "";
      lines.push({ ...EMPTY, id: entry.item_id ?? entry.id, kind, text, unheard, cut, done: true });
    } else if (kind === "tool_call") {
      const id = entry.tool_call_id ?? entry.id;
      const name = entry.tool_name ?? "";
      const call = callOf(name, entry.tool_arguments, results.get(id));
      const failed = results.get(id)?.["success"] === false;
      lines.push({ ...EMPTY, id, kind: "tool", text: entry.text || name, failed, call, done: true });
    }
  }
  return lines.slice(-KEPT);
}

type Given = Readonly<Record<string, unknown>>;

/** A call as it is stored: its arguments, and its result once it has one. */
export function callOf(tool: string, given?: Given | null, result?: Given | null): ToolCall {
  const { output, error, suggestion, files_changed: files, duration_ms: ms } = result ?? {};
  const said = [output, error, suggestion].filter((part) => typeof part === "string" && part !== "");
  return {
    tool,
    given: given ?? {},
    output: said.join("\n"),
    whole: result !== undefined && result !== null,
    files: Array.isArray(files) ? files.map(String) : [],
    ms: typeof ms === "number" ? ms : null,
  };
}

/** Nobody says any more of what was left open. */
export function closed(lines: Lines): Lines {
  return unfollowed(lines)
    .filter((line) => line.text !== "" || line.done)
    .map((line) => (line.done ? line : { ...line, done: true }));
}

function changed(lines: Lines, id: string, change: (line: Line) => Line): Lines {
  return lines.map((line) => (line.id === id ? change(line) : line));
}
