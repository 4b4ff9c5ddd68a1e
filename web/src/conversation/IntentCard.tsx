/** What was understood, in plain words, what became of it, and a way to take it back. */

import { useLingui } from "@lingui/react";
import { useMutation } from "@tanstack/react-query";
import { faultWords, intentStatus, rowsOf, titleOf, type Understood, undoOf, visible } from "@vivavoce/client";
import { CalendarClock, CircleCheck, type LucideIcon, Sparkles, Target, Undo2 } from "lucide-react";
import { useApi } from "../app/query";
import { Badge } from "../parts/badge";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { Problem } from "../parts/pane";
import { known } from "../words/known";

const TONES = { accepted: "good", failed: "bad", pending: "warn" } as const;
const ICONS = new Map<string, LucideIcon>([
  ["GOAL", Target],
  ["NEW_TASK", CircleCheck],
  ["RESCHEDULE_TASK", CalendarClock],
]);

export function IntentCard({ intent }: { intent: Understood }) {
  const { i18n } = useLingui();
  const rows = rowsOf(intent.payload);
  const main = rows.find((row) => row.main);
  const rest = rows.filter((row) => row !== main);
  const gone = intent.status === "retracted";
  const tone = TONES[intent.status as keyof typeof TONES] ?? "plain";
  const Icon = ICONS.get(intent.route) ?? Sparkles;
  // `s` is read out as what does not hold any more; a line through text alone is not.
  const Words = gone ? "s" : "span";
  return (
    <Card className="grid gap-2.5" data-testid="intent" data-status={intent.status}>
      <p className="flex items-center justify-between gap-3 text-small">
        <span className="flex items-center gap-2 font-medium text-quiet">
          <Icon className="size-4 text-accent" aria-hidden="true" />
          <Words>{known(i18n, titleOf(intent.route))}</Words>
        </span>
        <Badge tone={tone} role="status">
          {known(i18n, intentStatus(intent))}
        </Badge>
      </p>
      {main && (
        <p className="text-lead leading-snug font-medium">
          <Words>{main.text}</Words>
        </p>
      )}
      {rest.length > 0 && (
        <dl className="grid gap-1 text-small">
          {rest.map(({ label, text }, at) => (
            <div key={`${at} ${label}`} className="flex gap-3">
              <dt className="w-20 shrink-0 text-quiet">{known(i18n, label)}</dt>
              <dd>
                <Words>{text}</Words>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {intent.error && !gone && <p className="text-small text-bad">{visible(intent.error)}</p>}
      <Undo intent={intent} />
    </Card>
  );
}

/** The card itself tells how it ended, when the server has. */
function Undo({ intent }: { intent: Understood }) {
  const path = undoOf(intent);
  return path ? <UndoAt path={path} /> : null;
}

function UndoAt({ path }: { path: string }) {
  const { i18n } = useLingui();
  const api = useApi();
  const undo = useMutation({ mutationFn: () => api.change("DELETE", path) });
  return (
    <div className="flex items-center justify-between gap-3">
      <Problem>{undo.error && known(i18n, faultWords(undo.error))}</Problem>
      <Button
        tone="quiet"
        className="-mr-2 -mb-2 ml-auto"
        data-testid="undo"
        aria-disabled={undo.isPending || undo.isSuccess}
        onClick={() => !undo.isPending && !undo.isSuccess && undo.mutate()}
      >
        <Undo2 aria-hidden="true" />
        {i18n._("Undo")}
      </Button>
    </div>
  );
}
