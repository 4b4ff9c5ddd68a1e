/** A word about what was just done, at the edge, gone after a while. `toast("Copied")` from anywhere. */

import * as Radix from "@radix-ui/react-toast";
import { useLingui } from "@lingui/react";
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import { Button } from "./button";

interface Toast {
  readonly id: number;
  readonly words: string;
  readonly tone: "plain" | "bad";
  readonly action?: Action | undefined;
}

/** What can be done about it, as long as it is shown. */
export interface Action {
  readonly words: string;
  readonly run: () => void;
}

const toasts = createStore<readonly Toast[]>(() => []);
const KEPT = 3;
const SHOWN_MS = 5000;
const WITH_ACTION_MS = 10_000;
let last = 0;

export function toast(words: string, tone: Toast["tone"] = "plain", action?: Action): void {
  last += 1;
  const one = { id: last, words, tone, action };
  toasts.setState((before) => [...before, one].slice(-KEPT), true);
}

export function Toasts() {
  const { i18n } = useLingui();
  const shown = useStore(toasts);
  const gone = (id: number) => toasts.setState((all) => all.filter((one) => one.id !== id), true);
  return (
    <Radix.Provider label={i18n._("Message")} duration={SHOWN_MS}>
      {shown.map(({ id, words, tone, action }) => (
        <Radix.Root
          key={id}
          onOpenChange={(on) => !on && gone(id)}
          duration={action ? WITH_ACTION_MS : SHOWN_MS}
          className="flex animate-rise items-center justify-between gap-3 rounded-card border border-line bg-card px-4 py-3 text-small shadow-lifted data-[tone=bad]:text-bad"
          data-tone={tone}
        >
          <Radix.Description className="min-w-0 wrap-anywhere">{words}</Radix.Description>
          {action && (
            <Radix.Action asChild altText={action.words}>
              <Button tone="soft" data-testid="undo" onClick={action.run}>
                {action.words}
              </Button>
            </Radix.Action>
          )}
        </Radix.Root>
      ))}
      <Radix.Viewport
        label={i18n._("Messages ({hotkey})")}
        className="fixed inset-x-4 bottom-20 z-50 mx-auto grid max-w-sm gap-2 outline-none wide:bottom-6"
      />
    </Radix.Provider>
  );
}
