/** The sound over a WebSocket, in the Realtime API's own events: for where WebRTC finds no way.
 *
 * Here the page is the one who knows what was heard, so it is the one to say so: four times a second
 * while it plays, for whatever may cut it off; and when somebody speaks over the assistant it stops
 * at once and tells the engine where. */

import { fromBase64, toBase64 } from "../audio/base64.js";
import { Ducking } from "../audio/ducking.js";
import { Heard } from "../audio/heard.js";
import type { Microphone } from "../audio/microphone.js";
import { capture } from "../audio/capture.js";
import { Speaker } from "../audio/speaker.js";
import { type Api, ApiError } from "../wire/api.js";
import type { AudioCallResponse } from "../wire/types.js";
import { Outbox } from "./outbox.js";
import { type Call, deferred, NoWay, type Transport, within } from "./transport.js";

const OPEN_MS = 5000;
const PIECES_A_SECOND = 25;
const STALLED_MS = 8000; // nothing gets through: a network that is gone closes no socket
const SILENT_MS = 8000; // the server says nothing: it may have nothing to say, or be out of reach
const REPORT_MS = 250; // between two words on how far an answer is: about a word of it
const WORKLETS = "worklets.js";
const DONE = 1000; // a close that is meant: somebody hung up

export class WebSocketTransport implements Transport {
  constructor(private readonly api: Api) {}

  async connect(
    key: string,
    microphone: Microphone,
    signal: AbortSignal,
    sounding: (on: boolean) => void,
  ): Promise<Call> {
    const grant = await this.grant(key);
    const socket = await this.open(grant, signal);
    // Of the server, since a policy for scripts that lets a page talk to it can name it, too.
    const worklets = this.api.url(WORKLETS);
    const closed = deferred();
    socket.addEventListener("close", () => closed.resolve());
    const inRate = grant.input_format.rate;
    const outRate = grant.output_format.rate;
    const heard = new Heard(outRate, sounding);
    const parts: (() => void)[] = [() => socket.close(DONE)];
    // Once: parts are taken out as they are closed. The other side may take a while to agree.
    const close = () => {
      for (const part of parts.splice(0)) part();
      closed.resolve();
    };
    void closed.promise.then(close);
    // What is said while the player is being made is played once it is there.
    const early: ServerEvent[] = [];
    let deliver = (event: ServerEvent): void => {
      early.push(event);
    };
    socket.addEventListener("message", ({ data }) => deliver(JSON.parse(String(data))));
    let voice: Pick<Call, "level" | "interrupt">;
    try {
      const played = (item: string, samples: number) => heard.played(item, samples);
      const speaker = await Speaker.open(microphone.context, outRate, played, worklets);
      parts.push(() => {
        speaker.close();
        heard.interrupt();
      });
      const reached = () => this.api.reached();
      const line = new Line(socket, speaker, heard, inRate, () => closed.resolve(), reached);
      parts.unshift(() => line.hangUp());
      deliver = (event) => line.received(event);
      voice = { level: speaker.level, interrupt: () => line.stop() };
      early.forEach(deliver);
      const said = (pcm: Int16Array, level: number) => line.said(pcm, level);
      parts.push(await capture(microphone, inRate, said, worklets));
    } catch (fault) {
      close();
      throw fault;
    }
    if (parts.length === 0) throw new NoWay("The WebSocket for the sound was closed at once.", true);
    return { kind: "websocket", closed: closed.promise, ...voice, close };
  }

  private async grant(key: string): Promise<AudioCallResponse> {
    try {
      return await this.api.audio(key);
    } catch (fault) {
      // 409: this provider has no such calls.
      const refused = fault instanceof ApiError && (fault.status === 409 || fault.status >= 500);
      throw refused ? new NoWay(fault.message, true) : fault;
    }
  }

  private async open(grant: AudioCallResponse, signal: AbortSignal): Promise<WebSocket> {
    const url = this.api.url(grant.url);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url, grant.protocols);
    const opened = deferred();
    socket.addEventListener("open", () => opened.resolve());
    socket.addEventListener("close", () =>
      opened.reject(new NoWay("The WebSocket for the sound was refused.", true)),
    );
    try {
      const message = "The WebSocket for the sound did not open in time.";
      await within(opened.promise, { ms: OPEN_MS, message, signal });
      return socket;
    } catch (fault) {
      socket.close();
      throw fault;
    }
  }
}

interface ServerEvent {
  readonly type?: string;
  readonly item_id?: string;
  readonly delta?: string;
  readonly session?: {
    readonly audio?: {
      readonly input?: { readonly turn_detection?: { readonly interrupt_response?: boolean } | null };
    };
  };
}

/** What goes in and out of one open socket. */
class Line {
  readonly #ducking = new Ducking();
  readonly #outbox: Outbox;
  #interruptible = true;
  #reportedAt = 0;
  #drainedAt = performance.now();
  #answeredAt = performance.now();

  constructor(
    private readonly socket: WebSocket,
    private readonly speaker: Speaker,
    private readonly heard: Heard,
    inRate: number,
    private readonly lost: () => void,
    /** Does the server answer at all? */
    private readonly reached: () => Promise<boolean>,
  ) {
    const base64ASecond = (inRate * 2 * 4) / 3;
    this.#outbox = new Outbox(socket, base64ASecond, PIECES_A_SECOND);
  }

  said(pcm: Int16Array, level: number): void {
    if (this.socket.readyState !== WebSocket.OPEN) return;
    const now = performance.now();
    if (this.socket.bufferedAmount === 0) this.#drainedAt = now;
    if (now - this.#drainedAt > STALLED_MS) return this.lost();
    if (now - this.#answeredAt > SILENT_MS) this.#look(now);
    this.#outbox.push(
      JSON.stringify({ type: "input_audio_buffer.append", audio: toBase64(pcm) }),
    );
    if (now - this.#reportedAt >= REPORT_MS) this.report(now);
    this.speaker.duck(this.#ducking.next(level, this.heard.playing, performance.now()));
  }

  received(event: ServerEvent): void {
    this.#answeredAt = performance.now();
    switch (event.type) {
      case "response.output_audio.delta":
        if (event.item_id && event.delta) this.play(event.item_id, fromBase64(event.delta));
        break;
      case "response.output_audio.done":
        this.speaker.end();
        break;
      case "session.created":
      case "session.updated":
        this.#interruptible =
          event.session?.audio?.input?.turn_detection?.interrupt_response !== false;
        break;
      case "input_audio_buffer.speech_started":
        if (this.#interruptible) this.interrupt();
        break;
      case "conversation.item.truncated":
        // Somebody else on the call cut it off, and the engine knows where. What waits behind it
        // is still to be heard.
        if (event.item_id && this.heard.cutOff(event.item_id)) this.speaker.drop(event.item_id);
        break;
    }
  }

  /** What is sent may go into a long queue that leads nowhere: nothing here would tell. */
  #look(now: number): void {
    this.#answeredAt = now;
    void this.reached().then((there) => {
      if (!there) this.lost();
    });
  }

  /** How far what plays was heard. A line that may break says nothing any more when it has. */
  private report(now: number): void {
    this.#reportedAt = now;
    for (const { itemId, endMs } of this.heard.news(this.speaker.latencyMs)) {
      this.send({ type: "vivavoce.played", item_id: itemId, audio_end_ms: endMs });
    }
  }

  /** Whoever hangs up in the middle of an answer has heard it so far, and no further. */
  hangUp(): void {
    if (this.socket.readyState === WebSocket.OPEN) this.interrupt();
  }

  /** Somebody wants to hear no more of it. */
  stop(): void {
    if (this.socket.readyState !== WebSocket.OPEN) return;
    this.interrupt();
    this.send({ type: "response.cancel" });
  }

  private play(item: string, pcm: Int16Array<ArrayBuffer>): void {
    if (!this.heard.received(item, pcm.length)) return; // the tail of what was cut off
    this.speaker.play(item, pcm);
  }

  private interrupt(): void {
    const cuts = this.heard.interrupt(this.speaker.latencyMs);
    this.speaker.clear();
    for (const { itemId, endMs } of cuts) {
      this.send({
        type: "conversation.item.truncate",
        item_id: itemId,
        content_index: 0,
        audio_end_ms: endMs,
      });
    }
  }

  private send(event: object): void {
    this.socket.send(JSON.stringify(event));
  }
}
