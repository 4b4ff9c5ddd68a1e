/** The one client of the page, and what it does while somebody looks. */

import { forcedTransport, Vivavoce } from "@vivavoce/client";
import { ring, typed } from "../login/keys";
import { arrived } from "../login/provider";
import { devices } from "../settings/devices";

export function makeClient(): Vivavoce {
  const login = arrived(); // first: it puts the address right
  if (login) ring.arrive(login);
  const transport = forcedTransport(location.search);
  const client = new Vivavoce({
    url: document.baseURI,
    transport,
    getToken: ring.token,
    devices: devices(),
  });
  keepWhatIsRight(client);
  client.watch();
  void client.recall().catch(() => undefined); // the server is not there yet, or asks who we are

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
