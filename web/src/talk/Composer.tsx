/** A place to write, always: in the call that is on, to the conversation that is shown, or anew. */

import { useLingui } from "@lingui/react";
import { useVivavoce, useVivavoceState } from "@vivavoce/react";
import { ArrowUp } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useId, useRef } from "react";
import { Button } from "../parts/button";
import { TextArea } from "../parts/input";

const LONGEST = 8000; // what the server takes

export function Composer() {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const waiting = useVivavoceState((state) => state.history.past?.sending != null);
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const send = (event?: FormEvent) => {
    event?.preventDefault();
    const element = field.current;
    const text = element?.value.trim();
    if (!element || !text || waiting) return;
    element.value = "";
    void client.send(text).then((there) => {
      // What was refused is not lost, unless something else was written since.
      if (!there && !element.value) element.value = text;
    });
  };
  const key = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form className="flex items-end gap-2" data-testid="write" onSubmit={send} aria-busy={waiting}>
      <label className="sr-only" htmlFor={id}>
        {i18n._("Write a message")}
      </label>
      <TextArea
        ref={field}
        id={id}
        maxLength={LONGEST}
        placeholder={i18n._("Write a message")}
        enterKeyHint="send"
        onKeyDown={key}
      />
      <Button type="submit" tone="soft" size="icon" aria-label={i18n._("Send")} aria-disabled={waiting}>
        <ArrowUp aria-hidden="true" />
      </Button>
    </form>
  );
}
