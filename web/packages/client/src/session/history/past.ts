/** A past conversation as lines of the transcript, its cards among them. Pure. */

import type { IntentView, Message } from "../../wire/types.js";
import type { Past } from "./history.js";
import { intentRead, isIntentTool, titleOf } from "../intents.js";
import type { Line } from "../state.js";
import { callOf, EMPTY } from "../transcript.js";

/** What was just written, until the server has it. */
export const SENDING = "sending";

type Read = Pick<Past, "messages" | "intents" | "more" | "sending">;

export function pastLines({ messages, intents, more, sending }: Read): readonly Line[] {
  const lines: Line[] = [];
  const names = new Set(intents.map(({ name }) => name));
  // The list of intents is whole, the messages may not be: those before the first stay away.
  const first = messages[0]?.created_at ?? "";
  const cards = [...intents]
    .filter(({ created_at }) => !more || created_at >= first)
    .sort((one, other) => one.created_at.localeCompare(other.created_at));
  const results = resultsOf(messages);
  for (const message of messages) {
    while (cards[0] && cards[0].created_at < message.created_at) lines.push(...card(cards.shift()));
    lines.push(...lineOf(message, names, results));
  }
  for (const left of cards) lines.push(...card(left));
  if (sending) lines.push({ ...EMPTY, id: SENDING, kind: "user", text: sending, done: true });
  if (sending !== null) lines.push({ ...EMPTY, id: "answering", kind: "assistant" });
  return lines;
}

function card(view: IntentView | undefined): Line[] {
  if (!view) return [];
  const text = titleOf(view.intent);
  return [{ ...EMPTY, id: view.id, kind: "intent", text, intent: intentRead(view), done: true }];
}

type Result = Readonly<Record<string, unknown>>;

/** What each call gave, by its name. */
export function resultsOf(messages: readonly Message[]): ReadonlyMap<string, Result> {
  return new Map(
    messages.flatMap(({ metadata: { entry_kind, tool_call_id, tool_result } }) =>
      entry_kind === "tool_result" && tool_result
        ? [[String(tool_call_id), tool_result as Result] as const]
        : [],
    ),
  );
}

function lineOf(message: Message, cards: Set<string>, results: ReadonlyMap<string, Result>): Line[] {
  const { id, role, content, input_modality, metadata } = message;
  if (role === "user" || role === "assistant") {
    const cut = metadata["interrupted"] === true;
    const meant = String(metadata["generated"] ?? "");
    const unheard = cut && meant.startsWith(content) ? meant.slice(content.length) : "";
    const spoken = input_modality === "voice";
    return [{ ...EMPTY, id, kind: role, text: content, unheard, cut, spoken, done: true }];
  }
  const name = metadata["tool_name"];
  if (metadata["entry_kind"] !== "tool_call" || typeof name !== "string") return [];
  if (cards.has(name) || isIntentTool(name)) return [];
  const result = results.get(String(metadata["tool_call_id"]));
  const call = callOf(name, metadata["tool_arguments"] as Result | undefined, result);
  const failed = result?.["success"] === false;
  return [{ ...EMPTY, id, kind: "tool", text: content || name, failed, call, done: true }];
}
