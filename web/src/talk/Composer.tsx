/** A place to write, always: in the call that is on, to the conversation that is shown, or anew. */

import { useLingui } from "@lingui/react";
import { useVivavoce, useVivavoceState } from "@vivavoce/react";
import { ArrowUp } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useId, useRef, useState } from "react";
import { Button } from "../parts/button";
import { Tooltip } from "../parts/tooltip";

const LONGEST = 8000; // what the server takes

export function Composer() {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const waiting = useVivavoceState((state) => state.history.past?.sending != null);
  const [empty, setEmpty] = useState(true);
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const send = (event?: FormEvent) => {
    event?.preventDefault();
    const element = field.current;
    const text = element?.value.trim();
    if (!element || !text || waiting) return;
    element.value = "";
    setEmpty(true);
    void client.send(text).then((there) => {
      // What was refused is not lost, unless something else was written since.
      if (there || element.value) return;
      element.value = text;
      setEmpty(false);
    });
  };
  const key = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form className="flex items-end gap-2 p-2" data-testid="write" onSubmit={send} aria-busy={waiting}>
      <label className="sr-only" htmlFor={id}>
        {i18n._("Write a message")}
      </label>
      <textarea
        ref={field}
        id={id}
        rows={1}
        maxLength={LONGEST}
        placeholder={i18n._("Write a message")}
        enterKeyHint="send"
        autoComplete="off"
        onInput={(event) => setEmpty(event.currentTarget.value.trim() === "")}
        onKeyDown={key}
        className="field-sizing-content max-h-40 min-h-11 w-full min-w-0 resize-none bg-transparent px-3 py-2.5 text-body text-ink outline-none placeholder:text-quiet"
      />
      <Tooltip words={i18n._("Send")} shortcut="Enter">
        <Button
          type="submit"
          tone={empty ? "quiet" : "main"}
          size="icon"
          aria-label={i18n._("Send")}
          aria-disabled={waiting || empty}
        >
          <ArrowUp aria-hidden="true" />
        </Button>
      </Tooltip>
    </form>
  );
}
