/** The orb, what it is doing in words, and the buttons of a talk: large where there is nothing else
 * to see, else one row above the place to write. */

import { useLingui } from "@lingui/react";
import { busy, situation, type State } from "@vivavoce/client";
import { useVivavoce, useVivavoceState, VoiceOrb } from "@vivavoce/react";
import { Maximize2, Mic, MicOff, Phone, PhoneOff, RotateCcw, Square } from "lucide-react";
import { type PointerEvent, useRef } from "react";
import { Button } from "../parts/button";
import { cx } from "../parts/cx";
import { Tooltip } from "../parts/tooltip";
import { failed, goesOn, hintWords, stateWords, talkWords } from "../words/talk";
import { KEYS } from "./keys";
import { showVoiceView } from "./view";

const ANSWERING = ["thinking", "speaking", "tool"];

/** Until it is read, nobody knows what would go on. */
const unread = ({ history: { past } }: State) => past?.reading === true && past.messages.length === 0;

interface Props {
  readonly large: boolean;
  /** It has the whole window. */
  readonly view: boolean;
  readonly press: () => void;
}

export function Dock({ large, view, press }: Props) {
  const state = useVivavoceState();
  const off = unread(state);
  const orb = <OrbButton large={large} view={view} modest={failed(state)} talking={busy(state)} off={off} press={press} />;
  const words = <StateWords state={state} large={large} />;
  const buttons = <Buttons state={state} large={large} off={off} press={press} />;
  if (!large) {
    return (
      <div className="flex items-center gap-3 border-b border-line py-2 pr-2 pl-3">
        {orb}
        {words}
        {buttons}
      </div>
    );
  }
  return (
    <div className="flex flex-col items-center gap-3 pb-5">
      {orb}
      {words}
      {buttons}
    </div>
  );
}

interface OrbProps {
  readonly large: boolean;
  readonly view: boolean;
  /** A small screen needs the room for what went wrong. */
  readonly modest: boolean;
  readonly talking: boolean;
  readonly off: boolean;
  readonly press: () => void;
}

/** In a talk it leads to the large view; before one it begins it, as the button does that has the words. */
function OrbButton({ large, view, modest, talking, off, press }: OrbProps) {
  const { i18n } = useLingui();
  const look = cx(
    "group relative shrink-0 rounded-full",
    !large ? "size-11" : view ? "size-[min(42dvh,17rem)]" : "size-[min(28dvh,13rem)]",
    large && modest && "max-wide:size-[min(18dvh,8rem)] short:size-20",
  );
  const orb = <VoiceOrb className="block size-full" />;
  if (talking && !view) {
    return (
      <Tooltip words={i18n._("Large view")} shortcut={KEYS.view}>
        <button
          type="button"
          data-testid="orb"
          className={look}
          aria-label={i18n._("Large view")}
          onClick={() => showVoiceView(true)}
        >
          {orb}
          {!large && (
            <Maximize2
              aria-hidden="true"
              className="absolute inset-0 m-auto size-4 text-card opacity-0 transition-opacity group-hover:opacity-100 group-focus-visible:opacity-100"
            />
          )}
        </button>
      </Tooltip>
    );
  }
  if (talking) {
    return (
      <div data-testid="orb" className={look} aria-hidden="true">
        {orb}
      </div>
    );
  }
  return (
    <button
      type="button"
      data-testid="orb"
      aria-hidden="true"
      tabIndex={-1}
      disabled={off}
      onClick={press}
      className={look}
    >
      {orb}
    </button>
  );
}

function StateWords({ state, large }: { state: State; large: boolean }) {
  const { i18n } = useLingui();
  const hint = hintWords(i18n, state);
  return (
    <div className={cx("min-w-0", large ? "px-5 text-center" : "flex-1")}>
      <p
        data-testid="state"
        role="status"
        aria-live="polite"
        className={cx(
          large ? "text-lead leading-snug" : "line-clamp-3 text-small leading-tight wide:text-body",
          failed(state) ? "text-bad" : "text-ink",
        )}
      >
        {stateWords(i18n, state)}
      </p>
      {hint && <p className="text-tiny text-quiet wide:text-small">{hint}</p>}
    </div>
  );
}

interface ButtonsProps {
  readonly state: State;
  readonly large: boolean;
  readonly off: boolean;
  readonly press: () => void;
}

function Buttons({ state, large, off, press }: ButtonsProps) {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const talking = busy(state);
  const words = talkWords(i18n, state);
  const Icon = talking ? PhoneOff : failed(state) ? RotateCcw : goesOn(state) ? Phone : Mic;
  return (
    <div className={cx("flex items-center justify-center", large ? "gap-3" : "gap-2")}>
      {talking && <Mute muted={state.muted} />}
      {talking && (
        <Tooltip words={i18n._("Stop the answer")} shortcut={i18n._("Esc")}>
          <Button
            size="icon"
            aria-label={i18n._("Stop the answer")}
            aria-keyshortcuts="Escape"
            data-testid="interrupt"
            aria-disabled={!ANSWERING.includes(situation(state))}
            onClick={() => client.interrupt()}
          >
            <Square aria-hidden="true" />
          </Button>
        </Tooltip>
      )}
      <Tooltip words={words} shortcut={KEYS.talk}>
        <Button
          tone={talking ? "live" : "main"}
          size="body"
          data-testid="talk"
          aria-keyshortcuts={KEYS.talk}
          disabled={off}
          onClick={press}
          className={cx(talking && !large && "px-3.5 wide:px-5")}
        >
          <Icon aria-hidden="true" />
          <span className={cx(talking && !large && "sr-only wide:not-sr-only")}>{words}</span>
        </Button>
      </Tooltip>
    </div>
  );
}

const HELD_MS = 350; // longer than a press that only switches

/** Pressed it switches; held while muted it is open as long as it is held. */
function Mute({ muted }: { muted: boolean }) {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const since = useRef<number | null>(null);
  const Icon = muted ? MicOff : Mic;
  const down = ({ button, currentTarget, pointerId }: PointerEvent<HTMLButtonElement>) => {
    if (button !== 0 || !muted) return;
    currentTarget.setPointerCapture(pointerId);
    since.current = performance.now();
    client.mute(false);
  };
  const up = () => {
    if (since.current === null) return;
    const held = performance.now() - since.current >= HELD_MS;
    if (held) client.mute(true);
    // A short press has opened it already, and the click that follows must not close it.
    setTimeout(() => (since.current = null));
  };
  const press = () => {
    if (since.current === null) client.mute(!muted);
  };
  return (
    <Tooltip words={muted ? i18n._("Let it hear you") : i18n._("Mute")} shortcut={KEYS.mute}>
      <Button
        size="icon"
        tone={muted ? "bad" : "plain"}
        aria-label={i18n._("Mute")}
        aria-pressed={muted}
        aria-keyshortcuts={KEYS.mute}
        data-testid="mute"
        className="touch-none"
        onPointerDown={down}
        onPointerUp={up}
        onPointerCancel={up}
        onClick={press}
      >
        <Icon aria-hidden="true" />
      </Button>
    </Tooltip>
  );
}
