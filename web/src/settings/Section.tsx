/** Settings that belong together, under their name. */

import { type ReactNode, useId } from "react";

export function Section({ title, children }: { title: string; children: ReactNode }) {
  const id = useId();
  return (
    <section className="grid gap-4 border-b border-line pb-7 last:border-0 last:pb-0" aria-labelledby={id}>
      <h3 id={id} className="text-body font-semibold">
        {title}
      </h3>
      {children}
    </section>
  );
}
