/** The name of a button without words, and its key. */

import * as Radix from "@radix-ui/react-tooltip";
import type { ReactNode } from "react";

export const TooltipProvider = Radix.Provider;

interface Props {
  readonly words: string;
  readonly shortcut?: string;
  /** One button. */
  readonly children: ReactNode;
}

export function Tooltip({ words, shortcut, children }: Props) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          sideOffset={6}
          collisionPadding={8}
          className="z-50 flex animate-fade items-center gap-2 rounded-small bg-ink px-2.5 py-1.5 text-tiny text-paper"
        >
          {words}
          {shortcut && <kbd className="font-mono opacity-75">{shortcut}</kbd>}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
