/** How the page looks in this browser, and its language. */

import { useLingui } from "@lingui/react";
import { useState } from "react";
import { Field, Select } from "../parts/input";
import { chooseLanguage, type Language, LANGUAGES } from "../words/i18n";
import { Section } from "./Section";
import { chooseTheme, type Theme, theme } from "./theme";

export function LookSettings() {
  const { i18n } = useLingui();
  const [shown, setShown] = useState(theme);
  const look = (wanted: Theme) => {
    chooseTheme(wanted);
    setShown(wanted);
  };
  return (
    <Section title={i18n._("This browser")}>
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
    </Section>
  );
}
