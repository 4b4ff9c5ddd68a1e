/** The orb, what it is doing in words, and the buttons of a talk. */

import { useLingui } from "@lingui/react";
import { busy, situation, type State } from "@vivavoce/client";
import { useVivavoce, useVivavoceState, VoiceOrb } from "@vivavoce/react";
import { Mic, MicOff, Phone, PhoneOff, Square } from "lucide-react";
import { Button } from "../parts/button";
import { cx } from "../parts/cx";
import { Tooltip } from "../parts/tooltip";
import { goesOn, stateWords, talkWords } from "../words/talk";

const ANSWERING = ["thinking", "speaking", "tool"];

/** Until it is read, nobody knows what would go on. */
const unread = ({ history: { past } }: State) => past?.reading === true && past.messages.length === 0;

export function Dock({ large }: { large: boolean }) {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const state = useVivavoceState();
  const talking = busy(state);
  const off = unread(state);
  const press = () => {
    if (talking) void client.stop();
    else if (goesOn(state) && state.ended === null && !state.history.past) client.resume();
    else client.start();
  };
  const words = talkWords(i18n, state);
  return (
    <div className={cx("flex flex-col items-center pb-3", large ? "gap-3" : "gap-1.5")}>
      {/* The button below has the words: here is a larger place to press. */}
      <button
        type="button"
        data-testid="orb"
        aria-hidden="true"
        tabIndex={-1}
        disabled={off}
        onClick={press}
        className={cx(
          "rounded-full transition-[width,height] duration-300 ease-out",
          large ? "size-52" : talking ? "size-32" : "size-20",
        )}
      >
        <VoiceOrb className="block size-full" />
      </button>
      <p
        data-testid="state"
        role="status"
        aria-live="polite"
        className="min-h-6 text-center text-body text-quiet"
      >
        {stateWords(i18n, state)}
      </p>
      <div className="flex items-center justify-center gap-3">
        {talking && <Mute muted={state.muted} mute={(on) => client.mute(on)} />}
        <Button
          tone={talking ? "live" : "main"}
          size="body"
          data-testid="talk"
          disabled={off}
          onClick={press}
        >
          {talking ? <PhoneOff aria-hidden="true" /> : goesOn(state) ? <Phone aria-hidden="true" /> : <Mic aria-hidden="true" />}
          {words}
        </Button>
        {talking && (
          <Tooltip words={i18n._("Stop the answer")}>
            <Button
              size="icon"
              aria-label={i18n._("Stop the answer")}
              data-testid="interrupt"
              aria-disabled={!ANSWERING.includes(situation(state))}
              onClick={() => client.interrupt()}
            >
              <Square aria-hidden="true" />
            </Button>
          </Tooltip>
        )}
      </div>
    </div>
  );
}

function Mute({ muted, mute }: { muted: boolean; mute: (on: boolean) => void }) {
  const { i18n } = useLingui();
  const Icon = muted ? MicOff : Mic;
  return (
    <Tooltip words={muted ? i18n._("Let it hear you") : i18n._("Mute")}>
      <Button
        size="icon"
        tone={muted ? "bad" : "plain"}
        aria-label={i18n._("Mute")}
        aria-pressed={muted}
        data-testid="mute"
        onClick={() => mute(!muted)}
      >
        <Icon aria-hidden="true" />
      </Button>
    </Tooltip>
  );
}
