/** Tokens that the app's own backend gives to whoever is logged in there. */

import type { GetToken } from "./api.js";

const FOR_MS = 60_000; // where nothing says how long it is good
const EARLY_MS = 15_000; // it is still on its way when it arrives

interface Given {
  readonly token: string;
  readonly until: number;
}

/** Asks this address, with the page's own cookies: it answers with the token, as text or as
 * `{"token": "…", "expires_in": 300}`. It is asked again when the token is about to end, or was
 * refused. */
export function tokenFrom(
  url: string | URL,
  send: typeof fetch = (input, init) => fetch(input, init),
): GetToken {
  let known: Given | null = null;
  let asking: Promise<Given> | null = null;
  return async (refused) => {
    if (known && !refused && Date.now() < known.until) return known.token;
    asking ??= asked(url, send).finally(() => (asking = null));
    known = await asking;
    return known.token;
  };
}

async function asked(url: string | URL, send: typeof fetch): Promise<Given> {
  const response = await send(url, { credentials: "include", cache: "no-store" });
  if (!response.ok) throw new Error(`No token was given (${response.status}).`);
  const text = (await response.text()).trim();
  const { token, seconds } = read(text);
  if (!token) throw new Error("No token was given.");
  const forMs = seconds ?? secondsOf(token);
  return { token, until: Date.now() + (forMs === null ? FOR_MS : 1000 * forMs - EARLY_MS) };
}

function read(text: string): { token: string; seconds: number | null } {
  if (!text.startsWith("{")) return { token: text, seconds: null };
  const { token, access_token, expires_in } = JSON.parse(text) as Record<string, unknown>;
  const seconds = typeof expires_in === "number" ? expires_in : null;
  return { token: String(token ?? access_token ?? ""), seconds };
}

/** A JWT says itself until when. */
function secondsOf(token: string): number | null {
  try {
    const payload = token.split(".")[1]?.replaceAll("-", "+").replaceAll("_", "/") ?? "";
    const { exp } = JSON.parse(atob(payload)) as { exp?: unknown };
    return typeof exp === "number" ? exp - Date.now() / 1000 : null;
  } catch {
    return null;
  }
}
