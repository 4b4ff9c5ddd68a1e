/** A WebSocket for Node, over its own HTTP: with headers, which the platform's one (from Node 22 on)
 * has no standard way for, and with the status of a server that refuses. */

import { createHash, randomBytes } from "node:crypto";
import { request as http, type IncomingMessage } from "node:http";
import { request as https } from "node:https";
import type { Duplex } from "node:stream";

import { BINARY, CLOSE, frame, Frames, PING, PONG, TEXT, WrongFrame } from "./frames.js";
import { MOST_UNSENT, OPENING_MS, type Dialler, type Line, type Listener } from "./line.js";

const MOST_BYTES = 4 * 1024 * 1024;
const CLOSING_MS = 2_000;
/** A server that says nothing for so long is asked if it is there, and has as long to answer. */
const QUIET_MS = 20_000;
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; // RFC 6455, 1.3
const utf8 = new TextDecoder("utf-8", { fatal: true });

export const dialNode: Dialler = (address, headers, listener) => {
  const url = new URL(address);
  const secure = url.protocol === "wss:" || url.protocol === "https:";
  url.protocol = secure ? "https:" : "http:";
  const key = randomBytes(16).toString("base64");
  const asked = (secure ? https : http)(url, {
    headers: {
      ...headers,
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Key": key,
      "Sec-WebSocket-Version": "13",
    },
    agent: false,
  });
  let told = false;
  const refuse = (reason: string, status: number | null = null): void => {
    clearTimeout(late);
    if (told) return;
    told = true;
    asked.destroy();
    listener.refused(reason, status);
  };
  const late = setTimeout(() => refuse("The server did not answer in time."), OPENING_MS);
  asked.on("error", (fault) => refuse(`No connection: ${fault.message || String(fault)}`));
  asked.on("response", ({ statusCode }) => {
    refuse(`The server refused with HTTP ${statusCode}.`, statusCode ?? null);
  });
  asked.on("upgrade", (answer: IncomingMessage, stream: Duplex, first: Buffer) => {
    clearTimeout(late);
    const wanted = createHash("sha1").update(key + GUID).digest("base64");
    if (told || answer.headers["sec-websocket-accept"] !== wanted) {
      stream.destroy();
      return refuse("The server speaks no WebSocket.");
    }
    told = true;
    new NodeLine(stream, listener).begin(first);
  });
  asked.end();
  return () => refuse("The app has left.");
};

class NodeLine implements Line {
  readonly #stream: Duplex;
  readonly #listener: Listener;
  readonly #frames = new Frames(MOST_BYTES);
  readonly #quiet: NodeJS.Timeout;
  #closing = false; // have we said that we close?
  #ended = false;
  #asked = false; // a ping is out

  constructor(stream: Duplex, listener: Listener) {
    this.#stream = stream;
    this.#listener = listener;
    this.#quiet = setInterval(() => this.#ask(), QUIET_MS);
    this.#quiet.unref();
  }

  begin(first: Buffer): void {
    this.#stream.on("data", (bytes: Buffer) => this.#take(bytes));
    this.#stream.on("error", () => this.#end(1006, ""));
    this.#stream.on("close", () => this.#end(1006, ""));
    this.#stream.on("end", () => this.#stream.end());
    this.#listener.opened(this);
    if (first.length > 0) this.#take(first);
  }

  send(text: string): void {
    if (this.#closing || this.#ended) throw new Error("the connection is closed");
    if (this.#stream.writableLength > MOST_UNSENT) throw new Error("the server does not read");
    this.#write(TEXT, Buffer.from(text));
  }

  close(code: number): void {
    if (this.#closing || this.#ended) return;
    this.#closing = true;
    const told = Buffer.alloc(2);
    told.writeUInt16BE(code);
    this.#write(CLOSE, told);
    setTimeout(() => this.#stream.destroy(), CLOSING_MS).unref();
  }

  #take(bytes: Buffer): void {
    this.#asked = false;
    try {
      for (const { opcode, payload } of this.#frames.take(bytes)) {
        if (this.#ended) return;
        this.#heard(opcode, payload);
      }
    } catch (wrong) {
      if (!(wrong instanceof WrongFrame) && !(wrong instanceof TypeError)) throw wrong;
      const code = wrong instanceof WrongFrame ? wrong.code : 1007; // no UTF-8
      this.close(code);
      this.#end(code, wrong.message);
    }
  }

  #heard(opcode: number, payload: Buffer): void {
    if (opcode === TEXT) this.#listener.received(utf8.decode(payload));
    else if (opcode === BINARY) this.#listener.received(null);
    else if (opcode === PING) this.#write(PONG, payload);
    else if (opcode === CLOSE) {
      const code = payload.length >= 2 ? payload.readUInt16BE(0) : 1006; // 1005 is none
      const reason = payload.length > 2 ? utf8.decode(payload.subarray(2)) : "";
      if (!this.#closing) {
        this.#closing = true;
        this.#write(CLOSE, payload.subarray(0, 2));
      }
      this.#end(code, reason);
    }
  }

  #ask(): void {
    if (this.#asked) return this.#end(1006, "The server does not answer.");
    this.#asked = true;
    this.#write(PING, Buffer.alloc(0));
  }

  #write(opcode: number, payload: Buffer): void {
    if (!this.#stream.destroyed) this.#stream.write(frame(opcode, payload, randomBytes(4)));
  }

  #end(code: number, reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#quiet);
    this.#stream.end();
    setTimeout(() => this.#stream.destroy(), CLOSING_MS).unref();
    this.#listener.broke(code, reason);
  }
}
