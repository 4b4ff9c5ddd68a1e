/** The far end of a WebSocket, byte by byte: what a test says is what the client gets. */

import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

export interface FarFrame {
  opcode: number;
  masked: boolean;
  payload: Buffer;
}

export class Far {
  readonly asked: IncomingMessage[] = [];
  readonly frames: FarFrame[] = [];
  stream: Duplex | null = null;
  #bytes = Buffer.alloc(0);

  private constructor(
    readonly url: string,
    readonly close: () => void,
  ) {}

  /** `answer` is what it says to a wish for a WebSocket, where that is not yes. */
  static async listening(answer?: (asked: IncomingMessage) => string): Promise<Far> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const far = new Far(`ws://127.0.0.1:${port}/conductor`, () => {
      far.stream?.destroy();
      server.close();
    });
    server.on("upgrade", (asked: IncomingMessage, stream: Duplex) => {
      far.asked.push(asked);
      far.stream = stream;
      stream.on("error", () => {});
      stream.on("data", (bytes: Buffer) => far.#take(bytes));
      stream.write(answer?.(asked) ?? Far.yes(asked), "latin1");
    });
    return far;
  }

  static yes(asked: IncomingMessage): string {
    const key = `${asked.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash("sha1").update(key).digest("base64");
    return (
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
      `Sec-WebSocket-Accept: ${accept}\r\n\r\n`
    );
  }

  #take(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    for (;;) {
      const all = this.#bytes;
      if (all.length < 2) return;
      let [length, at] = [all[1]! & 0x7f, 2];
      if (length === 126) [length, at] = [all.readUInt16BE(2), 4];
      if (length === 127) [length, at] = [Number(all.readBigUInt64BE(2)), 10];
      if (all.length < at + 4 + length) return;
      const mask = all.subarray(at, at + 4);
      const payload = Buffer.from(all.subarray(at + 4, at + 4 + length));
      payload.forEach((byte, n) => (payload[n] = byte ^ mask[n & 3]!));
      this.frames.push({ opcode: all[0]! & 0x0f, masked: (all[1]! & 0x80) !== 0, payload });
      this.#bytes = all.subarray(at + 4 + length);
    }
  }

  /** A frame as a server writes it: without a mask. */
  static frame(opcode: number, payload: Buffer | string, final = true): Buffer {
    const body = Buffer.from(payload);
    const first = (final ? 0x80 : 0) | opcode;
    if (body.length < 126) return Buffer.concat([Buffer.from([first, body.length]), body]);
    const head = Buffer.alloc(body.length < 65_536 ? 4 : 10);
    head[0] = first;
    if (head.length === 4) {
      head[1] = 126;
      head.writeUInt16BE(body.length, 2);
    } else {
      head[1] = 127;
      head.writeBigUInt64BE(BigInt(body.length), 2);
    }
    return Buffer.concat([head, body]);
  }
}
