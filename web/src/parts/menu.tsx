/** What else can be done with something. */

import * as Radix from "@radix-ui/react-dropdown-menu";
import { type ComponentProps, type ReactNode, useState } from "react";
import { cx } from "./cx";

interface Props {
  /** One button. */
  readonly trigger: ReactNode;
  readonly children: ReactNode;
}

export function Menu({ trigger, children }: Props) {
  // In the part of the page where its button is, so that a screen reader knows where one is.
  const [part, setPart] = useState<Element | null>(null);
  return (
    <Radix.Root modal={false}>
      <span className="contents" ref={(at) => setPart(at?.closest("main, aside") ?? null)}>
        <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      </span>
      <Radix.Portal container={part as HTMLElement | null}>
        <Radix.Content
          align="end"
          sideOffset={6}
          collisionPadding={8}
          className="z-50 min-w-44 animate-fade rounded-card border border-line bg-card p-1.5 shadow-lifted"
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

export function MenuItem({ className, ...rest }: ComponentProps<typeof Radix.Item>) {
  return (
    <Radix.Item
      className={cx(
        "flex min-h-9 cursor-default items-center gap-2.5 rounded-small px-2.5 text-small outline-none select-none data-[disabled]:opacity-50 data-[highlighted]:bg-well [&_svg]:size-4 [&_svg]:text-quiet",
        className,
      )}
      {...rest}
    />
  );
}
