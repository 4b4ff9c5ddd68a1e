/** Around a past conversation: which one it is and the way out above, words to write below. */

import { type FormEvent, useEffect, useId, useRef } from "react";
import type { Past } from "@vivavoce/client";

const LONGEST = 8000; // what the server takes

interface BarProps {
  past: Past;
  talking: boolean;
  leave: () => void;
}

export function PastBar({ past, talking, leave }: BarProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [past.id]);
  return (
    <div className="past">
      <h2 ref={heading} tabIndex={-1}>
        {past.name}
      </h2>
      {!talking && (
        <button type="button" className="small" data-testid="new" onClick={leave}>
          New conversation
        </button>
      )}
    </div>
  );
}

export function Older({ past, older }: { past: Past; older: () => void }) {
  if (!past.more) return null;
  return (
    <button type="button" className="small more" aria-disabled={past.reading} onClick={older}>
      {past.reading ? "One moment…" : "Older messages"}
    </button>
  );
}

interface WriteProps {
  past: Past;
  /** True once the server has it. */
  write: (text: string) => Promise<boolean>;
}

export function Write({ past, write }: WriteProps) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const waiting = past.sending !== null;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const element = field.current;
    const text = element?.value.trim();
    if (!element || !text || waiting) return;
    element.value = "";
    void write(text).then((there) => {
      // What was refused is not lost, unless something else was written since.
      if (!there && !element.value) element.value = text;
    });
  };
  return (
    <form className="write" data-testid="write" onSubmit={submit} aria-busy={waiting}>
      {past.problem && (
        <p className="problem" role="alert">
          {past.problem}
        </p>
      )}
      <label className="unseen" htmlFor={id}>
        Write to this conversation
      </label>
      <div className="words">
        <input
          ref={field}
          id={id}
          maxLength={LONGEST}
          autoComplete="off"
          placeholder="Write a message"
        />
        <button type="submit" aria-disabled={waiting}>
          Send
        </button>
      </div>
    </form>
  );
}
