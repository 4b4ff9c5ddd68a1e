/** The one client of the page, and what it does while somebody looks. */

import { ApiError, busy, forcedTransport, Vivavoce } from "@vivavoce/client";
import { ring, typed } from "../login/keys";
import { arrived } from "../login/provider";
import { openingOf } from "../reach/opening";
import { devices } from "../settings/devices";
import { wording } from "../words/faults";

const ASKING_MS = 20_000;

export function makeClient(): Vivavoce {
  const login = arrived(); // first: it puts the address right
  if (login) ring.arrive(login);
  const transport = forcedTransport(location.search);
  const client = new Vivavoce({
    url: document.baseURI,
    transport,
    getToken: ring.token,
    devices: devices(),
    wording,
  });
  keepWhatIsRight(client);
  askWhoIsThere(client);
  client.watch();
  // A notice that opened the page comes before what was; else the server may not be there yet, or
  // asks who we are.
  if (openingOf(location.search) === null) void client.recall().catch(() => undefined);

  // A browser has few connections to one server: those that nobody looks at are given back.
  const look = () => {
    if (document.visibilityState === "visible") client.work.open();
    else client.work.close();
  };
  document.addEventListener("visibilitychange", look);
  look();
  return client;
}

/** A token that the server took is the tab's from then on. */
function keepWhatIsRight(client: Vivavoce): void {
  client.store.subscribe((now, before) => {
    const { token } = client.api;
    if (before.stage !== "locked" || now.stage === "locked" || token === null) return;
    if (token !== ring.store.getState().keys?.token) ring.keep(typed(token));
    client.api.token = null; // `ring` has it, and renews it
  });
}

/** Whoever is nobody to this server logs in before anything else: at the beginning, and when what
 * they had is good no more. A talk that is on has a key of its own. */
function askWhoIsThere(client: Vivavoce): void {
  const lock = () => !busy(client.state) && client.lock();
  client.store.subscribe((now, before) => {
    if (before.stage !== "loading" || now.stage !== "idle") return;
    client.api.check(AbortSignal.timeout(ASKING_MS)).catch((fault: unknown) => {
      if (fault instanceof ApiError && fault.status === 401) lock();
    });
  });
  ring.store.subscribe((now, before) => {
    if (before.keys !== null && now.keys === null) lock();
  });
}
