/** Waiting for a server that still loads its models, and telling how far it is. */

import { type Api, ApiError } from "../wire/api.js";
import type { ReadyResponse } from "../wire/types.js";
import type { Loading } from "./state.js";

const POLL_MS = 1000;

export type Pause = (ms: number, signal: AbortSignal) => Promise<void>;

/** Resolves once a session can be started; until then `waiting` hears what is missing. */
export async function untilReady(
  api: Pick<Api, "ready">,
  waiting: (loading: Loading) => void,
  pause: Pause,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      const answer = await api.ready(signal);
      if (answer.ready) return;
      waiting(loadingOf(answer));
    } catch (fault) {
      if (!(fault instanceof ApiError) || !fault.passing) throw fault;
      waiting({ message: fault.message, failed: false, models: [] });
    }
    await pause(POLL_MS, signal);
  }
}

/** Servers with an embedded engine list their models; others have none. */
export function loadingOf(answer: ReadyResponse): Loading {
  const engine = answer.waiting_for?.join(" ") ?? "";
  return {
    message: engine || (answer.message ?? null),
    failed: answer.failed ?? false,
    models: answer.models ?? [],
  };
}
