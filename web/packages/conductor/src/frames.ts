/** The frames of a WebSocket (RFC 6455), at a client's end: read from bytes, and written. No I/O. */

export const TEXT = 1;
export const BINARY = 2;
export const CLOSE = 8;
export const PING = 9;
export const PONG = 10;

export interface Message {
  opcode: number;
  payload: Buffer;
}

/** The server does not keep to the protocol; `code` is what it is told. */
export class WrongFrame extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** Bytes in, whole messages out. */
export class Frames {
  readonly #most: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #parts: Buffer[] = [];
  #partsBytes = 0;
  #opcode = 0; // of the message whose parts are coming

  constructor(most: number) {
    this.#most = most;
  }

  /** Throws `WrongFrame`. */
  *take(bytes: Buffer): Generator<Message> {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    for (let frame = this.#frame(); frame !== null; frame = this.#frame()) {
      const message = this.#whole(frame.final, frame.opcode, frame.payload);
      if (message !== null) yield message;
    }
  }

  #frame(): { final: boolean; opcode: number; payload: Buffer } | null {
    const head = this.#peek(10);
    if (head.length < 2) return null;
    const [first, second] = [head[0]!, head[1]!];
    if ((first & 0x70) !== 0) throw new WrongFrame(1002, "an extension that nobody asked for");
    if ((second & 0x80) !== 0) throw new WrongFrame(1002, "a server masks nothing");
    const opcode = first & 0x0f;
    const final = (first & 0x80) !== 0;
    let [length, start] = [second & 0x7f, 2];
    if (opcode >= CLOSE && (length > 125 || !final)) {
      throw new WrongFrame(1002, "a control frame that is none");
    }
    if (length === 126) {
      if (head.length < 4) return null;
      [length, start] = [head.readUInt16BE(2), 4];
    } else if (length === 127) {
      if (head.length < 10) return null;
      [length, start] = [Number(head.readBigUInt64BE(2)), 10];
    }
    if (length + this.#partsBytes > this.#most) throw new WrongFrame(1009, "too large a message");
    if (this.#waitingBytes < start + length) return null;
    const whole = this.#cut(start + length);
    return { final, opcode, payload: whole.subarray(start) };
  }

  #whole(final: boolean, opcode: number, payload: Buffer): Message | null {
    if (opcode === CLOSE || opcode === PING || opcode === PONG) return { opcode, payload };
    if (opcode === TEXT || opcode === BINARY) {
      if (this.#opcode !== 0) throw new WrongFrame(1002, "a message inside another");
      this.#opcode = opcode;
    } else if (opcode !== 0 || this.#opcode === 0) {
      throw new WrongFrame(1002, "a frame of no known kind");
    }
    this.#parts.push(payload);
    this.#partsBytes += payload.length;
    if (!final) return null;
    const message = { opcode: this.#opcode, payload: Buffer.concat(this.#parts) };
    [this.#parts, this.#partsBytes, this.#opcode] = [[], 0, 0];
    return message;
  }

  #peek(bytes: number): Buffer {
    let [head] = this.#waiting;
    if (head === undefined) return Buffer.alloc(0);
    if (head.length < bytes && this.#waiting.length > 1) {
      head = Buffer.concat(this.#waiting);
      this.#waiting = [head];
    }
    return head.subarray(0, bytes);
  }

  #cut(bytes: number): Buffer {
    const all = this.#waiting.length === 1 ? this.#waiting[0]! : Buffer.concat(this.#waiting);
    this.#waitingBytes -= bytes;
    this.#waiting = this.#waitingBytes > 0 ? [all.subarray(bytes)] : [];
    return all.subarray(0, bytes);
  }
}

/** One frame, masked as a client's must be. */
export function frame(opcode: number, payload: Buffer, mask: Buffer): Buffer {
  const length = payload.length;
  const start = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const made = Buffer.allocUnsafe(start + 4 + length);
  made[0] = 0x80 | opcode;
  if (start === 2) {
    made[1] = 0x80 | length;
  } else if (start === 4) {
    made[1] = 0x80 | 126;
    made.writeUInt16BE(length, 2);
  } else {
    made[1] = 0x80 | 127;
    made.writeBigUInt64BE(BigInt(length), 2);
  }
  mask.copy(made, start);
  for (let at = 0; at < length; at += 1) {
    made[start + 4 + at] = payload[at]! ^ mask[at & 3]!;
  }
  return made;
}
