/** The requests that the page makes, each with the type of its answer. It keeps no state but
 * the server's token, where the server asks for one, and what its clock says. */

import { type GetToken, Tokens } from "./tokens.js";
import type {
  ApprovalListResponse,
  AudioCallResponse,
  ConversationInfo,
  ConversationListResponse,
  ErrorResponse,
  IceConfigResponse,
  IntentListResponse,
  MessageListResponse,
  ReadyResponse,
  ReconnectResponse,
  RestoreResponse,
  SearchResponse,
  SendMessageResponse,
  SessionDetailResponse,
  SessionResponse,
  SessionStateResponse,
  VoiceSessionResponse,
  ReminderListResponse,
  WorkListResponse,
  WorkResponse,
} from "./types.js";

/** How far a yes goes: for this call, for the same in the session, or until it is taken back. */
export type Reach = "once" | "session" | "always";

/** The server said no, or nothing (`status` 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfterMs: number | null = null,
    /** Its message is for whoever looks as it is: until when to wait is in it. */
    readonly worded = false,
  ) {
    super(message);
    this.name = "ApiError";
  }

  /** Worth asking again: nobody answered, too many asked, or the fault is not ours. */
  get passing(): boolean {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

/** What the server says of a fault: `code` is for programs, `message` is English. */
export interface Trouble {
  readonly code: string;
  readonly message: string;
  /** Until a try may help, where the server knows. */
  readonly retryAfterMs: number | null;
}

/** The same for whoever looks, in their language. */
export type Wording = (trouble: Trouble) => string;

/** How a talk is to be. Who speaks and what it is told belong to a new conversation; one that goes on
 * takes the rest. */
export interface Wishes {
  readonly voice?: string;
  readonly instructions?: string;
  /** Without asking, where the server allows that. */
  readonly autoApprove?: boolean;
  /** A task to begin with: the one that a notification named. */
  readonly task?: string;
  /** What the app knows of its user: see the server's documents. */
  readonly context?: Readonly<Record<string, unknown>>;
}

const PATIENCE_MS = 20_000;
const ANSWER_S = 30; // the server waits so long for a written answer; it is kept in any case
const REACHED_MS = 4000;
const HALF_A_SECOND = 500; // the header tells whole ones

export class Api {
  token: string | null = null;
  /** How far the server's clock is ahead of ours, by its last answer. */
  skewMs = 0;

  private readonly tokens: Tokens | null;

  constructor(
    private readonly base: string,
    private readonly send: typeof fetch = (input, init) => fetch(input, init),
    /** Who is asking, where nobody typed a token: asked for whenever one is sent. */
    getToken: GetToken | null = null,
    readonly wording: Wording | null = null,
  ) {
    this.tokens = getToken && new Tokens(getToken, (key) => this.exchange(key));
  }

  url(path: string): URL {
    return new URL(path.replace(/^\//, ""), this.base);
  }

  /** Does anybody answer there, whatever the answer is? */
  async reached(): Promise<boolean> {
    const wish = { cache: "no-store", signal: AbortSignal.timeout(REACHED_MS) } as const;
    return this.send(this.url("health"), wish).then(
      () => true,
      () => false,
    );
  }

  /** A key of the app's backend for the token of its user. */
  exchange(key: string): Promise<{ token: string; expires_at: string }> {
    const headers = { authorization: `Bearer ${key}` };
    return this.json("api/v1/keys/exchange", { method: "POST", headers });
  }

  async ready(signal?: AbortSignal): Promise<ReadyResponse> {
    const response = await this.ask("ready", { signal: signal ?? null }, [503]);
    const body: unknown = await response.json().catch(() => null);
    if (body && typeof body === "object" && "ready" in body) return body as ReadyResponse;
    throw new ApiError(response.status, "not_ready", "The server is not ready.");
  }

  /** Is the token right? A 401 if not. */
  async check(signal: AbortSignal): Promise<void> {
    await this.ask("api/v1/me", { signal });
  }

  /** A conversation to write to. */
  createConversation(): Promise<ConversationInfo> {
    return this.json("api/v1/conversations", posted({}));
  }

  createSession({ voice, instructions, autoApprove, context }: Wishes = {}): Promise<SessionResponse> {
    const wished = { voice, instructions, auto_approve: autoApprove, context };
    return this.json("session", posted({ can_type: true, ...wished }));
  }

  /** A voice session of a conversation that goes on; null begins one. */
  openConversation(id: string | null, { task, context }: Wishes = {}): Promise<VoiceSessionResponse> {
    const conversation = id === null ? {} : { conversation_id: id };
    const body = { ...conversation, can_type: true, task_id: task, context };
    return this.json("api/v1/voice/session", posted(body));
  }

  /** A new session that goes on where an ended one was. */
  restore(sessionId: string): Promise<RestoreResponse> {
    return this.json("session/restore", posted({ prev_session_id: sessionId }));
  }

  reconnect(sessionId: string): Promise<ReconnectResponse> {
    return this.json(`session/reconnect?session_id=${encodeURIComponent(sessionId)}`);
  }

  state(sessionId: string): Promise<SessionStateResponse> {
    return this.json(`session?session_id=${encodeURIComponent(sessionId)}`);
  }

  session(sessionId: string): Promise<SessionDetailResponse> {
    return this.json(`sessions/${encodeURIComponent(sessionId)}`);
  }

  /** `keepalive`, since the page may be on its way out. */
  async end(sessionId: string): Promise<void> {
    const path = `sessions/${encodeURIComponent(sessionId)}/end`;
    await this.ask(path, { method: "POST", keepalive: true });
  }

  /** Something that was said, for a server that may not have heard it. */
  async handIn(sessionId: string, entry: object): Promise<void> {
    const path = `sessions/${encodeURIComponent(sessionId)}/transcript`;
    const headers = { "content-type": "application/json" };
    await this.ask(path, { method: "POST", headers, body: JSON.stringify({ entries: [entry] }) });
  }

  iceConfig(): Promise<IceConfigResponse> {
    return this.json("ice-config");
  }

  async sdp(key: string, offer: string): Promise<string> {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/sdp" };
    const response = await this.ask("sdp", { method: "POST", headers, body: offer });
    return response.text();
  }

  audio(key: string): Promise<AudioCallResponse> {
    return this.json("audio", { method: "POST", headers: { authorization: `Bearer ${key}` } });
  }

  tasks(signal?: AbortSignal): Promise<WorkListResponse> {
    return this.json("tasks", { signal: signal ?? null });
  }

  cancelTask(id: string): Promise<WorkResponse> {
    return this.json(`tasks/${encodeURIComponent(id)}/cancel`, { method: "POST" });
  }

  async answerTask(id: string, questionId: string, answer: string): Promise<void> {
    const body = { answer, question_id: questionId };
    await this.ask(`tasks/${encodeURIComponent(id)}/answer`, posted(body));
  }

  /** What came due and was not told yet. */
  reminders(signal?: AbortSignal): Promise<ReminderListResponse> {
    return this.json("api/v1/reminders?waiting=true", { signal: signal ?? null });
  }

  async seenReminder(id: string): Promise<void> {
    await this.ask(`api/v1/reminders/${encodeURIComponent(id)}/seen`, { method: "POST" });
  }

  approvals(signal?: AbortSignal): Promise<ApprovalListResponse> {
    return this.json("approvals", { signal: signal ?? null });
  }

  async decide(id: string, granted: boolean, reach: Reach = "once"): Promise<void> {
    const further = { once: {}, session: { for_session: true }, always: { always: true } }[reach];
    await this.ask(`approvals/${encodeURIComponent(id)}`, posted({ granted, ...further }));
  }

  conversations(offset: number, limit: number): Promise<ConversationListResponse> {
    return this.json(`api/v1/conversations?limit=${limit}&offset=${offset}`);
  }

  search(words: string, limit: number): Promise<SearchResponse> {
    return this.json(`api/v1/conversations/search?q=${encodeURIComponent(words)}&limit=${limit}`);
  }

  renameConversation(id: string, title: string): Promise<ConversationInfo> {
    const init = { ...posted({ title }), method: "PATCH" };
    return this.json(`api/v1/conversations/${encodeURIComponent(id)}`, init);
  }

  /** The last ones, or the last ones before one of them. */
  messages(conversationId: string, before: string | null): Promise<MessageListResponse> {
    const page = before === null ? "" : `?before=${encodeURIComponent(before)}`;
    return this.json(`api/v1/conversations/${encodeURIComponent(conversationId)}/messages${page}`);
  }

  /** `once` is the message's own name: sent again under it, it is the same message. */
  sendMessage(
    id: string,
    content: string,
    once: string,
    waitSeconds: number = ANSWER_S,
  ): Promise<SendMessageResponse> {
    const path = `api/v1/conversations/${encodeURIComponent(id)}/messages`;
    const patience = AbortSignal.timeout(1000 * waitSeconds + PATIENCE_MS);
    const asked = posted({ content, wait_seconds: waitSeconds }, { "idempotency-key": once });
    return this.json(path, asked, patience);
  }

  async deleteConversation(conversationId: string): Promise<void> {
    await this.ask(`api/v1/conversations/${encodeURIComponent(conversationId)}`, { method: "DELETE" });
  }

  intents(conversationId: string): Promise<IntentListResponse> {
    const id = encodeURIComponent(conversationId);
    return this.json(`api/v1/intents?limit=200&conversation_id=${id}`);
  }

  /** The stream of all the user's sessions; it lasts as long as `patience`. */
  events(subscribe: string, signal: AbortSignal, patience: AbortSignal): Promise<Response> {
    const path = `events?subscribe=${encodeURIComponent(subscribe)}`;
    return this.ask(path, { signal, headers: { accept: "text/event-stream" } }, [], patience);
  }

  /** Any other door that is read. */
  get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
    return this.json(path, { signal: signal ?? null });
  }

  /** A door that answers with a file, under the name that the server gave it. */
  async file(path: string): Promise<File> {
    const response = await this.ask(path, {});
    const named = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "")?.[1];
    const type = response.headers.get("content-type") ?? "application/octet-stream";
    return new File([await response.blob()], named ?? "file", { type });
  }

  /** Any other door that changes something; null where it answers with nothing. */
  async change<Answer>(method: "POST" | "PATCH" | "PUT" | "DELETE", path: string, body?: object): Promise<Answer | null> {
    const response = await this.ask(path, { ...(body ? posted(body) : {}), method }, []);
    return response.status === 204 ? null : ((await response.json()) as Answer);
  }

  private async json<Answer>(
    path: string,
    init: RequestInit = {},
    patience?: AbortSignal,
  ): Promise<Answer> {
    const response = await this.ask(path, init, [], patience);
    return (await response.json()) as Answer;
  }

  private async ask(
    path: string,
    init: RequestInit,
    fine: number[] = [],
    patience: AbortSignal = AbortSignal.timeout(PATIENCE_MS),
  ): Promise<Response> {
    try {
      return await this.asked(path, init, fine, patience, false);
    } catch (fault) {
      const own = this.tokens && !this.token && !new Headers(init.headers).has("authorization");
      if (!own || !(fault instanceof ApiError) || fault.status !== 401) throw fault;
      return this.asked(path, init, fine, patience, true);
    }
  }

  private async asked(
    path: string,
    init: RequestInit,
    fine: number[],
    patience: AbortSignal,
    refused: boolean,
  ): Promise<Response> {
    const headers = new Headers(init.headers);
    if (!headers.has("authorization")) {
      const token = this.token ?? (await this.tokens?.current(refused)) ?? null;
      if (token) headers.set("authorization", `Bearer ${token}`);
    }
    const signal = init.signal ? AbortSignal.any([init.signal, patience]) : patience;
    let response: Response;
    try {
      response = await this.send(this.url(path), { ...init, headers, signal, cache: "no-store" });
    } catch (fault) {
      if (init.signal?.aborted) throw fault;
      throw new ApiError(0, "unreachable", "The server does not answer.");
    }
    const date = Date.parse(response.headers.get("date") ?? "");
    if (Number.isFinite(date)) this.skewMs = date + HALF_A_SECOND - Date.now();
    if (response.ok || fine.includes(response.status)) return response;
    throw await refusal(response, this.wording);
  }
}

function posted(body: object, more: Record<string, string> = {}): RequestInit {
  const headers = { "content-type": "application/json", ...more };
  return { method: "POST", headers, body: JSON.stringify(body) };
}

async function refusal(response: Response, wording: Wording | null): Promise<ApiError> {
  const body = (await response.json().catch(() => null)) as Partial<ErrorResponse> | null;
  const error = body?.error;
  const exact = error?.details?.["retry_after_ms"];
  const header = response.headers.get("retry-after");
  const wait = typeof exact === "number" ? exact : header ? 1000 * Number(header) : Number.NaN;
  const trouble: Trouble = {
    code: error?.code ?? "unknown",
    message: error?.message ?? `The server answered ${response.status}.`,
    retryAfterMs: Number.isFinite(wait) ? wait : null,
  };
  const message = wording?.(trouble) ?? trouble.message;
  return new ApiError(response.status, trouble.code, message, trouble.retryAfterMs, wording !== null);
}
