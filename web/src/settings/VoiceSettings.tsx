/** Who speaks, how much, and whether it asks before it acts. The server keeps it, for the next talk. */

import { useLingui } from "@lingui/react";
import { faultWords } from "@vivavoce/client";
import { useVivavoce } from "@vivavoce/react";
import { Square, Volume2 } from "lucide-react";
import { useEffect, useId, useRef, useState } from "react";
import { Button } from "../parts/button";
import { Field, Select } from "../parts/input";
import { Problem } from "../parts/pane";
import { Switch } from "../parts/switch";
import { known } from "../words/known";
import { Section } from "./Section";
import { type Preferences, useChangePreferences, usePreferences, useStatus, useVoices } from "./server";
import { playFile } from "./sound";

export function VoiceSettings() {
  const { i18n } = useLingui();
  const status = useStatus();
  const voices = useVoices();
  const kept = usePreferences();
  const change = useChangePreferences();
  if (!kept.data || !voices.data) return null; // not there yet, or nobody is logged in
  const now = { ...kept.data, ...(change.isPending ? change.variables : {}) };
  const usual = status.data?.openai.voice ?? "";
  const named = (id: string) => voices.data.voices.find((one) => one.id === id);
  const shown = named(now.voice ?? usual);
  return (
    <Section title={i18n._("Voice and manner")}>
      <Field label={i18n._("Voice")} hint={shown?.description && known(i18n, shown.description)}>
        {(id, hint) => (
          <div className="flex gap-2">
            <div className="min-w-0 flex-1">
              <Select
                id={id}
                aria-describedby={hint}
                data-testid="voice"
                value={now.voice ?? ""}
                onChange={(event) => change.mutate({ voice: event.target.value || null })}
              >
                <option value="">
                  {usual
                    ? i18n._("The agent’s ({voice})", { voice: named(usual)?.name ?? usual })
                    : i18n._("The agent’s")}
                </option>
                {voices.data.voices.map((one) => (
                  <option key={one.id} value={one.id}>
                    {one.recommended ? i18n._("{name} (recommended)", { name: one.name }) : one.name}
                  </option>
                ))}
              </Select>
            </div>
            {shown?.sample_url && <Sample key={shown.id} path={shown.sample_url} />}
          </div>
        )}
      </Field>
      <Field label={i18n._("How much it says")}>
        {(id) => (
          <Select
            id={id}
            data-testid="verbosity"
            value={now.verbosity}
            onChange={(event) =>
              change.mutate({ verbosity: event.target.value as Preferences["verbosity"] })
            }
          >
            <option value="brief">{i18n._("Short")}</option>
            <option value="normal">{i18n._("As much as is needed")}</option>
            <option value="detailed">{i18n._("In detail")}</option>
          </Select>
        )}
      </Field>
      <AutoApprove
        allowed={now.may_auto_approve}
        on={now.auto_approve}
        set={(on) => change.mutate({ auto_approve: on })}
      />
    </Section>
  );
}

/** A sentence in that voice. */
function Sample({ path }: { path: string }) {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const [playing, setPlaying] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const life = useRef<AbortController | null>(null);
  useEffect(() => () => life.current?.abort(), []);
  const press = () => {
    if (playing) return life.current?.abort();
    const mine = new AbortController();
    life.current = mine;
    setProblem(null);
    setPlaying(true);
    void client.api
      .file(path.replace(/^\//, ""))
      .then((file) => playFile(file, client.devices.speaker, mine.signal))
      .catch((fault: unknown) => setProblem(faultWords(fault)))
      .finally(() => setPlaying(false));
  };
  return (
    <div className="grid justify-items-end gap-1">
      <Button size="body" data-testid="sample" aria-pressed={playing} onClick={press}>
        {playing ? <Square aria-hidden="true" /> : <Volume2 aria-hidden="true" />}
        {i18n._("Hear it")}
      </Button>
      <Problem className="text-right">{problem && known(i18n, problem)}</Problem>
    </div>
  );
}

interface AutoApproveProps {
  readonly allowed: boolean;
  readonly on: boolean;
  readonly set: (on: boolean) => void;
}

export function AutoApprove({ allowed, on, set }: AutoApproveProps) {
  const { i18n } = useLingui();
  const id = useId();
  const about = allowed
    ? i18n._("Commands, changes to files and whatever else it would ask about happen without your yes.")
    : i18n._("Not on this server, or not for you: it asks before it changes something.");
  return (
    <div className="flex items-start justify-between gap-4">
      <div className="grid gap-0.5">
        <span id={id} className="text-small font-medium">
          {i18n._("Act without asking")}
        </span>
        <span id={`${id}-about`} className="text-tiny text-quiet">
          {about}
        </span>
      </div>
      <Switch
        data-testid="auto-approve"
        aria-labelledby={id}
        aria-describedby={`${id}-about`}
        checked={on}
        disabled={!allowed && !on}
        onCheckedChange={set}
      />
    </div>
  );
}
