/** What was understood, in plain words, and what became of it. */

import { intentStatus, rowsOf, titleOf, type Understood, visible } from "@vivavoce/client";

export function IntentCard({ intent }: { intent: Understood }) {
  const rows = rowsOf(intent.payload);
  const main = rows.find((row) => row.main);
  const rest = rows.filter((row) => row !== main);
  const gone = intent.status === "retracted";
  // `s` is read out as what does not hold any more; a line through text alone is not.
  const Words = gone ? "s" : "span";
  return (
    <div className="understood" data-testid="intent" data-status={intent.status}>
      <p className="head">
        <Words className="title">{titleOf(intent.route)}</Words>
        <span className="status" role="status">
          {intentStatus(intent)}
        </span>
      </p>
      {main && (
        <p className="main">
          <Words>{main.text}</Words>
        </p>
      )}
      {rest.length > 0 && (
        <dl>
          {rest.map(({ label, text }, at) => (
            <div key={`${at} ${label}`}>
              <dt>{label}</dt>
              <dd>
                <Words>{text}</Words>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {intent.error && !gone && <p className="problem">{visible(intent.error)}</p>}
    </div>
  );
}
