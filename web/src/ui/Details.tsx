/** What the state's few words leave out: models on their way, what went wrong, a token to give. */

import { type FormEvent, useEffect, useId, useRef } from "react";
import {
  type Loading as Waiting,
  type ModelStatus,
  progress,
  situation,
  type State,
} from "@vivavoce/client";

export function Details({ state, unlock }: { state: State; unlock: (token: string) => void }) {
  switch (situation(state)) {
    case "loading":
      return state.loading && <Loading loading={state.loading} />;
    case "locked":
      return <Token problem={state.problem} unlock={unlock} />;
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

function Loading({ loading }: { loading: Waiting }) {
  const { models, failed, message } = loading;
  const part = failed ? null : progress(loading);
  return (
    <div className="loading">
      {failed && (
        <p role="alert">
          <span className="problem">{message}</span> It tries again by itself.
        </p>
      )}
      {!failed && models.length === 0 && message && <p className="notice">{message}</p>}
      {part !== null && <progress max={100} value={part} aria-label="Models loaded" />}
      {models.length > 0 && (
        <ul>
          {models.map((model) => (
            <li key={model.name}>
              <span>{model.name}</span> <span>{modelWords(model)}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function modelWords({ state, received, total }: ModelStatus): string {
  if (state === "fetching" && total > 0) {
    return `${megabytes(received)} of ${megabytes(total)} MB`;
  }
  return state;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0);
}

interface TokenProps {
  problem: string | null;
  unlock: (token: string) => void;
}

function Token({ problem, unlock }: TokenProps) {
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
    if (token) unlock(token);
  };
  return (
    <form className="token" onSubmit={submit}>
      <label htmlFor={id}>Token of this server</label>
      <input
        ref={field}
        id={id}
        type="password"
        autoComplete="current-password"
        required
        aria-invalid={problem !== null}
        aria-describedby={`${id}-problem`}
      />
      <button type="submit">Go on</button>
      <p id={`${id}-problem`} className="problem" role="alert">
        {problem}
      </p>
    </form>
  );
}
