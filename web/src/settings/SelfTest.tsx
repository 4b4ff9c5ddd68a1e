/** Everything that a talk needs, tried one by one. */

import { useLingui } from "@lingui/react";
import { busy, openMicrophone, type StatusResponse } from "@vivavoce/client";
import { useVivavoce } from "@vivavoce/react";
import { CircleAlert, CircleCheck, CircleDashed, Clock, LoaderCircle, Stethoscope } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { queries } from "../app/query";
import { Button } from "../parts/button";
import { cx } from "../parts/cx";
import type { I18n } from "../words/i18n";
import { HowToAllow } from "./HowToAllow";
import { Section } from "./Section";
import { callFor, heardIt, loudest, type Part, PARTS, type Probes, tested, type Verdict } from "./selftest";
import { playNotes } from "./sound";

type Verdicts = Partial<Record<Part, Verdict>>;

export function SelfTest() {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const [found, setFound] = useState<Verdicts | null>(null);
  const [running, setRunning] = useState(false);
  const here = useRef(true);
  useEffect(() => {
    here.current = true;
    return () => void (here.current = false);
  }, []);
  const run = async () => {
    setRunning(true);
    setFound({});
    for await (const [part, verdict] of tested(i18n, probesOf(client))) {
      if (!here.current) return;
      setFound((before) => ({ ...before, [part]: verdict }));
    }
    setRunning(false);
  };
  return (
    <Section title={i18n._("Does everything work?")}>
      <p className="text-small text-quiet">
        {i18n._("Tries the server, its brain, ears and mouth, your microphone, both ways for the sound, and your loudspeaker. It takes some seconds; say something meanwhile.")}
      </p>
      <Button className="justify-self-start" data-testid="self-test" aria-disabled={running} onClick={() => !running && void run()}>
        <Stethoscope aria-hidden="true" />
        {found ? i18n._("Test again") : i18n._("Test everything")}
      </Button>
      {found && (
        <Results
          found={found}
          running={running}
          answer={(heard) => setFound({ ...found, speaker: heardIt(i18n, heard) })}
        />
      )}
    </Section>
  );
}

interface ResultsProps {
  readonly found: Verdicts;
  readonly running: boolean;
  readonly answer: (heard: boolean) => void;
}

export function Results({ found, running, answer }: ResultsProps) {
  const { i18n } = useLingui();
  const now = running ? PARTS.find((part) => !found[part]) : null;
  const count = Object.values(found).filter(({ state }) => state === "bad").length;
  const asks = !running && found.speaker?.state === "untold";
  return (
    <div className="grid gap-3">
      <ul className="grid gap-2.5" data-testid="results" aria-busy={running}>
        {PARTS.map((part) => (
          <Row key={part} part={part} verdict={found[part]} now={part === now}>
            {part === "microphone" && found.microphone?.refusal && <HowToAllow problem={found.microphone.refusal} />}
            {part === "speaker" && asks && (
              <div className="flex gap-2 pt-1.5">
                <Button data-testid="heard-it" onClick={() => answer(true)}>
                  {i18n._("Yes")}
                </Button>
                <Button data-testid="heard-nothing" onClick={() => answer(false)}>
                  {i18n._("No")}
                </Button>
              </div>
            )}
          </Row>
        ))}
      </ul>
      <p role="status" className="text-small font-medium" data-testid="verdict">
        {running
          ? i18n._("Testing…")
          : count === 0
            ? i18n._("No failure was found.")
            : i18n._("{count, plural, one {# part does not work.} other {# parts do not work.}}", { count })}
      </p>
    </div>
  );
}

const SIGNS = {
  good: [CircleCheck, "text-good"],
  bad: [CircleAlert, "text-bad"],
  later: [Clock, "text-warn"],
  untold: [CircleDashed, "text-quiet"],
} as const;

interface RowProps {
  readonly part: Part;
  readonly verdict: Verdict | undefined;
  readonly now: boolean;
  readonly children: ReactNode;
}

function Row({ part, verdict, now, children }: RowProps) {
  const { i18n } = useLingui();
  const [Sign, colour] = verdict ? SIGNS[verdict.state] : ([now ? LoaderCircle : CircleDashed, "text-quiet"] as const);
  return (
    <li className="flex gap-3 text-small" data-part={part} data-verdict={verdict?.state}>
      <Sign className={cx("mt-0.5 size-5 shrink-0", colour, now && "motion-safe:animate-spin")} aria-hidden="true" />
      <div className="min-w-0">
        <p className="font-medium">{nameOf(i18n, part)}</p>
        {verdict && (
          <p className={cx("wrap-anywhere", verdict.state === "bad" ? "text-bad" : "text-quiet")}>{verdict.words}</p>
        )}
        {children}
      </div>
    </li>
  );
}

export function nameOf(i18n: I18n, part: Part): string {
  switch (part) {
    case "server":
      return i18n._("Server");
    case "brain":
      return i18n._("Brain (thinks)");
    case "ears":
      return i18n._("Ears (understand you)");
    case "mouth":
      return i18n._("Mouth (speaks)");
    case "microphone":
      return i18n._("Your microphone");
    case "webrtc":
      return i18n._("Network: WebRTC");
    case "websocket":
      return i18n._("Network: WebSocket");
    case "speaker":
      return i18n._("Your loudspeaker");
  }
}

function probesOf(client: ReturnType<typeof useVivavoce>): Probes {
  const { api, devices, state } = client;
  const talking = busy(state);
  let voice = "";
  let ours = false;
  return {
    talking,
    transport: state.transport,
    async status() {
      const status = await api.get<StatusResponse>("status");
      queries.setQueryData(["status"], status);
      voice = status.openai.voice;
      ours = status.engine?.ready === true;
      return status;
    },
    ready: () => api.ready(),
    sample: () =>
      ours ? api.file(`config/voices/${encodeURIComponent(voice)}/sample`).then(() => undefined) : null,
    async listen() {
      if (talking) return loudest(() => client.level());
      const microphone = await openMicrophone(devices);
      try {
        return await loudest(() => microphone.level());
      } finally {
        microphone.close();
      }
    },
    call: (kind) => callFor(api, kind),
    play: () => playNotes(devices.speaker),
  };
}
