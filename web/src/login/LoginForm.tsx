/** How the user comes in: with the server's token, at a provider, or with a JWT that they bring. */

import { useLingui } from "@lingui/react";
import { useQuery } from "@tanstack/react-query";
import { faultWords, type LoginProvider, type LoginResponse } from "@vivavoce/client";
import { useVivavoce, useVivavoceState } from "@vivavoce/react";
import { LogIn } from "lucide-react";
import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { useStore } from "zustand";
import { useApi } from "../app/query";
import { Button } from "../parts/button";
import { Field, Input } from "../parts/input";
import { Nothing, Problem } from "../parts/pane";
import { known } from "../words/known";
import { ring } from "./keys";
import { byPassword, leave } from "./provider";

export default function LoginForm() {
  const { i18n } = useLingui();
  const api = useApi();
  const way = useQuery({
    queryKey: ["login"],
    queryFn: ({ signal }) => api.get<LoginResponse>("api/v1/login", signal),
  });
  if (way.isPending) return <Nothing>{i18n._("One moment…")}</Nothing>;
  if (way.isError) {
    return (
      <div className="grid gap-4">
        <Problem>{known(i18n, faultWords(way.error))}</Problem>
        <Button tone="main" size="body" onClick={() => void way.refetch()}>
          {i18n._("Try again")}
        </Button>
      </div>
    );
  }
  return <Way {...way.data} />;
}

export function Way({ mode, provider }: LoginResponse) {
  if (provider?.kind === "oidc") return <OpenId provider={provider} />;
  if (provider) return <Supabase provider={provider} />;
  return <ByToken jwt={mode === "jwt"} />;
}

function useProblem(): string | null {
  const { i18n } = useLingui();
  const refused = useVivavoceState((state) => state.problem);
  const failed = useStore(ring.store, ({ problem }) => problem);
  const problem = refused ?? failed;
  return problem && known(i18n, problem);
}

function Asked({ children }: { children: ReactNode }) {
  return (
    <p data-testid="state" role="status" className="pb-4 text-body text-quiet">
      {children}
    </p>
  );
}

function ByToken({ jwt }: { jwt: boolean }) {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const problem = useProblem();
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
    <>
      <Asked>
        {jwt
          ? i18n._("This page belongs to an app: open it from there, or show the token that the app gave you")
          : i18n._("This server asks for a token")}
      </Asked>
      <form className="grid gap-3" onSubmit={submit}>
        <label htmlFor={id} className="text-small font-medium">
          {jwt ? i18n._("Token of the app (JWT)") : i18n._("Token of this server")}
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
          {problem}
        </p>
        <Button type="submit" tone="main" size="body">
          {i18n._("Go on")}
        </Button>
      </form>
    </>
  );
}

function OpenId({ provider }: { provider: LoginProvider }) {
  const { i18n } = useLingui();
  const problem = useProblem();
  return (
    <div className="grid gap-3">
      <Asked>{i18n._("You log in at {host}, and come back here", { host: hostOf(provider.issuer) })}</Asked>
      <Problem>{problem}</Problem>
      <Away provider={provider} by={null}>
        {i18n._("Log in")}
      </Away>
    </div>
  );
}

function Supabase({ provider }: { provider: LoginProvider }) {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const problem = useProblem();
  const [trying, setTrying] = useState(false);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setTrying(true);
    void byPassword(provider, String(form.get("email")), String(form.get("password")))
      .then((keys) => {
        ring.keep(keys);
        client.unlock(keys.token);
      })
      .catch((fault: unknown) => ring.failed(fault))
      .finally(() => setTrying(false));
  };
  return (
    <div className="grid gap-3">
      <Asked>{i18n._("Who are you?")}</Asked>
      {provider.providers.map((name) => (
        <Away key={name} provider={provider} by={name}>
          {i18n._("Log in with {name}", { name: capital(name) })}
        </Away>
      ))}
      <form className="grid gap-3 pt-2" onSubmit={submit} aria-busy={trying}>
        <Field label={i18n._("E-mail")}>
          {(id) => <Input id={id} name="email" type="email" autoComplete="username" required />}
        </Field>
        <Field label={i18n._("Password")}>
          {(id) => (
            <Input id={id} name="password" type="password" autoComplete="current-password" required />
          )}
        </Field>
        <Problem>{problem}</Problem>
        <Button type="submit" tone="main" size="body" disabled={trying}>
          {i18n._("Log in")}
        </Button>
      </form>
    </div>
  );
}

function Away({ provider, by, children }: { provider: LoginProvider; by: string | null; children: ReactNode }) {
  return (
    <Button
      tone={by === null ? "main" : "plain"}
      size="body"
      data-testid="log-in"
      onClick={() => void leave(provider, by).catch((fault: unknown) => ring.failed(fault))}
    >
      <LogIn aria-hidden="true" />
      {children}
    </Button>
  );
}

function hostOf(address: string): string {
  return new URL(address).host;
}

const NAMES: Record<string, string> = { github: "GitHub", gitlab: "GitLab", linkedin: "LinkedIn" };

function capital(name: string): string {
  return NAMES[name] ?? name.charAt(0).toUpperCase() + name.slice(1);
}
