/** Does everything work that a talk needs? One part after another, each with a sentence that says
 * what is so, and what to do about it. */

import {
  type Api,
  ApiError,
  barOf,
  faultWords,
  type Microphone,
  type ReadyResponse,
  type StatusResponse,
  type TransportKind,
  WebRtcTransport,
  WebSocketTransport,
} from "@vivavoce/client";
import type { I18n } from "../words/i18n";
import { known } from "../words/known";
import { percentWords } from "../words/region";
import { after } from "./sound";

export const PARTS = [
  "server",
  "brain",
  "ears",
  "mouth",
  "microphone",
  "webrtc",
  "websocket",
  "speaker",
] as const;
export type Part = (typeof PARTS)[number];

/** `later`: nothing is broken, and it does not work yet. `untold`: it cannot be tried now. */
export interface Verdict {
  readonly state: "good" | "bad" | "later" | "untold";
  readonly words: string;
  /** Why the microphone could not be opened, as the client says it. */
  readonly refusal?: string;
}

/** What is tried, and with what. */
export interface Probes {
  /** What the server says of itself. Throws what went wrong. */
  status(): Promise<StatusResponse>;
  /** What it says of itself to everybody. */
  ready(): Promise<ReadyResponse>;
  /** The mouth says a sentence; null where there is none of the server's own. */
  sample(): Promise<void> | null;
  /** The loudest of a while, root mean square. Throws `MicrophoneRefused`. */
  listen(): Promise<number>;
  /** A call of a moment; how many milliseconds until it was up. */
  call(kind: TransportKind): Promise<number>;
  play(): Promise<void>;
  /** The talk that is on, and its way. */
  readonly talking: boolean;
  readonly transport: TransportKind | null;
}

export async function* tested(i18n: I18n, probes: Probes): AsyncGenerator<readonly [Part, Verdict]> {
  const { server, status, ready } = await serverAnswers(i18n, probes);
  const open = ready ? together(i18n, ready) : unknown(i18n);
  yield ["server", server];
  yield ["brain", status ? brain(i18n, status) : open];
  yield ["ears", status ? ears(i18n, status) : open];
  yield ["mouth", status ? await mouth(i18n, status, probes) : open];
  yield ["microphone", await microphone(i18n, probes)];
  const loaded = status ? !own(status) || status.engine?.ready === true : ready?.ready === true;
  for (const kind of ["webrtc", "websocket"] as const) {
    yield [kind, loaded ? await way(i18n, kind, probes) : unknown(i18n)];
  }
  yield ["speaker", await speaker(i18n, probes)];
}

interface Answered {
  readonly server: Verdict;
  readonly status?: StatusResponse;
  readonly ready?: ReadyResponse;
}

async function serverAnswers(i18n: I18n, probes: Probes): Promise<Answered> {
  const began = performance.now();
  const answered = () => {
    const ms = Math.round(performance.now() - began);
    return good(i18n._("It answered in {ms} ms.", { ms }));
  };
  try {
    const status = await probes.status();
    return { server: answered(), status };
  } catch (fault) {
    if (!(fault instanceof ApiError) || fault.status !== 403) return { server: bad(whyNoServer(i18n, fault)) };
  }
  // What it runs with is for others; whether it can talk is for everybody.
  try {
    const ready = await probes.ready();
    return { server: answered(), ready };
  } catch (fault) {
    return { server: bad(whyNoServer(i18n, fault)) };
  }
}

/** Brain, ears and mouth, where the server tells no more of them. */
function together(i18n: I18n, { ready, failed, checks, message }: ReadyResponse): Verdict {
  if (ready) return good(i18n._("The server is ready for a talk."));
  if (failed) return bad(cannotBeLoaded(i18n));
  if (checks.engine === false) return { state: "later", words: onTheirWay(i18n) };
  return bad(known(i18n, message ?? ""));
}

function whyNoServer(i18n: I18n, fault: unknown): string {
  if (!(fault instanceof ApiError)) return known(i18n, faultWords(fault));
  if (fault.status === 0) {
    return i18n._("It does not answer. Is it running, and is this device on its network?");
  }
  if (fault.status === 401) return i18n._("It does not know who you are: log in first.");
  return known(i18n, faultWords(fault));
}

/** The server's own engine, unless it only stands by for somebody else who is there. */
function own({ engine, openai }: StatusResponse): boolean {
  return engine != null && (engine.ready || !openai.connected);
}

export function brain(i18n: I18n, status: StatusResponse): Verdict {
  const { engine, openai } = status;
  if (!engine || !own(status)) {
    if (openai.connected) {
      return good(i18n._("{provider} answers, with {model}.", { provider: openai.name, model: openai.model }));
    }
    const why = openai.last_error ?? "";
    return bad(i18n._("{provider} cannot be reached, so nobody answers. {why}", { provider: openai.name, why }));
  }
  const missing = notLoaded(i18n, status);
  if (missing) return missing;
  const name = engine.brain?.name ?? openai.model;
  if (engine.reading) {
    return {
      state: "later",
      words: i18n._("{name} is loaded and reads its instructions: the first answers take longer.", { name }),
    };
  }
  return good(i18n._("{name} is loaded.", { name }));
}

export function ears(i18n: I18n, status: StatusResponse): Verdict {
  return spoken(i18n, status, (speech) => speech.ears);
}

async function mouth(i18n: I18n, status: StatusResponse, { sample }: Probes): Promise<Verdict> {
  const loaded = spoken(i18n, status, (speech) => speech.mouth);
  if (loaded.state !== "good") return loaded;
  try {
    const said = sample();
    if (said === null) return loaded;
    await said;
    return good(i18n._("{words} A sentence of it came.", { words: loaded.words }));
  } catch (fault) {
    const why = known(i18n, faultWords(fault));
    return bad(i18n._("It could not say a sentence: {why} Choose another voice, or look at the server’s log.", { why }));
  }
}

type Speech = NonNullable<NonNullable<StatusResponse["engine"]>["speech"]>;

function spoken(i18n: I18n, status: StatusResponse, name: (speech: Speech) => string): Verdict {
  const { engine, openai } = status;
  if (!engine || !own(status)) {
    const provider = openai.name;
    return openai.connected
      ? good(i18n._("{provider} does that itself.", { provider }))
      : bad(i18n._("{provider} would do that, and cannot be reached.", { provider }));
  }
  const missing = notLoaded(i18n, status);
  if (missing) return missing;
  if (!engine.speech) return unknown(i18n);
  return good(i18n._("{name} is loaded.", { name: name(engine.speech) }));
}

function notLoaded(i18n: I18n, { engine }: StatusResponse): Verdict | null {
  if (!engine || engine.ready) return null;
  if (engine.failed) {
    return bad(cannotBeLoaded(i18n));
  }
  return { state: "later", words: onTheirWay(i18n) };
}

function cannotBeLoaded(i18n: I18n): string {
  return i18n._("Its models cannot be loaded; the server’s log says why. It tries again by itself.");
}

function onTheirWay(i18n: I18n): string {
  return i18n._("Its models are on their way: see below how far they are.");
}

async function microphone(i18n: I18n, { listen }: Probes): Promise<Verdict> {
  try {
    const level = barOf(await listen());
    if (level === 0) {
      return bad(i18n._("It is open, but only silence comes. Is it switched off at the device, or is another one meant?"));
    }
    return good(i18n._("It is open, and its level went up to {level}.", { level: percentWords(i18n, Math.round(100 * level)) }));
  } catch (fault) {
    const refusal = faultWords(fault);
    return { ...bad(known(i18n, refusal)), refusal };
  }
}

async function way(i18n: I18n, kind: TransportKind, { call, talking, transport }: Probes): Promise<Verdict> {
  if (talking) {
    if (transport === kind) return good(i18n._("The talk that is on goes this way."));
    return { state: "untold", words: i18n._("Not tried while you talk.") };
  }
  try {
    return good(i18n._("A call was up in {ms} ms.", { ms: Math.round(await call(kind)) }));
  } catch (fault) {
    if (fault instanceof ApiError && fault.status === 429) {
      return { state: "untold", words: known(i18n, faultWords(fault)) };
    }
    return bad(
      kind === "webrtc"
        ? i18n._("No call came about: a firewall may hold UDP back. Talks go over WebSocket instead, a little later.")
        : i18n._("No call came about: a proxy in between may not let WebSockets through."),
    );
  }
}

async function speaker(i18n: I18n, { play }: Probes): Promise<Verdict> {
  try {
    await play();
    return { state: "untold", words: i18n._("Two notes were played. Did you hear them?") };
  } catch {
    return bad(i18n._("This browser lets no sound out. Is the tab muted?"));
  }
}

/** What the user said to the question at the end. */
export function heardIt(i18n: I18n, heard: boolean): Verdict {
  if (heard) return good(i18n._("You heard it."));
  return bad(i18n._("Turn the volume up, and see that the tab is not muted. Another loudspeaker can be chosen above."));
}

const good = (words: string): Verdict => ({ state: "good", words });
const bad = (words: string): Verdict => ({ state: "bad", words });
const unknown = (i18n: I18n): Verdict => ({ state: "untold", words: i18n._("Cannot be tried before the rest works.") });

const LISTENING_MS = 2000;
const CALL_MS = 12_000;
const LOOK_MS = 50;

/** The loudest while it listens. */
export async function loudest(level: () => number, ms = LISTENING_MS): Promise<number> {
  let most = 0;
  for (const end = performance.now() + ms; performance.now() < end; ) {
    await after(LOOK_MS);
    most = Math.max(most, level());
  }
  return most;
}

/** A call without a word in a conversation of its own, which is gone afterwards. */
export async function callFor(api: Api, kind: TransportKind): Promise<number> {
  const { client_secret, session_id, conversation_id } = await api.createSession();
  const microphone = silent();
  try {
    const transport = kind === "webrtc" ? new WebRtcTransport(api) : new WebSocketTransport(api);
    const began = performance.now();
    const signal = AbortSignal.timeout(CALL_MS);
    const call = await transport.connect(client_secret.value, microphone, signal, nothing, nothing);
    call.close();
    return performance.now() - began;
  } finally {
    microphone.close();
    await api.end(session_id).catch(nothing);
    await api.deleteConversation(conversation_id).catch(nothing);
  }
}

const nothing = () => undefined;

/** Nobody is asked for it, and nothing is heard by it. */
function silent(): Microphone {
  const context = new AudioContext();
  const { stream } = context.createMediaStreamDestination();
  void context.resume();
  return {
    stream,
    context,
    source: context.createMediaStreamSource(stream),
    speaker: "",
    lost: new Promise(nothing),
    level: () => 0,
    mute: nothing,
    close: () => void context.close(),
  };
}
