/** A question of a task's or a tool's: what it offers as buttons, and words of one's own. */

import { useLingui } from "@lingui/react";
import type { QuestionView } from "@vivavoce/client";
import { type FormEvent, useId, useRef } from "react";
import { Button } from "../parts/button";
import { Input } from "../parts/input";
import { Problem } from "../parts/pane";
import { known } from "../words/known";

const LONGEST = 2000; // what the server takes

interface Props {
  question: Pick<QuestionView, "text" | "choices">;
  acting: boolean;
  fault: string | null;
  answer: (words: string) => void;
}

export function Ask({ question, acting, fault, answer }: Props) {
  const { i18n } = useLingui();
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const words = field.current?.value.trim();
    if (words && !acting) answer(words);
  };
  const offers = question.choices.length > 0;
  return (
    <form className="grid gap-2.5" onSubmit={submit} aria-busy={acting}>
      <label htmlFor={id} aria-live="polite" className="font-medium">
        {question.text}
      </label>
      {offers && (
        <div className="flex flex-wrap gap-2">
          {question.choices.map((choice, at) => (
            <Button
              key={`${at} ${choice}`}
              tone="soft"
              disabled={acting}
              onClick={() => answer(choice)}
            >
              {choice}
            </Button>
          ))}
        </div>
      )}
      <div className="flex gap-2">
        <Input
          ref={field}
          id={id}
          maxLength={LONGEST}
          placeholder={offers ? i18n._("Or in your words") : i18n._("Your answer")}
        />
        <Button type="submit" tone="main" size="body" disabled={acting}>
          {i18n._("Answer")}
        </Button>
      </div>
      <Problem>{fault && known(i18n, fault)}</Problem>
    </form>
  );
}
