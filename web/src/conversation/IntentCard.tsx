/** What was understood, in plain words, and what became of it. */

import { useLingui } from "@lingui/react";
import { intentStatus, rowsOf, titleOf, type Understood, visible } from "@vivavoce/client";
import { Badge } from "../parts/badge";
import { Card } from "../parts/card";
import { known } from "../words/known";

const TONES = { accepted: "good", failed: "bad", pending: "warn" } as const;

export function IntentCard({ intent }: { intent: Understood }) {
  const { i18n } = useLingui();
  const rows = rowsOf(intent.payload);
  const main = rows.find((row) => row.main);
  const rest = rows.filter((row) => row !== main);
  const gone = intent.status === "retracted";
  const tone = TONES[intent.status as keyof typeof TONES] ?? "plain";
  // `s` is read out as what does not hold any more; a line through text alone is not.
  const Words = gone ? "s" : "span";
  return (
    <Card className="grid gap-2" data-testid="intent" data-status={intent.status}>
      <p className="flex items-center justify-between gap-3 text-small">
        <Words className="font-medium text-quiet">{known(i18n, titleOf(intent.route))}</Words>
        <Badge tone={tone} role="status">
          {known(i18n, intentStatus(intent))}
        </Badge>
      </p>
      {main && (
        <p className="text-lead font-medium">
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
    </Card>
  );
}
