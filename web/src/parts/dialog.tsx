/** A dialog in the middle, or at the side (`Sheet`): it keeps the focus and gives it back. */

import * as Radix from "@radix-ui/react-dialog";
import { useLingui } from "@lingui/react";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "./button";
import { cx } from "./cx";

interface Props {
  readonly open: boolean;
  readonly close: () => void;
  readonly title: string;
  /** What a screen reader says after the title. */
  readonly about?: string;
  readonly side?: boolean;
  readonly children: ReactNode;
}

export function Dialog({ open, close, title, about, side = false, children }: Props) {
  const { i18n } = useLingui();
  const place = side
    ? "inset-y-0 right-0 w-full max-w-md animate-slide border-l"
    : "inset-0 m-auto h-fit max-h-[min(46rem,calc(100dvh-2rem))] w-[min(36rem,calc(100vw-2rem))] animate-rise rounded-card border";
  return (
    <Radix.Root open={open} onOpenChange={(on) => !on && close()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 animate-fade bg-veil" />
        <Radix.Content
          className={cx("fixed z-50 flex flex-col border-line bg-paper shadow-lifted outline-none", place)}
          {...(!about && { "aria-describedby": undefined })}
        >
          <header className="flex items-center justify-between gap-4 px-6 pt-5 pb-3">
            <Radix.Title className="text-title font-semibold">{title}</Radix.Title>
            <Radix.Close asChild>
              <Button tone="quiet" size="small icon" aria-label={i18n._("Close")}>
                <X aria-hidden="true" />
              </Button>
            </Radix.Close>
          </header>
          {about && <Radix.Description className="px-6 pb-3 text-small text-quiet">{about}</Radix.Description>}
          <div className="min-h-0 flex-1 overflow-y-auto px-6 pb-6">{children}</div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
