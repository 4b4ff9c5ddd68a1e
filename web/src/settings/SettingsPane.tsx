/** What the user may choose. What is kept in this browser stands first, then what the server keeps. */

import { useLingui } from "@lingui/react";
import { useQuery } from "@tanstack/react-query";
import type { ProfileResponse, StatusResponse } from "@vivavoce/client";
import { useState } from "react";
import { useApi } from "../app/query";
import { Field, Select } from "../parts/input";
import { ReachSettings } from "../reach/ReachSettings";
import { chooseLanguage, type Language, LANGUAGES } from "../words/i18n";
import { chooseTheme, type Theme, theme } from "./theme";

export default function SettingsPane() {
  return (
    <div className="grid gap-8" data-testid="settings">
      <Look />
      <ReachSettings />
      <Server />
    </div>
  );
}

function Look() {
  const { i18n } = useLingui();
  const [shown, setShown] = useState(theme);
  const look = (wanted: Theme) => {
    chooseTheme(wanted);
    setShown(wanted);
  };
  return (
    <section className="grid gap-4" aria-label={i18n._("This browser")}>
      <Field label={i18n._("Language of the page")}>
        {(id) => (
          <Select
            id={id}
            value={i18n.locale}
            onChange={(event) => void chooseLanguage(event.target.value as Language)}
          >
            {Object.entries(LANGUAGES).map(([code, name]) => (
              <option key={code} value={code} lang={code}>
                {name}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={i18n._("Colours")}>
        {(id) => (
          <Select id={id} value={shown} onChange={(event) => look(event.target.value as Theme)}>
            <option value="system">{i18n._("As the device has it")}</option>
            <option value="light">{i18n._("Light")}</option>
            <option value="dark">{i18n._("Dark")}</option>
          </Select>
        )}
      </Field>
    </section>
  );
}

function Server() {
  const { i18n } = useLingui();
  const api = useApi();
  const status = useQuery({
    queryKey: ["status"],
    queryFn: ({ signal }) => api.get<StatusResponse>("status", signal),
  });
  const profile = useQuery({
    queryKey: ["profile"],
    queryFn: ({ signal }) => api.get<ProfileResponse>("api/v1/profile", signal),
  });
  if (!status.data) return null; // not there yet, or nobody is logged in
  const rows = [
    [i18n._("Server"), `Vivavoce ${status.data.server.version}`],
    [i18n._("Model"), status.data.openai.model],
    [i18n._("Voice"), status.data.openai.voice],
    [i18n._("Your name"), profile.data?.name],
    [i18n._("Time zone"), profile.data?.time_zone],
  ].filter(([, value]) => value);
  return (
    <dl className="grid gap-1.5 text-small">
      {rows.map(([label, value]) => (
        <div key={label} className="flex justify-between gap-4 border-b border-line pb-1.5">
          <dt className="text-quiet">{label}</dt>
          <dd className="text-right wrap-anywhere">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
