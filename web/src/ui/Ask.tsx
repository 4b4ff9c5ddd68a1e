/** A question of a task's or a tool's: what it offers as buttons, and words of one's own. */

import { type FormEvent, useId, useRef } from "react";
import type { QuestionView } from "@vivavoce/client";

const LONGEST = 2000; // what the server takes

interface Props {
  question: Pick<QuestionView, "text" | "choices">;
  acting: boolean;
  fault: string | null;
  answer: (words: string) => void;
}

export function Ask({ question, acting, fault, answer }: Props) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const words = field.current?.value.trim();
    if (words && !acting) answer(words);
  };
  return (
    <form className="ask" onSubmit={submit} aria-busy={acting}>
      <label htmlFor={id} aria-live="polite">
        {question.text}
      </label>
      {question.choices.length > 0 && (
        <div className="choices">
          {question.choices.map((choice, at) => (
            <button
              key={`${at} ${choice}`}
              type="button"
              disabled={acting}
              onClick={() => answer(choice)}
            >
              {choice}
            </button>
          ))}
        </div>
      )}
      <div className="words">
        <input
          ref={field}
          id={id}
          maxLength={LONGEST}
          autoComplete="off"
          placeholder={question.choices.length > 0 ? "Or in your words" : "Your answer"}
        />
        <button type="submit" disabled={acting}>
          Answer
        </button>
      </div>
      {fault && (
        <p className="problem" role="alert">
          {fault}
        </p>
      )}
    </form>
  );
}
