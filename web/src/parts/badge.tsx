/** A word on a coloured ground: what something is, or how it stands. */

import { cva, type VariantProps } from "class-variance-authority";
import type { ComponentProps } from "react";
import { cx } from "./cx";

const look = cva("inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-tiny font-medium whitespace-nowrap", {
  variants: {
    tone: {
      plain: "bg-well text-quiet",
      accent: "bg-tint text-accent",
      good: "bg-good-tint text-good",
      warn: "bg-warn-tint text-warn",
      bad: "bg-bad-tint text-bad",
      /** A number to be noticed. */
      count: "min-w-5 justify-center bg-live px-1.5 text-on-live tabular-nums",
    },
  },
  defaultVariants: { tone: "plain" },
});

export function Badge({ className, tone, ...rest }: ComponentProps<"span"> & VariantProps<typeof look>) {
  return <span className={cx(look({ tone }), className)} {...rest} />;
}
