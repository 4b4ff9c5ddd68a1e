/** What every platform has: timers and a clock. */

import type { Platform } from "./client.js";
import type { Dialler } from "./line.js";

export function platform(dial: Dialler): Platform {
  return {
    dial,
    wait: (seconds, over) => {
      const timer = setTimeout(over, seconds * 1000);
      return () => clearTimeout(timer);
    },
    now: () => performance.now() / 1000,
  };
}
