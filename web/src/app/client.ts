/** The one client of the page, and what it does while somebody looks. */

import { forcedTransport, Vivavoce } from "@vivavoce/client";
import { openingOf } from "../reach/opening";

export function makeClient(): Vivavoce {
  const transport = forcedTransport(location.search);
  const client = new Vivavoce({ url: document.baseURI, transport });
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
