/** The talk in words: what it is doing, and what the button does. */

import type { I18n } from "@lingui/core";
import { busy, progress, situation, type State, words } from "@vivavoce/client";
import { known } from "./known";

export function stateWords(i18n: I18n, state: State): string {
  const tools = toolNames(state);
  const part = progress(state.loading);
  switch (situation(state)) {
    case "listening":
      if (state.muted) return known(i18n, words(state));
      return tools ? i18n._("Listening, while {tools} runs", { tools }) : i18n._("Listening");
    case "tool":
      return tools ? i18n._("Running {tools}", { tools }) : known(i18n, words(state));
    case "loading":
      return part === null ? known(i18n, words(state)) : i18n._("Loading models, {part} %", { part });
    default:
      return known(i18n, words(state));
  }
}

/** What can be done about it, below its words. */
export function hintWords(i18n: I18n, state: State): string | null {
  const now = situation(state);
  if (state.muted && busy(state) && !["asking", "connecting", "loading"].includes(now)) {
    const touch = globalThis.matchMedia?.("(pointer: coarse)").matches ?? false;
    return touch ? i18n._("Hold the microphone to speak") : i18n._("Hold Space to speak");
  }
  return null;
}

/** It is red, and there is something to try again. */
export function failed(state: State): boolean {
  return ["refused", "failed"].includes(situation(state));
}

/** Those that run: one that waits for a yes does not. */
function toolNames(state: State): string {
  const asking = state.work.approvals.map((one) => one.call_id);
  return state.tools
    .filter(({ callId }) => !asking.includes(callId))
    .map(({ name, percentage }) => (percentage === null ? name : `${name} (${percentage} %)`))
    .join(", ");
}

/** What is on the page goes on with the button, and is not begun anew. */
export function goesOn(state: State): boolean {
  return state.history.past !== null || state.ended !== null || state.conversation !== null;
}

export function talkWords(i18n: I18n, state: State): string {
  if (busy(state)) {
    const early = ["asking", "connecting", "loading"].includes(situation(state));
    return early ? i18n._("Cancel") : i18n._("Hang up");
  }
  if (failed(state)) return i18n._("Try again");
  if (state.history.past) return i18n._("Continue by voice");
  if (state.elsewhere) return i18n._("Continue here");
  if (state.ended !== null) return i18n._("Reconnect");
  return goesOn(state) ? i18n._("Continue") : i18n._("Start talking");
}
