/** What the state's few words leave out: models on their way, what went wrong, a token to give. */

import { type FormEvent, useId } from "react";
import type { State } from "../session/state";
import { progress, situation } from "../session/words";
import type { ModelStatus } from "../wire/types";

export function Details({ state, unlock }: { state: State; unlock: (token: string) => void }) {
  switch (situation(state)) {
    case "loading":
      return <Loading state={state} />;
    case "locked":
      return <Token unlock={unlock} />;
    case "refused":
    case "failed":
      return (
        <p className="problem" role="alert">
          {state.problem}
        </p>
      );
    default:
      return state.notice ? <p className="notice">{state.notice}</p> : null;
  }
}

function Loading({ state }: { state: State }) {
  const part = progress(state.loading);
  const models = state.loading?.models ?? [];
  return (
    <div className="loading">
      {part !== null && <progress max={100} value={part} aria-label="Models loaded" />}
      {models.length > 0 ? (
        <ul>
          {models.map((model) => (
            <li key={model.name}>
              <span>{model.name}</span> <span>{modelWords(model)}</span>
            </li>
          ))}
        </ul>
      ) : (
        state.loading?.message && <p className="notice">{state.loading.message}</p>
      )}
    </div>
  );
}

function modelWords({ state, received, total, error }: ModelStatus): string {
  if (error) return error;
  if (state === "fetching" && total > 0) {
    return `${megabytes(received)} of ${megabytes(total)} MB`;
  }
  return state;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0);
}

function Token({ unlock }: { unlock: (token: string) => void }) {
  const id = useId();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const token = new FormData(event.currentTarget).get("token");
    if (typeof token === "string" && token.trim()) unlock(token.trim());
  };
  return (
    <form className="token" onSubmit={submit}>
      <label htmlFor={id}>Token of this server</label>
      <input id={id} name="token" type="password" autoComplete="current-password" required />
      <button type="submit">Go on</button>
    </form>
  );
}
