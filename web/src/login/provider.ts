/** Logging in at a provider: authorization code with PKCE (RFC 7636), and what Supabase has instead.
 * `docs/login.md` has the steps. */

import type { LoginProvider } from "@vivavoce/client";
import type { Keys } from "./keys";

/** What has to be known again when the provider sends the user back. */
export interface Begun {
  readonly state: string;
  readonly verifier: string;
  readonly redirect: string;
  readonly provider: LoginProvider;
  /** Where on the page they were. */
  readonly search: string;
  readonly hash: string;
}

const BEGUN = "vivavoce.login.begun";
const RANDOM_BYTES = 32; // 43 characters, as the RFC asks for

export class LoginFailed extends Error {
  constructor(message: string) {
    super(message);
    this.name = "LoginFailed";
  }
}

/** Leads the user away; `by` is one of Supabase's providers. */
export async function leave(provider: LoginProvider, by: string | null = null): Promise<void> {
  if (!isSecureContext) throw new LoginFailed(/*i18n*/ "Logging in there needs an https address of this page.");
  const { search, hash } = location;
  const [state, verifier, redirect] = [random(), random(), pageAddress()];
  const begun: Begun = { state, verifier, redirect, provider, search, hash };
  sessionStorage.setItem(BEGUN, JSON.stringify(begun));
  location.assign(await addressFor(begun, by));
}

export async function addressFor(begun: Begun, by: string | null = null): Promise<string> {
  const { provider, redirect, state, verifier } = begun;
  const url = new URL(provider.authorization_endpoint);
  const challenge = await challengeOf(verifier);
  const wanted: Record<string, string | null> =
    provider.kind === "supabase"
      ? { provider: by, redirect_to: redirect, code_challenge: challenge, code_challenge_method: "s256" }
      : {
          response_type: "code",
          client_id: provider.client_id,
          redirect_uri: redirect,
          scope: provider.scope,
          state,
          code_challenge: challenge,
          code_challenge_method: "S256",
          audience: provider.audience,
        };
  for (const [name, value] of Object.entries(wanted)) if (value !== null) url.searchParams.set(name, value);
  return url.href;
}

/** Sent back by a provider? Then the address is as it was before, and the keys are on their way. */
export function arrived(): Promise<Keys> | null {
  const given = new URLSearchParams(location.search);
  if (!given.has("code") && !given.has("error")) return null;
  const begun = read();
  if (!begun) return null; // nobody left from here: these may be words of somebody else's
  sessionStorage.removeItem(BEGUN);
  history.replaceState(null, "", location.pathname + begun.search + begun.hash);
  return brought(begun, given);
}

export async function brought(
  begun: Begun,
  given: URLSearchParams,
  send: typeof fetch = (input, init) => fetch(input, init),
): Promise<Keys> {
  // Supabase has no state of ours; the verifier alone holds the two together.
  if (begun.provider.kind === "oidc" && given.get("state") !== begun.state) {
    throw new LoginFailed(/*i18n*/ "This login was not begun in this tab. Try again.");
  }
  const code = given.get("code");
  if (!code) throw new LoginFailed(given.get("error_description") || /*i18n*/ "You were not logged in. Try again.");
  const { provider, verifier, redirect } = begun;
  if (provider.kind === "supabase") {
    return supabase(provider, "pkce", { auth_code: code, code_verifier: verifier }, send);
  }
  const asked = { grant_type: "authorization_code", code, redirect_uri: redirect, code_verifier: verifier };
  return oidc(provider, asked, send);
}

export function renewed(
  provider: LoginProvider,
  refresh: string,
  send: typeof fetch = (input, init) => fetch(input, init),
): Promise<Keys> {
  if (provider.kind === "supabase") return supabase(provider, "refresh_token", { refresh_token: refresh }, send);
  return oidc(provider, { grant_type: "refresh_token", refresh_token: refresh }, send);
}

/** Of Supabase: without leaving the page. */
export function byPassword(
  provider: LoginProvider,
  email: string,
  password: string,
  send: typeof fetch = (input, init) => fetch(input, init),
): Promise<Keys> {
  return supabase(provider, "password", { email, password }, send);
}

/** Where the provider forgets the user too; null where it has no such place. */
export function goodbye({ provider, idToken }: Keys): string | null {
  if (!provider?.end_session_endpoint || provider.kind !== "oidc") return null;
  const url = new URL(provider.end_session_endpoint);
  url.searchParams.set("client_id", provider.client_id);
  url.searchParams.set("post_logout_redirect_uri", pageAddress());
  if (idToken) url.searchParams.set("id_token_hint", idToken);
  return url.href;
}

async function oidc(provider: LoginProvider, asked: Record<string, string>, send: typeof fetch): Promise<Keys> {
  const body = new URLSearchParams({ ...asked, client_id: provider.client_id });
  return keysOf(provider, await send(provider.token_endpoint, { method: "POST", body, cache: "no-store" }));
}

async function supabase(provider: LoginProvider, grant: string, asked: object, send: typeof fetch): Promise<Keys> {
  const url = new URL(provider.token_endpoint);
  url.searchParams.set("grant_type", grant);
  const headers = { "content-type": "application/json", apikey: provider.key ?? "" };
  const init = { method: "POST", headers, body: JSON.stringify(asked), cache: "no-store" } as const;
  return keysOf(provider, await send(url, init));
}

async function keysOf(provider: LoginProvider, response: Response): Promise<Keys> {
  const given = ((await response.json().catch(() => null)) ?? {}) as Record<string, unknown>;
  const text = (name: string) => (typeof given[name] === "string" ? given[name] : null);
  const token = text(provider.token);
  if (!response.ok || !token) {
    const why = text("error_description") ?? text("msg") ?? text("message");
    throw new LoginFailed(why ?? /*i18n*/ "You were not logged in. Try again.");
  }
  const seconds = Number(given["expires_in"]);
  const until = Number.isFinite(seconds) && seconds > 0 ? Date.now() + 1000 * seconds : null;
  return { token, until, refresh: text("refresh_token"), provider, idToken: text("id_token") };
}

function read(): Begun | null {
  try {
    return JSON.parse(sessionStorage.getItem(BEGUN) ?? "null") as Begun | null;
  } catch {
    return null;
  }
}

function pageAddress(): string {
  return new URL("./", document.baseURI).href;
}

function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)));
}

export async function challengeOf(verifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
