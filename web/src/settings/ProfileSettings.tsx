/** What the agent knows of the user: it says the name, and counts in their time. */

import { useLingui } from "@lingui/react";
import type { Hours } from "@vivavoce/client";
import { type FormEvent, useState } from "react";
import { LogOut } from "../login/LogOut";
import { Button } from "../parts/button";
import { Field, Input, Select } from "../parts/input";
import { Problem } from "../parts/pane";
import { Section } from "./Section";
import { type Profile, useChangeProfile, useProfile } from "./server";

export function ProfileSettings() {
  const { i18n } = useLingui();
  const { data } = useProfile();
  if (!data) return null;
  return (
    <Section title={i18n._("You")}>
      <ProfileForm key={JSON.stringify(data)} profile={data} />
      <LogOut />
    </Section>
  );
}

export function ProfileForm({ profile }: { profile: Profile }) {
  const { i18n } = useLingui();
  const change = useChangeProfile();
  const [half, setHalf] = useState(false);
  const local = here();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setHalf(isHalf(form));
    if (!isHalf(form)) change.mutate(wanted(form));
  };
  return (
    <form className="grid gap-4" data-testid="profile" onSubmit={submit}>
      <Field label={i18n._("Your name")}>
        {(id) => <Input id={id} name="name" maxLength={200} autoComplete="name" defaultValue={profile.name ?? ""} />}
      </Field>
      <Field label={i18n._("Time zone")}>
        {(id) => (
          <Select id={id} name="time_zone" defaultValue={profile.time_zone ?? ""}>
            <option value="">{i18n._("The server’s")}</option>
            {zones(profile.time_zone).map((zone) => (
              <option key={zone} value={zone}>
                {zone === local ? i18n._("{zone} (here)", { zone }) : zone}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <HoursField name="work" label={i18n._("You work")} hours={profile.work_hours} />
      <HoursField name="sleep" label={i18n._("You sleep")} hours={profile.sleep_window} />
      <Problem>{half && i18n._("Give both times, or none.")}</Problem>
      <Button type="submit" className="justify-self-start" data-testid="save-profile" disabled={change.isPending}>
        {i18n._("Save")}
      </Button>
    </form>
  );
}

function HoursField({ name, label, hours }: { name: string; label: string; hours: Hours | null }) {
  const { i18n } = useLingui();
  return (
    <fieldset className="grid gap-1.5">
      <legend className="text-small font-medium">{label}</legend>
      <div className="flex items-center gap-3">
        <Input
          type="time"
          name={`${name}_start`}
          aria-label={i18n._("{what}: from", { what: label })}
          defaultValue={hours?.start ?? ""}
        />
        <span aria-hidden="true">–</span>
        <Input
          type="time"
          name={`${name}_end`}
          aria-label={i18n._("{what}: until", { what: label })}
          defaultValue={hours?.end ?? ""}
        />
      </div>
    </fieldset>
  );
}

/** What the form says, as the server takes it: what is empty is taken away. */
export function wanted(form: FormData): Partial<Profile> {
  const text = (name: string) => String(form.get(name) ?? "").trim() || null;
  const hours = (name: string): Hours | null => {
    const [start, end] = [text(`${name}_start`), text(`${name}_end`)];
    return start && end ? { start, end } : null;
  };
  return {
    name: text("name"),
    time_zone: text("time_zone"),
    work_hours: hours("work"),
    sleep_window: hours("sleep"),
  };
}

/** From when, but not until when; or the other way round. */
export function isHalf(form: FormData): boolean {
  return ["work", "sleep"].some((name) => !form.get(`${name}_start`) !== !form.get(`${name}_end`));
}

const here = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** This browser's first, then all that it knows, and the one that is kept if it knows that not. */
export function zones(kept: string | null, first: string = here()): readonly string[] {
  const all = Intl.supportedValuesOf("timeZone");
  return [...new Set([first, ...(kept ? [kept] : []), ...all])];
}
