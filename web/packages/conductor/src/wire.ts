/** An event of the protocol, in its envelope: read from a message, and written as one. */

import { isObject } from "./patch.js";

/** As MCP's `tools/list` has it. */
export interface Tool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: Record<string, unknown>;
  annotations?: Record<string, unknown>;
}

export interface SessionStart {
  sessionId: string;
  tools: readonly Tool[];
  agent?: string;
  clauses?: boolean;
}

export interface ToolCall {
  callId: string;
  name: string;
  arguments: string;
}

export interface ToolResult {
  callId: string;
  result: string | null;
  error: string | null;
}

export interface ErrorBody {
  code: string;
  message: string;
  eventId?: string | null;
  callId?: string | null;
  positionMs?: number | null;
  positionCharacters?: number | null;
}

/** What a client sends. */
export type Sent =
  | { sessionStart: SessionStart }
  | { userAudioTranscriptPartial: { text: string } }
  | { userAudioTranscriptFinal: { text: string } }
  | { toolResult: ToolResult }
  | { error: ErrorBody };

/** What a server sends; `other` is a kind that this client does not know, or that is not for it. */
export type Heard =
  | { kind: "assistantSpeechPartial"; text: string }
  | { kind: "assistantSpeechFinal"; text: string }
  | { kind: "assistantUIPatch"; patch: unknown }
  | { kind: "toolCall"; call: ToolCall; given: Record<string, unknown> }
  | { kind: "error"; error: ErrorBody }
  | { kind: "other" };

/** Why a message cannot be read, in words. */
export class Unreadable extends Error {}

/** After these the client connects again; 1006 is a line that broke. */
export const RECONNECT: ReadonlySet<number> = new Set([1001, 1006, 1011, 1012, 1013]);
export const LEFT = 1000;
export const INTERRUPTED = "audio.output.interrupted";
export const MOST_TEXT = 8_000;
const MOST_WORDS = 100_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const UUID_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const TIME = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/;

export function sessionIdOf(raw: string): string {
  if (!UUID_4.test(raw)) throw new TypeError("a UUID of version 4 is wanted");
  return raw.toLowerCase();
}

export function newId(): string {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export function write(kind: Sent, id: string = newId()): string {
  return JSON.stringify({ id, timestamp: new Date().toISOString(), kind });
}

/** Throws `Unreadable`. */
export function read(message: string): Heard {
  const told = parsed(message, "The message is no JSON text.");
  if (!isObject(told)) throw new Unreadable("An event is a JSON object.");
  const { id, timestamp, kind } = told;
  if (typeof id !== "string" || !UUID.test(id)) throw new Unreadable("'id': a UUID is wanted.");
  if (typeof timestamp !== "string" || !isTime(timestamp)) {
    throw new Unreadable("'timestamp': an ISO 8601 time with its zone is wanted.");
  }
  if (!isObject(kind) || Object.keys(kind).length !== 1) {
    throw new Unreadable("'kind' has exactly one field, which names the kind.");
  }
  const [name, body] = Object.entries(kind)[0]!;
  const reader = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
  if (reader === undefined) return { kind: "other" };
  if (!isObject(body)) throw new Unreadable(`'kind.${name}': an object is wanted.`);
  return reader(body);
}

const READERS: Record<string, (body: Record<string, unknown>) => Heard> = {
  assistantSpeechPartial: (body) => ({ kind: "assistantSpeechPartial", text: words(body, "text") }),
  assistantSpeechFinal: (body) => ({ kind: "assistantSpeechFinal", text: words(body, "text") }),
  assistantUIPatch: (body) => ({
    kind: "assistantUIPatch",
    patch: parsed(words(body, "patch", Infinity), "'patch': JSON is wanted, in a string."),
  }),
  toolCall: (body) => {
    const told = words(body, "arguments", Infinity);
    const given = parsed(told, "'arguments': JSON is wanted, in a string.");
    if (!isObject(given)) throw new Unreadable("'arguments': a JSON object is wanted.");
    const call = {
      callId: words(body, "callId", 192, 1),
      name: words(body, "name", 128, 1),
      arguments: told,
    };
    return { kind: "toolCall", call, given };
  },
  error: (body) => ({
    kind: "error",
    error: {
      code: words(body, "code", 64, 1),
      message: words(body, "message"),
      eventId: typeof body["eventId"] === "string" ? body["eventId"] : null,
    },
  }),
};

function parsed(text: string, wrong: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Unreadable(wrong);
  }
}

function words(body: Record<string, unknown>, field: string, most = MOST_WORDS, least = 0): string {
  const found = body[field];
  if (typeof found !== "string") throw new Unreadable(`'${field}': text is wanted.`);
  if (found.length < least) throw new Unreadable(`'${field}' is empty.`);
  if (characters(found, most) > most) throw new Unreadable(`'${field}' is too long.`);
  return found;
}

/** Whole ones, as the server counts; only where it matters. */
export function characters(text: string, most: number): number {
  return text.length <= most ? text.length : Array.from(text).length;
}

function isTime(raw: string): boolean {
  const found = TIME.exec(raw);
  if (found === null) return false;
  const at = new Date(`${found[1]}T${found[2]}Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(`${found[1]}T${found[2]}`);
}
