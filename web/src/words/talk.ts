/** The talk in words: what it is doing, and what the button does. */

import type { I18n } from "@lingui/core";
import { busy, progress, situation, type State, words } from "@vivavoce/client";
import { known } from "./known";

export function stateWords(i18n: I18n, state: State): string {
  const tools = toolNames(state);
  const part = progress(state.loading);
  switch (situation(state)) {
    case "listening":
      return tools ? i18n._("Listening, while {tools} runs", { tools }) : i18n._("Listening");
    case "tool":
      return tools ? i18n._("Running {tools}", { tools }) : known(i18n, words(state));
    case "loading":
      return part === null ? known(i18n, words(state)) : i18n._("Loading models, {part} %", { part });
    default:
      return known(i18n, words(state));
  }
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
  if (state.history.past) return i18n._("Continue by voice");
  if (state.elsewhere) return i18n._("Continue here");
  if (state.ended !== null) return i18n._("Reconnect");
  return goesOn(state) ? i18n._("Continue") : i18n._("Start talking");
}
