/** Where the user is on the page: in the address behind `#`, so that Back goes back. */

import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";

export const PLACES = ["talk", "history", "work", "settings"] as const;
export type Place = (typeof PLACES)[number];

const places = createStore<Place>(() => read());

function read(): Place {
  const name = globalThis.location?.hash.slice(1);
  return PLACES.find((place) => place === name) ?? "talk";
}

globalThis.addEventListener?.("hashchange", () => places.setState(read(), true));

export function usePlace(): Place {
  return useStore(places);
}

export function go(place: Place): void {
  if (place === places.getState()) return;
  const { pathname, search } = location;
  history.pushState(null, "", place === "talk" ? pathname + search : `#${place}`);
  places.setState(place, true);
}
