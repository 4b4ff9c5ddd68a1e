import type { LoginProvider } from "@vivavoce/client";
import { describe, expect, test } from "vitest";
import { KeyRing, type Keys, typed } from "../src/login/keys";
import { addressFor, type Begun, brought, byPassword, challengeOf, LoginFailed, renewed } from "../src/login/provider";

const PROVIDER: LoginProvider = {
  kind: "oidc",
  issuer: "https://id.example/realms/home",
  authorization_endpoint: "https://id.example/auth?tenant=1",
  token_endpoint: "https://id.example/token",
  client_id: "page",
  scope: "openid offline_access",
  audience: null,
  token: "access_token",
  end_session_endpoint: null,
  key: null,
  providers: [],
};
const SUPABASE: LoginProvider = { ...PROVIDER, kind: "supabase", key: "sb_1", providers: ["github"] };
const BEGUN: Begun = {
  state: "s-1",
  verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", // RFC 7636, appendix B
  redirect: "https://voice.example/",
  provider: PROVIDER,
  search: "",
  hash: "#work",
};
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/** A provider that answers once, and keeps what it was asked. */
function answering(answer: object, status = 200) {
  const asked: { url: string; body: string; headers: Headers }[] = [];
  const send = async (url: URL | RequestInfo, init?: RequestInit) => {
    asked.push({ url: String(url), body: String(init?.body), headers: new Headers(init?.headers) });
    return Response.json(answer, { status });
  };
  return { asked, send: send as typeof fetch };
}

describe("At a provider", () => {
  test("one is sent away with the challenge, and the verifier stays here", async () => {
    expect(await challengeOf(BEGUN.verifier)).toBe(CHALLENGE);
    const url = new URL(await addressFor(BEGUN));
    expect(Object.fromEntries(url.searchParams)).toEqual({
      tenant: "1",
      response_type: "code",
      client_id: "page",
      redirect_uri: "https://voice.example/",
      scope: "openid offline_access",
      state: "s-1",
      code_challenge: CHALLENGE,
      code_challenge_method: "S256",
    });
    expect(url.href).not.toContain(BEGUN.verifier);
  });

  test("the code becomes a token, without a secret", async () => {
    const given = { access_token: "jwt", refresh_token: "again", id_token: "id", expires_in: 300 };
    const { asked, send } = answering(given);
    const keys = await brought(BEGUN, new URLSearchParams("code=c-1&state=s-1"), send);
    expect(keys).toMatchObject({ token: "jwt", refresh: "again", idToken: "id", provider: PROVIDER });
    expect(keys.until).toBeGreaterThan(Date.now() + 290_000);
    expect(Object.fromEntries(new URLSearchParams(asked[0]?.body))).toEqual({
      grant_type: "authorization_code",
      code: "c-1",
      redirect_uri: "https://voice.example/",
      code_verifier: BEGUN.verifier,
      client_id: "page",
    });
  });

  test("a code that nobody here asked for is not taken", async () => {
    const { asked, send } = answering({});
    const foreign = brought(BEGUN, new URLSearchParams("code=c-1&state=another"), send);
    await expect(foreign).rejects.toBeInstanceOf(LoginFailed);
    expect(asked).toEqual([]);
  });

  test("its refusal is told in its own words", async () => {
    const said = new URLSearchParams("error=access_denied&error_description=Not+today&state=s-1");
    await expect(brought(BEGUN, said)).rejects.toThrow("Not today");
    const { send } = answering({ error: "invalid_grant", error_description: "The code is old" }, 400);
    await expect(brought(BEGUN, new URLSearchParams("code=c&state=s-1"), send)).rejects.toThrow("The code is old");
  });

  test("the token that the server takes is the one that it named", async () => {
    const { send } = answering({ access_token: "opaque", id_token: "jwt" });
    const provider = { ...PROVIDER, token: "id_token" };
    const keys = await brought({ ...BEGUN, provider }, new URLSearchParams("code=c&state=s-1"), send);
    expect(keys.token).toBe("jwt");
    expect(keys.until).toBeNull();
  });

  test("Supabase has its own words for the same", async () => {
    const url = new URL(await addressFor({ ...BEGUN, provider: SUPABASE }, "github"));
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      provider: "github",
      redirect_to: "https://voice.example/",
      code_challenge: CHALLENGE,
      code_challenge_method: "s256",
    });
    const { asked, send } = answering({ access_token: "jwt", refresh_token: "r" });
    await brought({ ...BEGUN, provider: SUPABASE }, new URLSearchParams("code=c-1"), send);
    await byPassword(SUPABASE, "ada@example.org", "secret", send);
    await renewed(SUPABASE, "r", send);
    expect(asked.map(({ url: to }) => new URL(to).searchParams.get("grant_type"))).toEqual([
      "pkce",
      "password",
      "refresh_token",
    ]);
    expect(JSON.parse(asked[0]?.body ?? "")).toEqual({ auth_code: "c-1", code_verifier: BEGUN.verifier });
    expect(asked.every(({ headers }) => headers.get("apikey") === "sb_1")).toBe(true);
  });
});

/** A tab's storage. */
function storage(): Storage {
  const kept = new Map<string, string>();
  return {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  } as Storage;
}

const KEYS: Keys = { token: "old", until: 100_000, refresh: "r-1", provider: PROVIDER, idToken: "id" };

function ringAt(now: number, renew: () => Promise<Keys>) {
  const tab = storage();
  const ring = new KeyRing(() => tab, renew, () => now);
  ring.keep(KEYS);
  return { ring, tab };
}

describe("The keys of a tab", () => {
  test("are there after a reload, and gone once they are forgotten", async () => {
    const tab = storage();
    new KeyRing(() => tab).keep(typed("t"));
    const again = new KeyRing(() => tab);
    expect(await again.token()).toBe("t");
    again.forget();
    expect(await new KeyRing(() => tab).token()).toBeNull();
  });

  test("are renewed before they end, once for all who ask", async () => {
    let renewals = 0;
    const { ring } = ringAt(80_000, async () => {
      renewals += 1;
      return { ...KEYS, token: "new", until: 400_000, refresh: null, idToken: null };
    });
    expect(await Promise.all([ring.token(), ring.token()])).toEqual(["new", "new"]);
    expect(renewals).toBe(1);
    // What the answer does not name stays good.
    expect(ring.store.getState().keys).toMatchObject({ refresh: "r-1", idToken: "id" });
  });

  test("are not renewed while they are good", async () => {
    const { ring } = ringAt(10_000, () => Promise.reject(new Error("nobody should ask")));
    expect(await ring.token()).toBe("old");
  });

  test("that were refused and cannot be renewed are forgotten", async () => {
    const { ring } = ringAt(10_000, () => Promise.reject(new LoginFailed("over")));
    expect(await ring.token(true)).toBeNull();
    ring.keep(typed("t"));
    expect(await ring.token(true)).toBeNull();
  });

  test("stay where only the network is gone", async () => {
    const { ring } = ringAt(80_000, () => Promise.reject(new TypeError("Failed to fetch")));
    expect(await ring.token()).toBe("old");
    expect(ring.store.getState().keys).not.toBeNull();
  });

  test("of somebody who comes back from a provider are waited for", async () => {
    const ring = new KeyRing(() => storage());
    let bring: (keys: Keys) => void = () => undefined;
    ring.arrive(new Promise((resolve) => (bring = resolve)));
    const asked = ring.token();
    bring({ ...KEYS, until: null });
    expect(await asked).toBe("old");
  });

  test("that do not come are a problem that is told", async () => {
    const ring = new KeyRing(() => storage());
    ring.arrive(Promise.reject(new LoginFailed("Not today")));
    expect(await ring.token()).toBeNull();
    expect(ring.store.getState().problem).toBe("Not today");
  });
});
