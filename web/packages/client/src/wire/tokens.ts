/** Who is asking: tokens that the app's own backend gives to whoever is logged in there. */

const FOR_MS = 60_000; // where nothing says how long it is good
const EARLY_MS = 15_000; // it is still on its way when it arrives
const KEY = "bk_";

/** A token, or a key (`bk_…`) that the client exchanges for one. `refused`: the server did not take
 * the last one. */
export type GetToken = (refused?: boolean) => string | null | Promise<string | null>;

interface Given {
  readonly token: string;
  readonly until: number;
}

/** A key is exchanged for a token, which is kept while it is good; whatever else is given goes as it
 * is. */
export class Tokens {
  #known: Given | null = null;
  #asking: Promise<Given | string | null> | null = null;

  constructor(
    private readonly given: GetToken,
    private readonly exchange: (key: string) => Promise<{ token: string; expires_at: string }>,
  ) {}

  async current(refused: boolean): Promise<string | null> {
    if (this.#known && !refused && Date.now() < this.#known.until) return this.#known.token;
    this.#asking ??= this.#asked(refused).finally(() => (this.#asking = null));
    const now = await this.#asking;
    if (now === null || typeof now === "string") return now;
    this.#known = now;
    return now.token;
  }

  async #asked(refused: boolean): Promise<Given | string | null> {
    const given = await this.given(refused);
    if (!given?.startsWith(KEY)) return given;
    const { token, expires_at } = await this.exchange(given);
    return { token, until: Date.parse(expires_at) - EARLY_MS };
  }
}

/** Asks this address, with the page's own cookies: it answers with a key or a token, as text or as
 * `{"key": "bk_…"}` or `{"token": "…", "expires_in": 300}`. It is asked again when the token is about
 * to end, or was refused. */
export function tokenFrom(
  url: string | URL,
  send: typeof fetch = (input, init) => fetch(input, init),
): GetToken {
  let known: Given | null = null;
  return async (refused) => {
    if (known && !refused && Date.now() < known.until) return known.token;
    const { token, until } = await asked(url, send);
    known = token.startsWith(KEY) ? null : { token, until }; // a key works once
    return token;
  };
}

async function asked(url: string | URL, send: typeof fetch): Promise<Given> {
  const response = await send(url, { credentials: "include", cache: "no-store" });
  if (!response.ok) throw new Error(`The page's own server gave no token (${response.status}).`);
  const { token, seconds } = read((await response.text()).trim());
  if (!token) throw new Error("The page's own server gave no token.");
  const forMs = seconds ?? secondsOf(token);
  return { token, until: Date.now() + (forMs === null ? FOR_MS : 1000 * forMs - EARLY_MS) };
}

function read(text: string): { token: string; seconds: number | null } {
  if (!text.startsWith("{")) return { token: text, seconds: null };
  const { key, token, access_token, expires_in } = JSON.parse(text) as Record<string, unknown>;
  const seconds = typeof expires_in === "number" ? expires_in : null;
  return { token: String(key ?? token ?? access_token ?? ""), seconds };
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
