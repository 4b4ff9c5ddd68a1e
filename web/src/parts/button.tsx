/** What can be pressed. `tone` says how much it matters, `size` how much room there is. */

import { Slot } from "@radix-ui/react-slot";
import { cva, type VariantProps } from "class-variance-authority";
import type { ComponentProps } from "react";
import { cx } from "./cx";

const look = cva(
  "inline-flex shrink-0 items-center justify-center gap-2 rounded-full font-medium whitespace-nowrap select-none transition-[background-color,color,transform,opacity] duration-150 ease-out active:scale-[0.98] disabled:opacity-50 aria-disabled:opacity-50 [&_svg]:shrink-0",
  {
    variants: {
      tone: {
        main: "bg-accent text-on-accent enabled:hover:bg-[color-mix(in_oklab,var(--color-accent)_88%,var(--color-ink))]",
        live: "bg-live text-on-live enabled:hover:bg-[color-mix(in_oklab,var(--color-live)_88%,var(--color-ink))]",
        plain: "border border-line bg-card text-ink enabled:hover:bg-well",
        soft: "bg-tint text-ink enabled:hover:bg-well",
        quiet: "text-quiet enabled:hover:bg-well enabled:hover:text-ink",
        bad: "bg-bad-tint text-bad enabled:hover:bg-[color-mix(in_oklab,var(--color-bad-tint)_90%,var(--color-bad))]",
      },
      size: {
        small: "min-h-9 px-3.5 text-small [&_svg]:size-4",
        body: "min-h-11 px-5 text-body [&_svg]:size-5",
        icon: "size-11 [&_svg]:size-5",
        "small icon": "size-9 [&_svg]:size-4.5",
      },
    },
    defaultVariants: { tone: "plain", size: "small" },
  },
);

interface Props extends ComponentProps<"button">, VariantProps<typeof look> {
  /** The only child is what is pressed, and looks like this. */
  readonly asChild?: boolean;
}

export function Button({ className, tone, size, asChild = false, type = "button", ...rest }: Props) {
  const Pressed = asChild ? Slot : "button";
  return <Pressed {...(!asChild && { type })} className={cx(look({ tone, size }), className)} {...rest} />;
}
