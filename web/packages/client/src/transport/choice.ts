/** Which transport to try first, and what was learnt from trying. */

import type { TransportKind } from "../session/state.js";

const EVERY: readonly TransportKind[] = ["webrtc", "websocket"];

/** `?transport=` in the page's address, for tests and for people behind odd networks. */
export function forcedTransport(search: string): TransportKind | null {
  const asked = new URLSearchParams(search).get("transport");
  return EVERY.find((kind) => kind === asked) ?? null;
}

export class Choice {
  readonly #forced: TransportKind | null;
  #dead = new Set<TransportKind>();

  constructor(forced: TransportKind | null = null) {
    this.#forced = forced;
  }

  /** WebRTC first. What found no way is not tried again while another does. */
  order(): readonly TransportKind[] {
    if (this.#forced) return [this.#forced];
    return EVERY.filter((kind) => !this.#dead.has(kind));
  }

  noWay(kind: TransportKind): void {
    this.#dead.add(kind);
    if (this.#dead.size === EVERY.length) this.#dead.clear(); // the network may have come back
  }
}
