/** What the settings read from the server, and how they change it. */

import { type I18n, i18n } from "@lingui/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import {
  faultWords,
  type PreferencesResponse,
  type ProfileResponse,
  type StatusResponse,
  type VoicesResponse,
} from "@vivavoce/client";
import { queries, useApi } from "../app/query";
import { toast } from "../parts/toast";
import { known } from "../words/known";

const LOADING_MS = 1000; // while models are on their way it is looked at so often

export type Preferences = Pick<PreferencesResponse, "voice" | "verbosity" | "auto_approve">;
export type Profile = Omit<ProfileResponse, "user_id">;

export function useStatus() {
  const api = useApi();
  return useQuery({
    queryKey: ["status"],
    queryFn: ({ signal }) => api.get<StatusResponse>("status", signal),
    refetchInterval: ({ state: { data } }) => (settled(data) ? false : LOADING_MS),
  });
}

/** What everybody may know of a server; looked at where the rest is for others. */
export function useReady(wanted: boolean) {
  const api = useApi();
  return useQuery({
    queryKey: ["ready"],
    queryFn: ({ signal }) => api.ready(signal),
    enabled: wanted,
    refetchInterval: ({ state: { data } }) => (data?.ready === false ? LOADING_MS : false),
  });
}

/** Nothing is on its way any more. */
export function settled(status: StatusResponse | undefined): boolean {
  const engine = status?.engine;
  return !engine || (engine.ready && !engine.reading);
}

export function useVoices() {
  const api = useApi();
  return useQuery({
    queryKey: ["config", "voices"],
    queryFn: ({ signal }) => api.get<VoicesResponse>("config/voices", signal),
  });
}

export function usePreferences() {
  const api = useApi();
  return useQuery({
    queryKey: ["preferences"],
    queryFn: ({ signal }) => api.get<PreferencesResponse>("api/v1/preferences", signal),
  });
}

export function useProfile() {
  const api = useApi();
  return useQuery({
    queryKey: ["profile"],
    queryFn: ({ signal }) => api.get<ProfileResponse>("api/v1/profile", signal),
  });
}

export function useChangePreferences() {
  return useChange<Partial<Preferences>, PreferencesResponse>("preferences");
}

export function useChangeProfile() {
  return useChange<Partial<Profile>, ProfileResponse>("profile");
}

function useChange<Wanted extends object, Answer>(door: string) {
  const api = useApi();
  return useMutation({
    mutationFn: (wanted: Wanted) => api.change<Answer>("PATCH", `api/v1/${door}`, wanted),
    onSuccess: (now) => {
      queries.setQueryData([door], now);
      toast(i18n._("Saved. It holds from the next talk on"));
    },
    onError: (fault) => toast(wrong(i18n, fault), "bad"),
  });
}

function wrong(i18n: I18n, fault: unknown): string {
  return i18n._("Not saved: {why}", { why: known(i18n, faultWords(fault)) });
}
