/** To what the user said a yes that goes on, each with a way to take it back. Nothing where there is
 * none. */

import { useLingui } from "@lingui/react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type ApprovalListResponse, type ApprovalView, argumentRows, faultWords, visible } from "@vivavoce/client";
import { queries, useApi } from "../app/query";
import { Button } from "../parts/button";
import { Problem } from "../parts/pane";
import { known } from "../words/known";
import { Section } from "./Section";

export function Grants() {
  const { i18n } = useLingui();
  const api = useApi();
  const standing = useQuery({
    queryKey: ["grants"],
    queryFn: ({ signal }) => api.get<ApprovalListResponse>("grants", signal),
    refetchOnMount: "always", // a yes is given elsewhere
  });
  const all = standing.data?.approvals ?? [];
  if (all.length === 0) return null;
  return (
    <Section title={i18n._("What you allowed")}>
      <ul className="grid gap-3">
        {all.map((one) => (
          <Grant key={one.id} grant={one} />
        ))}
      </ul>
    </Section>
  );
}

function Grant({ grant }: { grant: ApprovalView }) {
  const { i18n } = useLingui();
  const api = useApi();
  const revoke = useMutation({
    mutationFn: () => api.change("DELETE", `grants/${encodeURIComponent(grant.id)}`),
    onSettled: () => queries.invalidateQueries({ queryKey: ["grants"] }),
  });
  const what = argumentRows(grant.arguments).map(({ text }) => text);
  const reach = grant.reach === "always" ? i18n._("Always") : i18n._("In its session");
  return (
    <li className="flex items-start justify-between gap-4" data-testid="grant">
      <div className="grid min-w-0 gap-0.5">
        <span className="text-small font-medium">{visible(grant.tool_name)}</span>
        <code className="line-clamp-2 font-mono text-tiny wrap-anywhere text-quiet">{what.join(" · ")}</code>
        <span className="text-tiny text-quiet">{reach}</span>
        <Problem>{revoke.error && known(i18n, faultWords(revoke.error))}</Problem>
      </div>
      <Button
        data-testid="revoke"
        aria-disabled={revoke.isPending}
        onClick={() => !revoke.isPending && revoke.mutate()}
      >
        {i18n._("Ask again")}
      </Button>
    </li>
  );
}
