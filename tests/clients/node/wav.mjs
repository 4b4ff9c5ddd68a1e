// PCM16 mono at 24 kHz as a WAV file.

import { writeFileSync } from "node:fs";

export const RATE = 24000;

export function writeWav(path, sound) {
  const head = Buffer.alloc(44);
  const bytes = Buffer.from(sound.buffer, sound.byteOffset, sound.byteLength);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + bytes.length, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(RATE, 24);
  head.writeUInt32LE(RATE * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(bytes.length, 40);
  writeFileSync(path, Buffer.concat([head, bytes]));
}
