/** What a conversation cost, and how soon it was answered: read when somebody asks. */

import { useLingui } from "@lingui/react";
import { useQuery } from "@tanstack/react-query";
import { faultWords, type SessionDetailResponse, type TurnTrace, type UsageResponse } from "@vivavoce/client";
import type { ReactNode } from "react";
import { useApi } from "../app/query";
import { Nothing, Problem } from "../parts/pane";
import { known } from "../words/known";
import { regionOf } from "../words/region";
import { durationWords } from "../words/time";

const SESSIONS = 5; // of a conversation, the last ones
const TURNS = 12;

export default function Figures({ conversation }: { conversation: string }) {
  const { i18n } = useLingui();
  const { data, error } = useFigures(conversation);
  if (error) return <Problem>{known(i18n, faultWords(error))}</Problem>;
  if (!data) return <Nothing>{i18n._("One moment…")}</Nothing>;
  const { turns, cost, input, output, models, estimated } = data;
  const money = new Intl.NumberFormat(regionOf(i18n), {
    style: "currency",
    currency: "USD",
    maximumFractionDigits: cost > 0 && cost < 0.1 ? 4 : 2,
  });
  const number = new Intl.NumberFormat(regionOf(i18n));
  const firsts = turns.flatMap(({ first_sound_ms: ms }) => (ms == null ? [] : [ms]));
  return (
    <div className="grid gap-5" data-testid="figures">
      <dl className="grid grid-cols-2 gap-x-6 gap-y-4">
        <Figure name={estimated ? i18n._("Cost, estimated") : i18n._("Cost")}>{money.format(cost)}</Figure>
        <Figure name={i18n._("Until the first sound, usually")}>
          {firsts.length ? durationWords(i18n, middle(firsts)) : "–"}
        </Figure>
        <Figure name={i18n._("Tokens read")}>{number.format(input)}</Figure>
        <Figure name={i18n._("Tokens written")}>{number.format(output)}</Figure>
      </dl>
      {models.length > 0 && (
        <p className="text-small text-quiet">{i18n._("Answered by {models}", { models: models.join(", ") })}</p>
      )}
      {turns.length > 0 && <Turns turns={turns} />}
    </div>
  );
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex flex-col-reverse justify-end">
      <dt className="text-small text-quiet">{name}</dt>
      <dd className="text-title font-semibold tabular-nums">{children}</dd>
    </div>
  );
}

function Turns({ turns }: { turns: readonly TurnTrace[] }) {
  const { i18n } = useLingui();
  const time = new Intl.DateTimeFormat(regionOf(i18n), { timeStyle: "short" });
  const took = (ms: number | null | undefined) => (ms == null ? "–" : durationWords(i18n, ms));
  return (
    <div className="overflow-x-auto" tabIndex={0} role="group" aria-label={i18n._("The last answers")}>
      <table className="w-full text-small whitespace-nowrap tabular-nums [&_td]:py-1.5 [&_td]:pr-4 [&_th]:pr-4 [&_th]:pb-1.5 [&_th]:text-left [&_th]:font-medium [&_th]:text-quiet">
        <thead>
          <tr className="border-b border-line">
            <th scope="col">{i18n._("At")}</th>
            <th scope="col">{i18n._("Understood")}</th>
            <th scope="col">{i18n._("First word")}</th>
            <th scope="col">{i18n._("First sound")}</th>
            <th scope="col">{i18n._("Tools")}</th>
          </tr>
        </thead>
        <tbody>
          {turns.map((turn) => (
            <tr key={turn.speech_end} className="border-b border-line last:border-0">
              <td>{time.format(Date.parse(turn.speech_end))}</td>
              <td>{took(turn.transcript_ms)}</td>
              <td>{took(turn.first_token_ms)}</td>
              <td>{took(turn.first_sound_ms)}</td>
              <td>{turn.tools.join(", ") || "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function useFigures(conversation: string) {
  const api = useApi();
  return useQuery({
    queryKey: ["usage", conversation],
    queryFn: async ({ signal }) => {
      const usage = await api.get<UsageResponse>("api/v1/usage", signal);
      const ours = usage.sessions.filter(({ conversation_id: id }) => id === conversation);
      const paths = ours.slice(0, SESSIONS).map(({ session_id: id }) => `sessions/${encodeURIComponent(id)}`);
      const details = await Promise.all(paths.map((path) => api.get<SessionDetailResponse>(path, signal)));
      const sum = (of: (one: (typeof ours)[number]) => number) => ours.reduce((all, one) => all + of(one), 0);
      return {
        cost: sum((one) => one.cost_usd),
        input: sum((one) => one.input_tokens),
        output: sum((one) => one.output_tokens),
        estimated: ours.some((one) => one.estimated),
        models: [...new Set(ours.map(({ model }) => model))],
        turns: details
          .flatMap(({ turns }) => turns)
          .sort((one, other) => other.speech_end.localeCompare(one.speech_end))
          .slice(0, TURNS),
      };
    },
    staleTime: 0,
  });
}

function middle(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
