/** Something that stands by itself. */

import type { ComponentProps } from "react";
import { cx } from "./cx";

export function Card({ className, ...rest }: ComponentProps<"div">) {
  return <div className={cx("rounded-card border border-line bg-card p-4", className)} {...rest} />;
}
