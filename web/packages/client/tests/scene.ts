/** A conversation with everything around it made up: server, stream, microphone, transports. */

import type { Microphone } from "../src/audio/microphone";
import { aborted } from "../src/session/aborting";
import { Conversation, type Ports } from "../src/session/conversation";
import type { ServerFact, State, TransportKind } from "../src/session/state";
import type { Approval, Task, Work } from "../src/session/work/work";
import { situation } from "../src/session/words";
import { Choice } from "../src/transport/choice";
import { type Call, deferred, type Transport } from "../src/transport/transport";
import type { Said } from "../src/transport/shown";
import { Api } from "../src/wire/api";
import type { InboxListener } from "../src/wire/inbox";
import type { StreamListener, StreamStart } from "../src/wire/stream";

const VERY_LONG_MS = 60_000;

type Answer = { status?: number; body: unknown };

export function aTask(more: Partial<Task> = {}): Task {
  return {
    id: "t1",
    title: "Write it",
    description: "",
    agent: "coder",
    backend: "embedded",
    status: "running",
    files_changed: [],
    details: [],
    suggestions: [],
    created_at: "2026-11-15T12:00:00.000Z",
    updated_at: "2026-11-15T12:00:00.000Z",
    told: false,
    ...more,
  };
}

export function anApproval(id: string, more: Partial<Approval> = {}): Approval {
  return {
    id,
    tool_name: "bash",
    question: "May I?",
    arguments: { command: "git push" },
    requested_at: "2026-11-15T12:00:00.000Z",
    expires_at: "2026-11-15T12:01:00.000Z",
    session_id: "vs_1",
    ...more,
  };
}

/** Answers like the server, remembers what it was asked, and can be told to refuse. */
export class FakeServer {
  readonly asked: string[] = [];
  readonly tokens: (string | null)[] = [];
  readonly bodies: { request: string; body: unknown }[] = [];
  /** The `Idempotency-Key` of each of those. */
  readonly names: (string | null)[] = [];
  readonly answers = new Map<string, Answer[]>();
  keys = 0;
  /** What comes of an end before it is answered. */
  ended: () => void = () => undefined;

  next(request: string, ...answers: Answer[]): void {
    this.answers.set(request, [...(this.answers.get(request) ?? []), ...answers]);
  }

  fetch: typeof fetch = async (input, init) => {
    const { pathname, search } = new URL(String(input));
    const request = `${init?.method ?? "GET"} ${pathname}`;
    this.asked.push(request + search);
    this.tokens.push(new Headers(init?.headers).get("authorization"));
    if (typeof init?.body === "string" && init.body.startsWith("{")) {
      this.bodies.push({ request, body: JSON.parse(init.body) });
      this.names.push(new Headers(init.headers).get("idempotency-key"));
    }
    if (request.endsWith("/end")) this.ended();
    const told = this.answers.get(request)?.shift();
    const { status = 200, body } = told ?? { body: this.usual(request) };
    return new Response(JSON.stringify(body), { status });
  };

  private usual(request: string): unknown {
    const token = { value: "st_1", expires_at: 0 };
    const common = { session_id: "vs_1", stream_token: token, last_event_id: 7 };
    switch (request) {
      case "GET /ready":
        return { ready: true };
      case "POST /session":
        return { ...common, client_secret: { value: this.key(), expires_at: 0 } };
      case "GET /session/reconnect":
        return { ...common, ephemeral_key: this.key() };
      case "POST /session/restore":
        return { ...common, new_session_id: "vs_2", ephemeral_key: this.key() };
      case "GET /tasks":
        return { tasks: [], count: 0 };
      case "GET /api/v1/reminders":
        return { reminders: [] };
      case "GET /approvals":
        return { approvals: [], count: 0 };
      case "GET /api/v1/intents":
        return { intents: [] };
      default:
        return {};
    }
  }

  private key(): string {
    this.keys += 1;
    return `ek_${this.keys}`;
  }
}

export class FakeTransport implements Transport {
  readonly used: string[] = [];
  readonly calls: FakeCall[] = [];
  faults: unknown[] = [];
  ready: Promise<void> = Promise.resolve();
  /** Of the call placed last. */
  sounding: (on: boolean) => void = () => undefined;
  shown: (said: Said) => void = () => undefined;

  constructor(private readonly kind: TransportKind) {}

  async connect(
    key: string,
    _microphone: Microphone,
    _signal: AbortSignal,
    sounding: (on: boolean) => void,
    shown: (said: Said) => void,
  ): Promise<Call> {
    this.used.push(key);
    this.sounding = sounding;
    this.shown = shown;
    const fault = this.faults.shift();
    if (fault) throw fault;
    await this.ready;
    const call = new FakeCall(this.kind);
    this.calls.push(call);
    return call;
  }
}

export class FakeCall implements Call {
  readonly #closed = deferred();
  readonly closed = this.#closed.promise;
  over = false;

  constructor(readonly kind: TransportKind) {}

  interrupted = 0;

  level(): number {
    return 0.25;
  }

  interrupt(): void {
    this.interrupted += 1;
  }

  close(): void {
    this.over = true;
    this.#closed.resolve();
  }
}

export class Scene {
  readonly server = new FakeServer();
  readonly webrtc = new FakeTransport("webrtc");
  readonly websocket = new FakeTransport("websocket");
  readonly streams: { start: StreamStart; listener: StreamListener; closed: boolean }[] = [];
  readonly pauses: number[] = [];
  readonly inboxes: { listener: InboxListener; signal: AbortSignal; end: () => void }[] = [];
  inboxFaults: unknown[] = [];
  remembered: readonly string[] = [];
  readonly unplugged = deferred();
  time = 0;
  /** Waits of so many milliseconds or more last as long as what waits. */
  holdFrom = Number.POSITIVE_INFINITY;
  /** Waits last as long as what waits. */
  slow = false;
  microphones = 0;
  muted = false;
  open: () => Promise<void> = async () => undefined;
  readonly conversation: Conversation;

  constructor(initial?: State) {
    const ports: Ports = {
      api: new Api("http://server/", (input, init) => this.server.fetch(input, init)),
      transports: { webrtc: this.webrtc, websocket: this.websocket },
      choice: new Choice(),
      openMicrophone: async () => {
        await this.open();
        this.microphones += 1;
        return this.microphone();
      },
      openStream: (start, listener) => {
        const stream = { start, listener, closed: false };
        this.streams.push(stream);
        return { close: () => void (stream.closed = true) };
      },
      openInbox: async (listener, signal) => {
        const fault = this.inboxFaults.shift();
        if (fault) throw fault;
        const ended = deferred();
        this.inboxes.push({ listener, signal, end: ended.resolve });
        await Promise.race([ended.promise, aborted(signal)]);
      },
      memory: { read: () => ["t_old"], write: (ids) => void (this.remembered = ids) },
      pause: async (ms, signal) => {
        this.pauses.push(ms);
        // Nobody waits here; but what is meant to take very long does.
        if (this.slow || ms > VERY_LONG_MS || ms >= this.holdFrom) await new Promise((resolve) => (signal.onabort = resolve));
        else await new Promise((resolve) => setTimeout(resolve));
        signal.throwIfAborted();
      },
      now: () => this.time,
    };
    this.conversation = new Conversation(ports, initial);
  }

  get state(): string {
    return situation(this.conversation.store.getState());
  }

  get work(): Work {
    return this.conversation.store.getState().work;
  }

  tell(name: ServerFact["name"], data: object): void {
    this.streams.at(-1)?.listener.event({ type: "event", name, data } as ServerFact);
  }

  /** What the inbox tells: of all sessions, and without any. */
  news(name: ServerFact["name"], data: object): void {
    this.inboxes.at(-1)?.listener.event({ type: "event", name, data } as ServerFact);
  }

  status(state: string): void {
    this.tell("session.status", { state });
  }

  private microphone(): Microphone {
    return {
      lost: this.unplugged.promise,
      level: () => 0.5,
      mute: (on) => void (this.muted = on),
      close: () => void (this.microphones -= 1),
    } as Microphone;
  }
}
