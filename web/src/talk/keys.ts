/** The keys of a talk: hold Space to speak while muted, and a few with Alt that no word needs.
 *
 * Space belongs to whatever has the focus: to a field, and to a button that somebody went to by
 * keyboard. Only where neither is so does it open the microphone. */

import { busy, situation } from "@vivavoce/client";
import { useVivavoce } from "@vivavoce/react";
import { useEffect } from "react";

export const KEYS = { talk: "Alt+T", mute: "Alt+M", view: "Alt+V" } as const;

interface Actions {
  readonly talk: () => void;
  readonly view: () => void;
}

export function useKeys({ talk, view }: Actions): void {
  const client = useVivavoce();
  useEffect(() => {
    let held = false;
    const release = () => {
      if (!held) return;
      held = false;
      client.mute(true);
    };
    const alone: Readonly<Record<string, () => void>> = {
      KeyT: talk,
      KeyM: () => busy(client.state) && client.mute(!client.state.muted),
      KeyV: view,
    };
    const down = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      const { code, altKey, ctrlKey, metaKey, shiftKey, repeat } = event;
      if (altKey && !ctrlKey && !metaKey && !shiftKey) {
        const act = Object.hasOwn(alone, code) ? alone[code] : undefined;
        if (!act || inDialog()) return;
        event.preventDefault();
        if (!repeat) act();
        return;
      }
      if (code === "Escape" && !inDialog() && stops(client.state)) {
        event.preventDefault();
        client.interrupt();
      }
      if (code !== "Space" || altKey || ctrlKey || metaKey || taken(event.target)) return;
      const { muted } = client.state;
      if (!held && !(muted && busy(client.state))) return;
      event.preventDefault();
      if (held || repeat) return;
      held = true;
      client.mute(false);
    };
    const up = (event: KeyboardEvent) => {
      if (event.code !== "Space" || !held) return;
      event.preventDefault(); // a button with the focus would be pressed by it
      release();
    };
    addEventListener("keydown", down);
    addEventListener("keyup", up);
    addEventListener("blur", release); // let go where nobody tells of it
    return () => {
      release();
      removeEventListener("keydown", down);
      removeEventListener("keyup", up);
      removeEventListener("blur", release);
    };
  }, [client, talk, view]);
}

function stops(state: Parameters<typeof situation>[0]): boolean {
  return ["thinking", "speaking", "tool"].includes(situation(state));
}

function inDialog(): boolean {
  return document.querySelector('[role="dialog"], [role="menu"]') !== null;
}

/** Somebody writes there, or would press it. */
function taken(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement) || target === document.body) return false;
  if (target.closest('input, textarea, select, [contenteditable], [role="dialog"], [role="menu"]')) return true;
  const pressed = target.closest("button, a, summary, [role=switch]");
  return pressed !== null && pressed.matches(":focus-visible");
}
