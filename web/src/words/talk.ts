/** The talk in words: what it is doing, and what the button does. */

import type { I18n } from "@lingui/core";
import { busy, progress, situation, type State, visible, words } from "@vivavoce/client";
import { known } from "./known";
import { percentWords } from "./region";

export function stateWords(i18n: I18n, state: State): string {
  const part = progress(state.loading);
  switch (situation(state)) {
    case "listening":
      return state.muted ? i18n._("Muted") : i18n._("Listening"); // what runs meanwhile is below
    case "tool":
      return toolsWords(i18n, state) ?? known(i18n, words(state));
    case "loading":
      return part === null ? known(i18n, words(state)) : i18n._("Loading models, {part}", { part: percentWords(i18n, part) });
    default:
      return known(i18n, words(state));
  }
}

/** What can be done about it, or what goes on beside it, below its words. */
export function hintWords(i18n: I18n, state: State): string | null {
  const now = situation(state);
  if (state.muted && busy(state) && !["asking", "connecting", "loading"].includes(now)) {
    const touch = globalThis.matchMedia?.("(pointer: coarse)").matches ?? false;
    return touch ? i18n._("Hold mic to speak") : i18n._("Hold Space to speak");
  }
  return now === "listening" ? toolsWords(i18n, state) : null;
}

/** It is red, and there is something to try again. */
export function failed(state: State): boolean {
  return ["refused", "failed"].includes(situation(state));
}

/** What runs, as its card says it; one that waits for a yes does not run. How far it is stands on
 * the card alone: here each step would be read out. */
function toolsWords(i18n: I18n, { work, tools, lines }: State): string | null {
  const asking = work.approvals.map((one) => one.call_id);
  const running = tools.filter(({ callId }) => !asking.includes(callId));
  const [only] = running;
  if (!only) return null;
  if (running.length > 1) return i18n._("{count} tools are running", { count: running.length });
  const card = lines.find(({ id }) => id === only.callId);
  return known(i18n, visible(card?.text || only.name));
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
