/** What every pane has: a heading, what can be done there, and what scrolls. */

import type { ReactNode, Ref } from "react";
import { cx } from "./cx";

interface Props {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly className?: string;
  readonly children: ReactNode;
  /** For tests. */
  readonly name: string;
  /** What scrolls, for who draws only what is seen. */
  readonly scroller?: Ref<HTMLDivElement>;
}

export function Pane({ title, actions, className, children, name, scroller }: Props) {
  return (
    <section aria-label={title} data-testid={name} className={cx("flex h-full min-h-0 flex-col", className)}>
      <header className="flex min-h-16 items-center justify-between gap-3 px-5">
        <h2 className="text-lead font-semibold">{title}</h2>
        {actions}
      </header>
      <div ref={scroller} className="relative min-h-0 flex-1 overflow-y-auto overscroll-contain px-5 pb-6">{children}</div>
    </section>
  );
}

/** There is nothing here yet, or it is on its way. */
export function Nothing({ children }: { children: ReactNode }) {
  return <p className="py-6 text-center text-small text-balance text-quiet">{children}</p>;
}

/** What went wrong, where it was tried. */
export function Problem({ className, children }: { className?: string; children: ReactNode }) {
  if (!children) return null;
  return (
    <p role="alert" data-testid="problem" className={cx("text-small text-bad", className)}>
      {children}
    </p>
  );
}
