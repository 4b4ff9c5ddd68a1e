/** PCM16, little-endian, as base64: what the Realtime API calls audio. */

const STEP = 0x2000; // arguments that one call may safely have

export function toBase64(pcm: Int16Array): string {
  const bytes = new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength);
  let text = "";
  for (let at = 0; at < bytes.length; at += STEP) {
    text += String.fromCharCode(...bytes.subarray(at, at + STEP));
  }
  return btoa(text);
}

/** A last odd byte, which is half a sample, is dropped. */
export function fromBase64(text: string): Int16Array<ArrayBuffer> {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length & ~1);
  for (let at = 0; at < bytes.length; at++) bytes[at] = raw.charCodeAt(at);
  return new Int16Array(bytes.buffer);
}
