/** Who the user of this tab is: a token that they typed, or what a provider gave, renewed in time.
 *
 * Kept for the life of the tab, over a reload: another tab is another login. */

import type { GetToken, LoginProvider } from "@vivavoce/client";
import { createStore, type StoreApi } from "zustand/vanilla";
import { renewed } from "./provider";

export interface Keys {
  readonly token: string;
  /** Milliseconds since 1970; null: as long as the server takes it. */
  readonly until: number | null;
  readonly refresh: string | null;
  /** Where it is renewed, and where one logs out; null: it was typed. */
  readonly provider: LoginProvider | null;
  /** What the provider wants to see when one logs out. */
  readonly idToken: string | null;
}

export interface Login {
  readonly keys: Keys | null;
  readonly problem: string | null;
}

const KEPT = "vivavoce.login";
const EARLY_MS = 30_000; // it is still on its way when it arrives

export class KeyRing {
  readonly store: StoreApi<Login>;
  #arriving: Promise<void> | null = null;
  #renewing: Promise<void> | null = null;

  constructor(
    private readonly storage: () => Storage = () => sessionStorage,
    private readonly renew: typeof renewed = renewed,
    private readonly now: () => number = Date.now,
  ) {
    this.store = createStore<Login>(() => ({ keys: this.#read(), problem: null }));
  }

  /** For the client: what is good now. One that was refused is renewed, or forgotten. */
  readonly token: GetToken = async (refused = false) => {
    await this.#arriving;
    const { keys } = this.store.getState();
    if (!keys) return null;
    const old = keys.until !== null && this.now() > keys.until - EARLY_MS;
    if (refused || old) await this.#renewed(keys);
    return this.store.getState().keys?.token ?? null;
  };

  /** Comes back from a provider: every request waits for what it brings. */
  arrive(keys: Promise<Keys>): void {
    this.#arriving = keys.then(
      (found) => this.keep(found),
      (fault: unknown) => this.store.setState({ problem: wordsOf(fault) }),
    );
  }

  keep(keys: Keys): void {
    this.store.setState({ keys, problem: null });
    this.#write(JSON.stringify(keys));
  }

  forget(): void {
    this.store.setState({ keys: null });
    this.#write(null);
  }

  failed(fault: unknown): void {
    this.store.setState({ problem: wordsOf(fault) });
  }

  async #renewed(keys: Keys): Promise<void> {
    this.#renewing ??= this.#again(keys).finally(() => (this.#renewing = null));
    await this.#renewing;
  }

  async #again(keys: Keys): Promise<void> {
    if (!keys.provider || !keys.refresh) return this.forget();
    try {
      const next = await this.renew(keys.provider, keys.refresh);
      this.keep({ ...next, refresh: next.refresh ?? keys.refresh, idToken: next.idToken ?? keys.idToken });
    } catch (fault) {
      // Without a network it is not over: the old one is shown, and this is tried again.
      if (fault instanceof TypeError) return;
      this.forget();
    }
  }

  #read(): Keys | null {
    try {
      const kept = JSON.parse(this.storage().getItem(KEPT) ?? "null") as Partial<Keys> | null;
      if (typeof kept?.token !== "string") return null;
      const { token, until = null, refresh = null, provider = null, idToken = null } = kept;
      return { token, until, refresh, provider, idToken };
    } catch {
      return null;
    }
  }

  #write(text: string | null): void {
    try {
      if (text === null) this.storage().removeItem(KEPT);
      else this.storage().setItem(KEPT, text);
    } catch {
      // No storage: they are there until the page is loaded anew.
    }
  }
}

export function typed(token: string): Keys {
  return { token, until: null, refresh: null, provider: null, idToken: null };
}

function wordsOf(fault: unknown): string {
  if (fault instanceof TypeError) return /*i18n*/ "Where you log in does not answer. Try again in a moment.";
  return fault instanceof Error ? fault.message : String(fault);
}

/** The page's own. */
export const ring = new KeyRing();
