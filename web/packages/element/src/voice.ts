/** `<vivavoce-voice>`: one button that holds a talk, what was said, and a place to write.
 *
 * A skin: what is so is in the client. It asks nobody for anything before somebody presses it. */

import {
  argumentRows,
  busy,
  type GetToken,
  intentStatus,
  type Line,
  Orb,
  orbState,
  rowsOf,
  sessionStatus,
  situation,
  type State,
  tokenFrom,
  type Told,
  type TransportKind,
  visible,
  Vivavoce,
  type Wishes,
} from "@vivavoce/client";
import { html, LitElement, nothing, svg, type TemplateResult } from "lit";
import { type Strings, stringsFor } from "./strings.js";
import { styles } from "./styles.js";

/** Each is told as the event `vivavoce-<name>`, with its news as `detail`. */
const TOLD: readonly (keyof Told)[] = [
  "situation",
  "talking",
  "message",
  "tool",
  "intent",
  "approval",
  "task",
  "notice",
  "problem",
];
const WAYS: readonly TransportKind[] = ["webrtc", "websocket"];
const HERE = import.meta.url; // a name for it, or those who bundle take what is asked of it for a file
const LONGEST = 8000; // what the server takes
const TICK_MS = 250; // while seconds are counted

const ICONS = {
  microphone: svg`<path d="M12 3a3 3 0 0 0-3 3v5a3 3 0 0 0 6 0V6a3 3 0 0 0-3-3ZM5 11a7 7 0 0 0 14 0M12 18v3" />`,
  silent: svg`<path d="M15 9.3V6a3 3 0 0 0-5.7-1.3M9 9v2a3 3 0 0 0 5 2.2M5 11a7 7 0 0 0 11.4 5.4M19 11a7 7 0 0 1-.6 2.8M12 18v3M3 3l18 18" />`,
  stop: svg`<rect x="7" y="7" width="10" height="10" rx="2" />`,
  send: svg`<path d="M12 19V5M6 11l6-6 6 6" />`,
};

export class VivavoceVoice extends LitElement {
  static override styles = styles;
  static override properties = {
    url: {},
    tokenUrl: { attribute: "token-url" },
    transport: {},
    conversation: {},
    voice: {},
    task: {},
    layout: { reflect: true },
    theme: { reflect: true },
    noText: { type: Boolean, attribute: "no-text" },
    remember: { type: Boolean },
    strings: { attribute: false },
    getToken: { attribute: false },
    context: { attribute: false },
  };

  /** The server. Left out: where this script came from. */
  declare url: string;
  /** Where the page's own backend gives its user's token. */
  declare tokenUrl: string;
  /** `webrtc` or `websocket`: this way for the sound, and no other. */
  declare transport: string;
  /** A conversation to go on with. */
  declare conversation: string;
  declare voice: string;
  /** A task to begin with. */
  declare task: string;
  /** `card` or `button`. */
  declare layout: string;
  /** `light` or `dark`; left out: as the page's user has it. */
  declare theme: string;
  /** There is no place to write. */
  declare noText: boolean;
  /** When the page is loaded anew, what was talked about is there again, and a talk goes on. Then it
   * asks the server before anybody presses anything. */
  declare remember: boolean;
  /** Other words than those of the page's language. */
  declare strings: Partial<Strings>;
  /** Instead of `token-url`: the user's token. */
  declare getToken: GetToken | null;
  /** What the app knows of its user. */
  declare context: Wishes["context"] | null;

  #client: Vivavoce | null = null;
  #ends: (() => void)[] = [];
  #orb: Orb | null = null;
  #tick: ReturnType<typeof setInterval> | undefined;
  #announced = "";
  #atEnd = true;

  constructor() {
    super();
    this.url = this.tokenUrl = this.transport = this.conversation = this.voice = this.task = "";
    this.layout = this.theme = "";
    this.noText = this.remember = false;
    this.strings = {};
    this.getToken = this.context = null;
  }

  /** Made when it is first wanted; `undefined` where it is not on a page. */
  get client(): Vivavoce | undefined {
    if (!this.#client && this.isConnected) this.#make();
    return this.#client ?? undefined;
  }

  start(): void {
    const { client } = this;
    if (!client) return;
    const goesOn = client.state.conversation ?? (this.conversation || null);
    if (goesOn !== null) client.resume(goesOn, this.#wishes());
    else client.start(this.#wishes());
  }

  async stop(): Promise<void> {
    await this.#client?.stop();
  }

  mute(on = true): void {
    this.client?.mute(on);
  }

  interrupt(): void {
    this.#client?.interrupt();
  }

  async send(text: string): Promise<boolean> {
    const { client } = this;
    if (!client) return false;
    if (this.conversation && client.state.conversation === null) await client.show(this.conversation);
    return client.send(text);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#orb?.start();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#orb?.stop();
    clearInterval(this.#tick);
    // Moved to another place of the page it goes on.
    queueMicrotask(() => {
      if (!this.isConnected) this.#drop();
    });
  }

  protected override willUpdate(changed: Map<string, unknown>): void {
    const other = ["url", "tokenUrl", "getToken", "transport"].some((name) => changed.has(name));
    if (other && this.hasUpdated) this.#drop();
  }

  protected override firstUpdated(): void {
    // The server may be away, or not know us any more: then it is as if nothing had been.
    if (this.remember) void this.client?.recall().catch(() => undefined);
  }

  protected override updated(): void {
    this.#drawOrb();
    const lines = this.renderRoot.querySelector(".lines");
    if (lines && this.#atEnd) lines.scrollTop = lines.scrollHeight;
  }

  protected override render(): TemplateResult {
    const state = this.#client?.state;
    const said = this.#words();
    const talking = state !== undefined && busy(state);
    const known = state?.conversation != null || this.conversation !== "";
    const press = known ? said.resume : said.start;
    const leave = state && ["asking", "connecting"].includes(state.stage) ? said.cancel : said.hangUp;
    const label = talking ? leave : press;
    return html`<section class="card" part="card" @keydown=${this.#key}>
      ${this.#transcript(state, said)} ${this.#approvals(state, said)}
      <div class="talk" part="talk">
        <button type="button" class="orb" part="orb" aria-label=${label} @click=${this.#toggle}>
          <canvas aria-hidden="true"></canvas>
        </button>
        <p class="state" part="state" aria-hidden="true">${!talking && this.layout === "button" && !state?.problem
            ? label
            : this.#stateWords(state, said)}</p>
        ${this.#notes(state, said)}
        <div class="buttons" part="buttons">
          <button
            type="button"
            class=${talking ? "main talks end" : "main talks"}
            part="button"
            @click=${this.#toggle}
          >
            ${label}
          </button>
          ${talking ? this.#whileTalking(state, said) : nothing}
          ${!talking && state?.conversation != null
            ? html`<button type="button" class="small again" part="again" @click=${this.#again}>
                ${said.again}
              </button>`
            : nothing}
        </div>
      </div>
      ${this.noText ? nothing : this.#composer(said)}
      <p class="unseen" role="status">${this.#announce(state, said)}</p>
    </section>`;
  }

  // --- Parts -------------------------------------------------------------------------------

  #whileTalking(state: State, said: Strings): TemplateResult {
    const mute = state.muted ? said.unmute : said.mute;
    return html`<button
        type="button"
        class="small round"
        part="mute"
        aria-pressed=${state.muted}
        aria-label=${mute}
        title=${mute}
        @click=${() => this.mute(!state.muted)}
      >
        ${icon(state.muted ? ICONS.silent : ICONS.microphone)}
      </button>
      ${situation(state) === "speaking"
        ? html`<button
            type="button"
            class="small round"
            part="interrupt"
            aria-label=${said.interrupt}
            title=${said.interrupt}
            @click=${() => this.interrupt()}
          >
            ${icon(ICONS.stop)}
          </button>`
        : nothing}`;
  }

  #notes(state: State | undefined, said: Strings): TemplateResult | typeof nothing {
    if (!state) return nothing;
    const { retry, problem, notice } = state;
    if (state.stage === "reconnecting" && retry) {
      const seconds = retry.at === null ? 0 : Math.max(0, Math.ceil((retry.at - Date.now()) / 1000));
      return html`<p class="note" part="note">
          ${retry.reason} ${seconds > 0 ? said.retryIn.replace("{seconds}", String(seconds)) : nothing}
        </p>
        ${seconds > 1
          ? html`<button type="button" class="small" part="retry" @click=${() => this.#client?.retryNow()}>
              ${said.retryNow}
            </button>`
          : nothing}`;
    }
    if (problem) {
      const instead = state.stage === "refused" && !this.noText ? ` ${said.written}` : "";
      return html`<p class="note problem" part="note" role="alert">${problem}${instead}</p>`;
    }
    return notice ? html`<p class="note" part="note" role="status">${notice}</p>` : nothing;
  }

  #transcript(state: State | undefined, said: Strings): TemplateResult | typeof nothing {
    if (!state || state.lines.length === 0) return nothing;
    return html`<ol
      class="lines"
      part="transcript"
      tabindex="0"
      aria-label=${said.transcript}
      @scroll=${this.#scrolled}
    >
      ${state.lines.map((line) => this.#line(line, said))}
    </ol>`;
  }

  #line(line: Line, said: Strings): TemplateResult | typeof nothing {
    const { kind, done, failed, cut, note, intent } = line;
    const text = line.heard ?? line.text;
    if (!text && !done) return nothing;
    const who = kind === "user" ? said.you : kind === "assistant" ? said.assistant : "";
    const open = done ? "" : " open";
    return html`<li class="line ${kind}${open}" part="line ${kind}" data-role=${kind} data-done=${done}
      >${who ? html`<span class="unseen">${who}: </span>` : nothing}<span class="text"
        >${visible(text)}${cut ? "…" : nothing}</span
      >${cut ? html` <span class="remark">${said.interrupted}</span>` : nothing}${failed && kind === "user"
        ? html` <span class="remark">${said.notSent} ${note}</span>`
        : note
          ? html` <span class="remark">${visible(note)}</span>`
          : nothing}${intent
        ? html` <span class="remark">${intentStatus(intent)}</span>
            <dl class="rows">
              ${rowsOf(intent.payload).map(
                (row) => html`<dt>${row.label}</dt>
                  <dd>${row.text}</dd>`,
              )}
            </dl>`
        : nothing}</li
    >`;
  }

  #approvals(state: State | undefined, said: Strings): (TemplateResult | typeof nothing)[] {
    return (state?.work.approvals ?? []).map((one) => {
      const decide = (granted: boolean, reach?: "session") => () =>
        void this.#client?.work.decide(one.id, granted, reach);
      const rows = argumentRows(one.arguments);
      return html`<div class="approval" part="approval" role="group" aria-label=${one.question}>
        <p><strong>${visible(one.tool_name)}</strong> ${said.mayIt}</p>
        <p>${visible(one.question)}</p>
        ${rows.length > 0
          ? html`<pre>${rows.map(({ name, text }) => `${name}: ${text}`).join("\n")}</pre>`
          : nothing}
        <div class="buttons">
          <button type="button" class="main" part="allow" @click=${decide(true)}>${said.allow}</button>
          <button type="button" class="small" part="allow-session" @click=${decide(true, "session")}>
            ${said.allowSession}
          </button>
          <button type="button" class="small" part="refuse" @click=${decide(false)}>
            ${said.refuse}
          </button>
        </div>
      </div>`;
    });
  }

  #composer(said: Strings): TemplateResult {
    return html`<form part="composer" @submit=${this.#write}>
      <input
        part="input"
        autocomplete="off"
        enterkeyhint="send"
        maxlength=${LONGEST}
        aria-label=${said.write}
        placeholder=${said.write}
      />
      <button type="submit" class="small round" part="send" aria-label=${said.send} title=${said.send}>
        ${icon(ICONS.send)}
      </button>
    </form>`;
  }

  // --- Words -------------------------------------------------------------------------------

  #words(): Strings {
    const own = this.lang || this.closest("[lang]")?.getAttribute("lang") || navigator.language;
    return { ...stringsFor(own ?? "en"), ...this.strings };
  }

  #stateWords(state: State | undefined, said: Strings): string {
    if (!state) return said.situations.idle;
    if (orbState(state) === "muted") return said.muted;
    if (waits(state)) return said.waiting;
    const ended = sessionStatus(state) === "ended" && state.stage !== "writing";
    return ended ? said.ended : said.situations[situation(state)];
  }

  /** For whoever hears the page: what changed for good, and answers that are not said aloud. */
  #announce(state: State | undefined, said: Strings): string {
    if (!state) return "";
    const status = sessionStatus(state);
    const last = state.lines.at(-1);
    const asked = state.work.approvals[0];
    if (asked) this.#announced = asked.question;
    else if (state.stage === "writing" && last?.kind === "assistant" && last.done) {
      this.#announced = last.text;
    } else if (status !== "active" || situation(state) === "listening") {
      this.#announced = this.#stateWords(state, said);
    }
    return this.#announced;
  }

  // --- What is done ------------------------------------------------------------------------

  readonly #toggle = (): void => {
    if (this.#client && busy(this.#client.state)) void this.stop();
    else this.start();
  };

  readonly #again = (): void => {
    this.conversation = "";
    this.#client?.forget();
  };

  readonly #key = (event: KeyboardEvent): void => {
    if (event.key === "Escape") this.interrupt();
  };

  readonly #scrolled = (event: Event): void => {
    const lines = event.currentTarget as HTMLElement;
    this.#atEnd = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 40;
  };

  readonly #write = (event: Event): void => {
    event.preventDefault();
    const input = this.renderRoot.querySelector("input");
    const text = input?.value.trim();
    if (!input || !text) return;
    input.value = "";
    this.#atEnd = true;
    void this.send(text);
  };

  #wishes(): Wishes {
    const { voice, task, context } = this;
    return { ...(voice && { voice }), ...(task && { task }), ...(context && { context }) };
  }

  // --- The client --------------------------------------------------------------------------

  #make(): void {
    const getToken = this.getToken ?? (this.tokenUrl ? tokenFrom(this.#at(this.tokenUrl)) : null);
    const client = new Vivavoce({
      url: this.url ? this.#at(this.url) : new URL(".", HERE),
      ...(getToken && { getToken }),
      transport: WAYS.find((way) => way === this.transport) ?? null,
    });
    this.#client = client;
    this.#ends = TOLD.map((name) =>
      client.on(name, (detail) => {
        const wish = { detail, bubbles: true, composed: true };
        this.dispatchEvent(new CustomEvent(`vivavoce-${name}`, wish));
      }),
    );
    this.#ends.push(
      client.store.subscribe((state, before) => {
        // What a talk brings about is told when it is over, too.
        if (state.conversation !== null && before.conversation === null) client.work.open();
        clearInterval(this.#tick);
        if (state.retry?.at) this.#tick = setInterval(() => this.requestUpdate(), TICK_MS);
        this.requestUpdate();
      }),
    );
    this.requestUpdate();
  }

  #at(address: string): URL {
    return new URL(address, document.baseURI);
  }

  #drop(): void {
    for (const end of this.#ends.splice(0)) end();
    clearInterval(this.#tick);
    void this.#client?.dispose();
    this.#client = null;
  }

  #drawOrb(): void {
    const canvas = this.renderRoot.querySelector("canvas");
    if (this.#orb || !canvas) return;
    this.#orb = new Orb(canvas, () => ({
      state: this.#client ? orbState(this.#client.state) : "idle",
      input: this.#client?.level() ?? 0,
      output: this.#client?.voiceLevel() ?? 0,
    }));
    this.#orb.start();
  }
}

/** Nothing goes on before somebody says yes or no. */
function waits(state: State): boolean {
  return state.work.approvals.length > 0 && situation(state) === "tool";
}

function icon(shape: TemplateResult): TemplateResult {
  return html`<svg viewBox="0 0 24 24" aria-hidden="true">${shape}</svg>`;
}
