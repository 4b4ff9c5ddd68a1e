/** What is read from the server and not told by its events: `useApi` and TanStack Query.
 *
 * A key begins with the door's name: `["conversations"]`, `["profile"]`, `["reminders"]`. */

import { QueryClient } from "@tanstack/react-query";
import { type Api, ApiError } from "@vivavoce/client";
import { useVivavoce } from "@vivavoce/react";

const TRIES = 3;

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      retry: (failures, fault) => failures < TRIES && (!(fault instanceof ApiError) || fault.passing),
    },
  },
});

/** The requests of `@vivavoce/client`, each with the type of its answer. */
export function useApi(): Api {
  return useVivavoce().api;
}
