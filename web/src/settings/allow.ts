/** How a user lets this page hear them, in the browser that they have. Pure. */

import type { I18n } from "../words/i18n";

export type Browser = "chrome" | "edge" | "firefox" | "safari" | "ios" | "android" | "other";

export function browserOf(agent: string, touches = 0): Browser {
  // An iPad says that it is a Mac, and has fingers.
  if (/iPhone|iPad|iPod/.test(agent) || (/Macintosh/.test(agent) && touches > 1)) return "ios";
  if (/Firefox\//.test(agent)) return "firefox";
  if (/Android/.test(agent)) return "android";
  if (/Edg\//.test(agent)) return "edge";
  if (/Chrome\//.test(agent)) return "chrome";
  if (/Safari\//.test(agent)) return "safari";
  return "other";
}

export function stepsFor(i18n: I18n, browser: Browser): readonly string[] {
  const again = i18n._("Then try again. If nothing changed, load the page anew first.");
  switch (browser) {
    case "chrome":
    case "edge":
      return [
        i18n._("Click the sign to the left of the address, at the top."),
        i18n._("Switch “Microphone” on."),
        again,
      ];
    case "firefox":
      return [
        i18n._("Click the crossed-out microphone to the left of the address, at the top."),
        i18n._("Take the “Blocked” away beside “Use the microphone”."),
        again,
      ];
    case "safari":
      return [
        i18n._("In the menu “Safari”, open “Settings for this website…”."),
        i18n._("Beside “Microphone”, choose “Allow”."),
        again,
      ];
    case "ios":
      return [
        i18n._("Tap the sign beside the address, then “Website Settings”, and allow the microphone."),
        i18n._("If it is not there: in the device’s Settings, open the browser’s page and allow the microphone."),
        again,
      ];
    case "android":
      return [
        i18n._("Tap the sign to the left of the address, then “Permissions”."),
        i18n._("Allow the microphone. If it is greyed out, allow it for the browser in Android’s settings."),
        again,
      ];
    case "other":
      return [i18n._("In the browser’s settings for this page, allow the microphone."), again];
  }
}
