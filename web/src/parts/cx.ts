import { type ClassValue, clsx } from "clsx";
import { extendTailwindMerge } from "tailwind-merge";

const merge = extendTailwindMerge({
  extend: { theme: { text: ["tiny", "small", "body", "lead", "title", "display"] } },
});

/** Class names; of two that set the same thing the later one holds. */
export function cx(...names: ClassValue[]): string {
  return merge(clsx(names));
}
