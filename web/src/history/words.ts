/** What kind of conversation it was. */

import type { I18n } from "@lingui/core";

export function typeWords(i18n: I18n, type: string): string {
  switch (type) {
    case "voice":
      return i18n._("Talk");
    case "onboarding":
      return i18n._("First talk");
    case "goal":
      return i18n._("Goal");
    case "task":
      return i18n._("Task");
    case "reschedule":
      return i18n._("Another time");
    default:
      return type;
  }
}
