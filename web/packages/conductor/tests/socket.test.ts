// Node's socket, byte by byte; the whole client over it is in tests/clients.
import { afterEach, expect, test } from "vitest";

import type { Line } from "../src/line.js";
import { dialNode } from "../src/socket.js";
import { until } from "./play.js";
import { Far } from "./server.js";

class Ear {
  line: Line | null = null;
  readonly heard: (string | null)[] = [];
  refusal: [string, number | null] | null = null;
  end: [number, string] | null = null;
  opened(line: Line): void {
    this.line = line;
  }
  refused(reason: string, status: number | null): void {
    this.refusal = [reason, status];
  }
  received(message: string | null): void {
    this.heard.push(message);
  }
  broke(code: number, reason: string): void {
    this.end = [code, reason];
  }
}

const open: Far[] = [];
afterEach(() => open.splice(0).forEach((far) => far.close()));

async function refusing(answer: Parameters<typeof Far.listening>[0]): Promise<Ear> {
  const far = await Far.listening(answer);
  open.push(far);
  const ear = new Ear();
  dialNode(far.url, {}, ear);
  await until(() => ear.refusal !== null);
  return ear;
}

async function connected(headers: Record<string, string> = {}): Promise<[Far, Ear]> {
  const far = await Far.listening();
  open.push(far);
  const ear = new Ear();
  dialNode(far.url, headers, ear);
  await until(() => ear.line !== null);
  return [far, ear];
}

test("it asks for a WebSocket, with the headers it was given", async () => {
  const [far] = await connected({ Authorization: "Bearer k" });
  const { headers, url } = far.asked[0]!;
  expect(url).toBe("/conductor");
  expect(headers).toMatchObject({
    authorization: "Bearer k",
    upgrade: "websocket",
    "sec-websocket-version": "13",
  });
});

test("what it sends is masked, in each of the three lengths", async () => {
  const [far, ear] = await connected();
  const texts = ["", "é", "a".repeat(125), "b".repeat(126), "c".repeat(65_535), "d".repeat(65_536)];
  for (const text of texts) ear.line!.send(text);
  await until(() => far.frames.length === texts.length);
  expect(far.frames.map(({ payload }) => payload.toString())).toEqual(texts);
  expect(far.frames.every(({ masked, opcode }) => masked && opcode === 1)).toBe(true);
});

test("a message arrives however its bytes are cut", async () => {
  const [far, ear] = await connected();
  const texts = ["hé", "a".repeat(300), "b".repeat(70_000)];
  const bytes = Buffer.concat([
    ...texts.map((text) => Far.frame(1, text)),
    Far.frame(1, Buffer.from([0xc3]), false), // half of an é
    Far.frame(9, "are you there"), // between two parts
    Far.frame(0, Buffer.from([0xa9]), false),
    Far.frame(0, ""),
  ]);
  for (let at = 0; at < 400; at += 1) {
    far.stream!.write(bytes.subarray(at, at + 1));
    if (at % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  far.stream!.write(bytes.subarray(400));
  await until(() => ear.heard.length === 4);
  expect(ear.heard).toEqual([...texts, "é"]);
  await until(() => far.frames.length === 1);
  expect(far.frames[0]).toMatchObject({ opcode: 10, payload: Buffer.from("are you there") });
});

test("what comes with the server's yes is not lost", async () => {
  const far = await Far.listening((asked) => Far.yes(asked) + "\x81\x02hi");
  open.push(far);
  const ear = new Ear();
  dialNode(far.url, {}, ear);
  await until(() => ear.heard.length === 1);
  expect(ear.heard).toEqual(["hi"]);
});

test("bytes are no text", async () => {
  const [far, ear] = await connected();
  far.stream!.write(Far.frame(2, "{}"));
  await until(() => ear.heard.length === 1);
  expect(ear.heard).toEqual([null]);
});

test("a close is answered, and told with its reason", async () => {
  const [far, ear] = await connected();
  far.stream!.write(Far.frame(8, Buffer.concat([Buffer.from([0x11, 0x39]), Buffer.from("newer")])));
  await until(() => ear.end !== null && far.frames.length === 1);
  expect(ear.end).toEqual([4409, "newer"]);
  expect(far.frames[0]).toMatchObject({ opcode: 8, payload: Buffer.from([0x11, 0x39]) });
  expect(() => ear.line!.send("more")).toThrow("closed");
});

test("its own close is sent once, and the answer ends the line", async () => {
  const [far, ear] = await connected();
  ear.line!.close(1000);
  ear.line!.close(1000);
  await until(() => far.frames.length === 1);
  expect(far.frames[0]).toMatchObject({ opcode: 8, payload: Buffer.from([0x03, 0xe8]) });
  far.stream!.write(Far.frame(8, Buffer.from([0x03, 0xe8])));
  await until(() => ear.end !== null);
  expect(ear.end).toEqual([1000, ""]);
});

test("a line that is cut is 1006", async () => {
  const [far, ear] = await connected();
  far.stream!.destroy();
  await until(() => ear.end !== null);
  expect(ear.end).toEqual([1006, ""]);
});

test.each([
  ["a mask", Buffer.from([0x81, 0x80, 0, 0, 0, 0]), 1002],
  ["an extension", Buffer.from([0xc1, 0x00]), 1002],
  ["an unknown kind of frame", Far.frame(3, ""), 1002],
  ["a part of nothing", Far.frame(0, "a"), 1002],
  ["a message inside another", Buffer.concat([Far.frame(1, "a", false), Far.frame(1, "b")]), 1002],
  ["a ping in parts", Far.frame(9, "", false), 1002],
  ["a ping that is too long", Far.frame(9, "a".repeat(126)), 1002],
  ["no UTF-8", Far.frame(1, Buffer.from([0xff])), 1007],
  ["too large", Buffer.from([0x81, 127, 0, 0, 0, 0, 1, 0, 0, 0]), 1009],
  ["far too large", Buffer.from([0x81, 127, 0xff, 0, 0, 0, 1, 0, 0, 0]), 1009],
])("%s ends the line with %s", async (_name, bytes, code) => {
  const [far, ear] = await connected();
  far.stream!.write(bytes);
  await until(() => ear.end !== null && far.frames.length === 1);
  expect(ear.end![0]).toBe(code);
  expect(far.frames[0]!.payload.readUInt16BE(0)).toBe(code);
});

test("a server that refuses is told with its status", async () => {
  const { refusal } = await refusing(() => "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
  expect(refusal).toEqual(["The server refused with HTTP 401.", 401]);
});

test("a server that speaks something else is no server", async () => {
  const wrong = (asked: Parameters<typeof Far.yes>[0]): string =>
    Far.yes(asked).replace(/Accept: .{4}/, "Accept: AAAA");
  expect((await refusing(wrong)).refusal).toEqual(["The server speaks no WebSocket.", null]);
});

test("where nobody listens there is no connection", async () => {
  const far = await Far.listening();
  far.close();
  const ear = new Ear();
  dialNode(far.url, {}, ear);
  await until(() => ear.refusal !== null);
  expect(ear.refusal![0]).toContain("ECONNREFUSED");
});

test("a connection that is given up before it is there is refused, once", async () => {
  const far = await Far.listening(() => "");
  open.push(far);
  const ear = new Ear();
  const giveUp = dialNode(far.url, {}, ear);
  await until(() => far.asked.length === 1);
  giveUp();
  giveUp();
  await until(() => ear.refusal !== null);
  expect(ear.refusal).toEqual(["The app has left.", null]);
});
