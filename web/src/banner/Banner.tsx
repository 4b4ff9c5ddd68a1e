/** What happened to the call or to the server, and what comes next. */

import { useLingui } from "@lingui/react";
import { type Loading, type ModelStatus, progress, type Retry, situation, type State } from "@vivavoce/client";
import { useVivavoce, useVivavoceState } from "@vivavoce/react";
import { CircleAlert, Info, WifiOff } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import { Button } from "../parts/button";
import { cx } from "../parts/cx";
import { Preloaded } from "../reach/Preloaded";
import { known } from "../words/known";
import { sizeWords } from "../words/region";

const Refused = lazy(() => import("../settings/Refused")); // most never see it

export function Banner() {
  const state = useVivavoceState();
  return (
    <>
      <Preloaded />
      <Told state={state} />
    </>
  );
}

export function Told({ state }: { state: State }) {
  const { i18n } = useLingui();
  switch (situation(state)) {
    case "loading":
      return state.loading && <Models loading={state.loading} />;
    case "refused":
      return (
        <Strip tone="bad" icon={<CircleAlert aria-hidden="true" />}>
          <div className="grid min-w-0 flex-1 gap-1.5">
            <p role="alert" data-testid="problem">
              {known(i18n, state.problem ?? "")}
            </p>
            <Suspense>
              <Refused problem={state.problem ?? ""} />
            </Suspense>
          </div>
        </Strip>
      );
    case "failed":
      return (
        <Strip tone="bad" icon={<CircleAlert aria-hidden="true" />}>
          <p role="alert" data-testid="problem">
            {known(i18n, state.problem ?? "")}
          </p>
        </Strip>
      );
    case "reconnecting":
      if (state.retry) return <Retrying retry={state.retry} notice={state.notice} />;
  }
  if (!state.notice) return null;
  return (
    <Strip tone="plain" icon={<Info aria-hidden="true" />}>
      <p data-testid="notice">{known(i18n, state.notice)}</p>
    </Strip>
  );
}

const TONES = { plain: "bg-tint", warn: "bg-warn-tint text-warn", bad: "bg-bad-tint text-bad" } as const;

interface StripProps {
  readonly tone: keyof typeof TONES;
  readonly icon?: ReactNode;
  readonly children: ReactNode;
}

function Strip({ tone, icon, children }: StripProps) {
  return (
    <div className="mx-auto w-full max-w-3xl px-5">
      <div
        data-testid="banner"
        className={cx(
          "flex animate-rise items-center gap-3 rounded-card px-4 py-2.5 text-small [&>svg]:size-5 [&>svg]:shrink-0 [&>svg]:self-start",
          TONES[tone],
        )}
      >
        {icon}
        {children}
      </div>
    </div>
  );
}

function Retrying({ retry, notice }: { retry: Retry; notice: string | null }) {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const seconds = useSecondsUntil(retry.at);
  return (
    <Strip tone="warn" icon={<WifiOff aria-hidden="true" />}>
      <div className="min-w-0 flex-1">
        <p data-testid={notice ? "notice" : undefined}>{known(i18n, notice ?? retry.reason)}</p>
        <p>
          {seconds > 0
            ? i18n._("Try {attempt} in {seconds} s", { attempt: retry.attempt, seconds })
            : i18n._("Try {attempt}, now", { attempt: retry.attempt })}
        </p>
      </div>
      <Button onClick={() => client.retryNow()}>{i18n._("Retry now")}</Button>
    </Strip>
  );
}

function useSecondsUntil(at: number | null): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (at === null) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [at]);
  return at === null ? 0 : Math.max(0, Math.ceil((at - now) / 1000));
}

function Models({ loading }: { loading: Loading }) {
  const { i18n } = useLingui();
  const { models, failed, message } = loading;
  const part = failed ? null : progress(loading);
  if (!failed && !message && part === null && models.length === 0) return null;
  return (
    <Strip tone={failed ? "warn" : "plain"}>
      <div className="grid flex-1 gap-2">
        {failed && (
          <p role="alert">
            <span data-testid="problem">{message && known(i18n, message)}</span> {i18n._("It tries again by itself.")}
          </p>
        )}
        {!failed && models.length === 0 && message && <p data-testid="notice">{known(i18n, message)}</p>}
        {part !== null && (
          <progress className="bar" max={100} value={part} aria-label={i18n._("Models loaded")} />
        )}
        {models.length > 0 && (
          <ul className="grid gap-0.5">
            {models.map((model) => (
              <li key={model.name} className="flex justify-between gap-4">
                <span>{model.name}</span>
                <Model model={model} />
              </li>
            ))}
          </ul>
        )}
      </div>
    </Strip>
  );
}

function Model({ model: { state, received, total } }: { model: ModelStatus }) {
  const { i18n } = useLingui();
  const fetching = state === "fetching" && total > 0;
  const given = { received: sizeWords(i18n, received), total: sizeWords(i18n, total) };
  return (
    <span className="text-quiet tabular-nums">
      {fetching ? i18n._("{received} of {total}", given) : known(i18n, state)}
    </span>
  );
}
