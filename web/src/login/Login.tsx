/** The server asks who is there: a token, for as long as the tab lives. */

import { useLingui } from "@lingui/react";
import { useVivavoce, useVivavoceState } from "@vivavoce/react";
import { type FormEvent, type ReactNode, useEffect, useId, useRef } from "react";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { Input } from "../parts/input";
import { known } from "../words/known";

export function Login({ header }: { header?: ReactNode }) {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const problem = useVivavoceState((state) => state.problem);
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  // When it appears, and whenever it was not right: the next thing to do is to type.
  useEffect(() => {
    field.current?.focus();
    if (problem) field.current?.select();
  }, [problem]);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const token = field.current?.value.trim();
    if (token) client.unlock(token);
  };
  return (
    <section className="grid h-full place-items-center overflow-y-auto p-5" aria-label={i18n._("Log in")}>
      <Card className="w-full max-w-sm p-6">
        {header && <div className="pb-6">{header}</div>}
        <p data-testid="state" role="status" className="pb-4 text-body text-quiet">
          {i18n._("This server asks for a token")}
        </p>
        <form className="grid gap-3" onSubmit={submit}>
          <label htmlFor={id} className="text-small font-medium">
            {i18n._("Token of this server")}
          </label>
          <Input
            ref={field}
            id={id}
            type="password"
            autoComplete="current-password"
            required
            aria-invalid={problem !== null}
            aria-describedby={`${id}-problem`}
          />
          <p id={`${id}-problem`} role="alert" data-testid="problem" className="text-small text-bad empty:hidden">
            {problem && known(i18n, problem)}
          </p>
          <Button type="submit" tone="main" size="body">
            {i18n._("Go on")}
          </Button>
        </form>
      </Card>
    </section>
  );
}
