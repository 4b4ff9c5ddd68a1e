/** Fields to write in. */

import { ChevronDown } from "lucide-react";
import { type ComponentProps, type ReactNode, useId } from "react";
import { cx } from "./cx";

const FIELD =
  "w-full min-w-0 rounded-full border border-line bg-card px-4 text-body text-ink placeholder:text-quiet aria-invalid:border-bad disabled:opacity-60";

export function Input({ className, ...rest }: ComponentProps<"input">) {
  return <input className={cx(FIELD, "min-h-11", className)} autoComplete="off" {...rest} />;
}

/** Grows with what is written in it. */
export function TextArea({ className, ...rest }: ComponentProps<"textarea">) {
  const look = "field-sizing-content max-h-40 resize-none rounded-bubble py-2.5";
  return <textarea className={cx(FIELD, look, className)} rows={1} {...rest} />;
}

/** The browser's own list: it is at home on a phone, and asks nothing of the policy. */
export function Select({ className, ...rest }: ComponentProps<"select">) {
  return (
    <span className="relative block">
      <select className={cx(FIELD, "min-h-11 appearance-none pr-10", className)} {...rest} />
      <ChevronDown
        className="pointer-events-none absolute top-3 right-3.5 size-5 text-quiet"
        aria-hidden="true"
      />
    </span>
  );
}

interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly children: (id: string, hint: string | undefined) => ReactNode;
}

/** A field with its name, and what there is to know about it. */
export function Field({ label, hint, children }: FieldProps) {
  const id = useId();
  return (
    <div className="grid gap-1.5">
      <label htmlFor={id} className="text-small font-medium">
        {label}
      </label>
      {children(id, hint ? `${id}-hint` : undefined)}
      {hint && (
        <p id={`${id}-hint`} className="text-tiny text-quiet">
          {hint}
        </p>
      )}
    </div>
  );
}
