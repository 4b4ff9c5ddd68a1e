/** On or off. */

import * as Radix from "@radix-ui/react-switch";
import type { ComponentProps } from "react";
import { cx } from "./cx";

export function Switch({ className, ...rest }: ComponentProps<typeof Radix.Root>) {
  return (
    <Radix.Root
      className={cx(
        "inline-flex h-6 w-10 shrink-0 items-center rounded-full border border-line bg-well p-0.5 transition-colors data-[state=checked]:border-accent data-[state=checked]:bg-accent",
        className,
      )}
      {...rest}
    >
      <Radix.Thumb className="size-4.5 rounded-full bg-quiet transition-transform data-[state=checked]:translate-x-4 data-[state=checked]:bg-on-accent" />
    </Radix.Root>
  );
}
