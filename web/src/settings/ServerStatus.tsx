/** What runs on the other side, as the server tells it: its models while they come, too. */

import { useLingui } from "@lingui/react";
import type { EngineStatus, ModelStatus, ReadyResponse, StatusResponse } from "@vivavoce/client";
import type { I18n } from "../words/i18n";
import { cx } from "../parts/cx";
import { Problem } from "../parts/pane";
import { known } from "../words/known";
import { percentWords, sizeWords } from "../words/region";
import { Section } from "./Section";
import { useReady, useStatus } from "./server";

export function ServerStatus() {
  const { i18n } = useLingui();
  const { data, error } = useStatus();
  const ready = useReady(error !== null);
  if (!data) return ready.data?.models ? <Coming ready={ready.data} /> : null;
  return (
    <Section title={i18n._("Server")}>
      {data.engine && <Models engine={data.engine} />}
      <dl className="grid gap-1.5 text-small">
        {rowsOf(i18n, data).map(([label, value]) => (
          <div key={label} className="flex justify-between gap-4">
            <dt className="shrink-0 text-quiet">{label}</dt>
            <dd className="text-right wrap-anywhere">{value}</dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

/** For those who may not know what runs there. */
function Coming({ ready: { ready, failed = false, models = [] } }: { ready: ReadyResponse }) {
  const { i18n } = useLingui();
  if (ready) return null;
  return (
    <Section title={i18n._("Server")}>
      <Models engine={{ ready, reading: false, failed: failed === true, models: models ?? [] }} />
    </Section>
  );
}

export function rowsOf(i18n: I18n, { server, amplifier, openai, engine }: StatusResponse): [string, string][] {
  const { brain, speech } = engine ?? {};
  const perSecond = (figure: number | null | undefined, name: string): [string, string][] =>
    figure ? [[name, i18n._("{figure} tokens a second", { figure: Math.round(figure) })]] : [];
  return [
    [i18n._("Version"), `Vivavoce ${server.version}`],
    [i18n._("Agent"), amplifier.bundle],
    [i18n._("Provider"), `${openai.name}, ${openai.model}`],
    ...(brain ? ([[i18n._("Brain"), brain.device ? `${brain.name} (${brain.device})` : brain.name]] as [string, string][]) : []),
    ...perSecond(brain?.reads_per_second, i18n._("Reads")),
    ...perSecond(brain?.writes_per_second, i18n._("Writes")),
    ...(speech ? ([[i18n._("Ears"), speech.ears], [i18n._("Mouth"), speech.mouth]] as [string, string][]) : []),
  ];
}

type Loaded = Pick<EngineStatus, "ready" | "reading" | "failed" | "models">;

/** Nothing, once all is there. */
export function Models({ engine }: { engine: Loaded }) {
  const { i18n } = useLingui();
  if (engine.ready && !engine.reading) return null;
  const coming = engine.models.filter(({ state }) => state !== "ready");
  return (
    <div className="grid gap-3" data-testid="models">
      {engine.ready ? (
        <p role="status" className="text-small text-quiet">
          {i18n._("The brain reads its instructions ahead. You can talk; the first answers take longer.")}
        </p>
      ) : (
        <p role="status" className="text-small text-quiet">
          {whatIsDone(i18n, engine)}
        </p>
      )}
      <ul className="grid gap-2">
        {coming.map((model) => (
          <Model key={model.name} model={model} />
        ))}
      </ul>
    </div>
  );
}

function whatIsDone(i18n: I18n, { failed, models }: Loaded): string {
  if (failed) {
    return i18n._("Its models cannot be loaded; the server’s log says why. It tries again by itself.");
  }
  if (models.every(({ state }) => state === "ready")) return i18n._("The models are there, and are being loaded.");
  return i18n._("The models are being fetched. That happens once.");
}

function Model({ model: { name, state, received, total, error } }: { model: ModelStatus }) {
  const { i18n } = useLingui();
  const part = total > 0 ? Math.floor((100 * received) / total) : 0;
  return (
    <li className="grid gap-1 text-small">
      <div className="flex justify-between gap-4">
        <span className="wrap-anywhere">{name}</span>
        <span className={cx("shrink-0 tabular-nums", state === "failed" ? "text-bad" : "text-quiet")}>
          {state === "fetching" ? i18n._("{part} of {total}", { part: percentWords(i18n, part), total: sizeWords(i18n, total) }) : known(i18n, state)}
        </span>
      </div>
      {state === "fetching" && <progress className="bar" max={100} value={part} aria-label={name} />}
      <Problem>{error}</Problem>
    </li>
  );
}
