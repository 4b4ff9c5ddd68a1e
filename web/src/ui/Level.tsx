/** How loud the microphone is. Drawn past React: sixty pictures a second are not its business. */

import { useEffect, useRef } from "react";
import { barOf } from "@vivavoce/client";

const FALL = 0.85; // of the bar, a picture: quick up, slow down
const TELL_EVERY_MS = 250; // for those who listen to the page instead of looking at it

export function Level({ active, read }: { active: boolean; read: () => number }) {
  const meter = useRef<HTMLDivElement>(null);
  const reader = useRef(read);
  reader.current = read;

  useEffect(() => {
    const element = meter.current;
    if (!element) return undefined;
    let frame = 0;
    let shown = 0;
    let told = 0;
    const show = (value: number) => element.style.setProperty("--level", value.toFixed(3));
    const draw = (now: number) => {
      shown = Math.max(barOf(reader.current()), shown * FALL);
      show(shown);
      if (now - told >= TELL_EVERY_MS) {
        told = now;
        element.setAttribute("aria-valuenow", String(Math.round(100 * shown)));
      }
      frame = requestAnimationFrame(draw);
    };
    if (active) frame = requestAnimationFrame(draw);
    return () => {
      cancelAnimationFrame(frame);
      show(0);
      element.setAttribute("aria-valuenow", "0");
    };
  }, [active]);

  return (
    <div
      ref={meter}
      className={active ? "level active" : "level"}
      data-testid="level"
      role="meter"
      aria-label="Microphone level"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={0}
    >
      <span className="bar" />
    </div>
  );
}
