/** Which microphone and which loudspeaker: kept in this browser, used by the next call. */

import type { Devices } from "@vivavoce/client";
import { useEffect, useState } from "react";

const KEPT = "vivavoce.devices";

export function devices(): Devices {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? "{}") as Record<string, unknown>;
    const named = (name: keyof Devices) => (typeof kept[name] === "string" ? { [name]: kept[name] } : {});
    return { ...named("microphone"), ...named("speaker") };
  } catch {
    return {};
  }
}

/** With the one that was chosen; "" is the usual one. */
export function chosen(before: Devices, what: keyof Devices, id: string): Devices {
  const { [what]: _left, ...others } = before;
  return id ? { ...others, [what]: id } : others;
}

export function keepDevices(wanted: Devices): void {
  try {
    localStorage.setItem(KEPT, JSON.stringify(wanted));
  } catch {
    // A private window may have no storage: then it is so as long as the page lives.
  }
}

export interface Found {
  readonly microphones: readonly MediaDeviceInfo[];
  readonly speakers: readonly MediaDeviceInfo[];
  /** Browsers tell no names before the microphone was allowed. */
  readonly named: boolean;
}

const NONE: Found = { microphones: [], speakers: [], named: false };

export function sorted(all: readonly MediaDeviceInfo[]): Found {
  // "default" and "communications" stand for one that is in the list anyway.
  const real = all.filter(({ deviceId }) => !["", "default", "communications"].includes(deviceId));
  return {
    microphones: real.filter(({ kind }) => kind === "audioinput"),
    speakers: real.filter(({ kind }) => kind === "audiooutput"),
    named: all.some(({ label }) => label !== ""),
  };
}

/** What is plugged in, as it changes; looked at again whenever `again` is another one. */
export function useFound(again: unknown): Found {
  const [found, setFound] = useState(NONE);
  useEffect(() => {
    const media = navigator.mediaDevices;
    if (!media?.enumerateDevices) return undefined;
    let gone = false;
    const look = () => {
      void media.enumerateDevices().then(
        (all) => !gone && setFound(sorted(all)),
        () => undefined,
      );
    };
    look();
    media.addEventListener("devicechange", look);
    return () => {
      gone = true;
      media.removeEventListener("devicechange", look);
    };
  }, [again]);
  return found;
}
