/** Which microphone and which loudspeaker, and whether they work. */

import { useLingui } from "@lingui/react";
import { barOf, busy, type Devices, type Microphone, openMicrophone } from "@vivavoce/client";
import { useVivavoce, useVivavoceState } from "@vivavoce/react";
import { Mic, Square, Volume2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Button } from "../parts/button";
import { Field, Select } from "../parts/input";
import { Problem } from "../parts/pane";
import { known } from "../words/known";
import { chosen, keepDevices, useFound } from "./devices";
import { HowToAllow } from "./HowToAllow";
import { Section } from "./Section";
import { playNotes } from "./sound";

export function DeviceSettings() {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const talking = useVivavoceState(busy);
  const [wanted, setWanted] = useState<Devices>(client.devices);
  const [opened, setOpened] = useState(0); // then the browser tells the names
  const found = useFound(opened);
  const choose = (what: keyof Devices, id: string) => {
    const next = chosen(wanted, what, id);
    client.devices = next;
    keepDevices(next);
    setWanted(next);
  };
  return (
    <Section title={i18n._("Microphone and loudspeaker")}>
      <Device
        label={i18n._("Microphone")}
        name="microphone"
        all={found.microphones}
        id={wanted.microphone ?? ""}
        choose={(id) => choose("microphone", id)}
      />
      <MicrophoneTest key={wanted.microphone ?? ""} devices={wanted} opened={() => setOpened((n) => n + 1)} />
      {canChooseSpeaker() && (
        <Device
          label={i18n._("Loudspeaker")}
          name="speaker"
          all={found.speakers}
          id={wanted.speaker ?? ""}
          choose={(id) => choose("speaker", id)}
        />
      )}
      <SpeakerTest speaker={wanted.speaker} />
      {!found.named && (
        <p className="text-tiny text-quiet">
          {i18n._("Their names are here once the microphone was allowed: test it.")}
        </p>
      )}
      {talking && <p className="text-tiny text-quiet">{i18n._("What you choose holds from the next talk on.")}</p>}
    </Section>
  );
}

interface DeviceProps {
  readonly label: string;
  readonly name: string;
  readonly all: readonly MediaDeviceInfo[];
  readonly id: string;
  readonly choose: (id: string) => void;
}

function Device({ label, name, all, id, choose }: DeviceProps) {
  const { i18n } = useLingui();
  const there = id === "" || all.some((one) => one.deviceId === id);
  return (
    <Field label={label}>
      {(field) => (
        <Select id={field} data-testid={name} value={id} onChange={(event) => choose(event.target.value)}>
          <option value="">{i18n._("The usual one")}</option>
          {!there && <option value={id}>{i18n._("The one you chose (not found now)")}</option>}
          {all.map((one, index) => (
            <option key={one.deviceId} value={one.deviceId}>
              {one.label || i18n._("Number {number}", { number: index + 1 })}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
}

const HEARD = 0.25; // of the bar: more than the noise of a room

/** How loud it is, for as long as somebody looks. */
function MicrophoneTest({ devices, opened }: { devices: Devices; opened: () => void }) {
  const { i18n } = useLingui();
  const [microphone, setMicrophone] = useState<Microphone | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [heard, setHeard] = useState(false);
  const bar = useRef<HTMLDivElement>(null);
  const here = useRef(true);
  useEffect(() => {
    here.current = true;
    return () => void (here.current = false);
  }, []);
  useEffect(() => {
    if (!microphone) return undefined;
    let frame = requestAnimationFrame(function look() {
      const loud = barOf(microphone.level());
      if (bar.current) bar.current.style.width = `${100 * loud}%`;
      if (loud > HEARD) setHeard(true);
      frame = requestAnimationFrame(look);
    });
    return () => {
      cancelAnimationFrame(frame);
      microphone.close();
    };
  }, [microphone]);
  const press = () => {
    if (microphone) return setMicrophone(null);
    setProblem(null);
    setHeard(false);
    openMicrophone(devices).then(
      (open) => {
        if (!here.current) return open.close();
        setMicrophone(open);
        opened();
      },
      (fault: Error) => setProblem(fault.message),
    );
  };
  return (
    <div className="grid gap-2">
      <div className="flex items-center gap-3">
        <Button data-testid="test-microphone" aria-pressed={microphone !== null} onClick={press}>
          {microphone ? <Square aria-hidden="true" /> : <Mic aria-hidden="true" />}
          {microphone ? i18n._("Stop the test") : i18n._("Test the microphone")}
        </Button>
        <div className="h-2 flex-1 overflow-hidden rounded-full bg-well" aria-hidden="true">
          {microphone && <div ref={bar} className="h-full w-0 rounded-full bg-good" />}
        </div>
      </div>
      <p role="status" data-testid="hears" className="text-small text-quiet empty:hidden">
        {microphone && (heard ? i18n._("It hears you.") : i18n._("Say something…"))}
      </p>
      <Problem>{problem && known(i18n, problem)}</Problem>
      {problem && <HowToAllow problem={problem} />}
    </div>
  );
}

function SpeakerTest({ speaker }: { speaker: string | undefined }) {
  const { i18n } = useLingui();
  const [playing, setPlaying] = useState(false);
  const [problem, setProblem] = useState(false);
  const press = () => {
    setPlaying(true);
    setProblem(false);
    void playNotes(speaker)
      .catch(() => setProblem(true))
      .finally(() => setPlaying(false));
  };
  return (
    <div className="grid justify-items-start gap-2">
      <Button data-testid="test-speaker" disabled={playing} onClick={press}>
        <Volume2 aria-hidden="true" />
        {i18n._("Play two notes")}
      </Button>
      <Problem>{problem && i18n._("This browser lets no sound out. Is the tab muted?")}</Problem>
    </div>
  );
}

function canChooseSpeaker(): boolean {
  return "setSinkId" in (globalThis.HTMLMediaElement?.prototype ?? {});
}
