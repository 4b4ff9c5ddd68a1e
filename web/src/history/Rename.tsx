/** Another name for a conversation. */

import { useLingui } from "@lingui/react";
import { faultWords } from "@vivavoce/client";
import { type FormEvent, useRef, useState } from "react";
import { Button } from "../parts/button";
import { Dialog } from "../parts/dialog";
import { Field, Input } from "../parts/input";
import { Problem } from "../parts/pane";
import { known } from "../words/known";

const LONGEST = 200; // what the server takes

interface Props {
  readonly what: { readonly id: string; readonly name: string } | null;
  readonly close: () => void;
  readonly rename: (id: string, title: string) => Promise<void>;
}

export function Rename({ what, close, rename }: Props) {
  const { i18n } = useLingui();
  return (
    <Dialog open={what !== null} close={close} title={i18n._("Rename the conversation")}>
      {what && <Form what={what} close={close} rename={rename} />}
    </Dialog>
  );
}

function Form({ what, close, rename }: Props & { what: NonNullable<Props["what"]> }) {
  const { i18n } = useLingui();
  const field = useRef<HTMLInputElement>(null);
  const [saving, setSaving] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const title = field.current?.value.trim();
    if (!title || saving) return;
    setSaving(true);
    try {
      if (title !== what.name) await rename(what.id, title);
      close();
    } catch (fault) {
      setProblem(faultWords(fault));
      setSaving(false);
    }
  };
  return (
    <form className="grid gap-4" aria-busy={saving} onSubmit={(event) => void submit(event)}>
      <Field label={i18n._("Name of the conversation")}>
        {(id) => (
          <Input
            ref={field}
            autoFocus
            id={id}
            name="title"
            required
            maxLength={LONGEST}
            defaultValue={what.name}
            onFocus={(event) => event.target.select()}
          />
        )}
      </Field>
      <Problem>{problem && known(i18n, problem)}</Problem>
      <div className="flex justify-end gap-2">
        <Button size="body" onClick={close}>
          {i18n._("Cancel")}
        </Button>
        <Button size="body" tone="main" type="submit" data-testid="save" disabled={saving}>
          {i18n._("Save")}
        </Button>
      </div>
    </form>
  );
}
