/** What the agent says that one could say to it; null until that is known. */

import { useQuery } from "@tanstack/react-query";
import { type ConfigResponse, situation } from "@vivavoce/client";
import { useVivavoceState } from "@vivavoce/react";
import { useApi } from "../app/query";

export function useHints(): readonly string[] | null {
  const api = useApi();
  const there = useVivavoceState((state) => !["locked", "loading"].includes(situation(state)));
  const { data } = useQuery({
    queryKey: ["config"],
    queryFn: ({ signal }) => api.get<ConfigResponse>("config", signal),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: there,
  });
  return data?.agent.hints ?? null;
}
