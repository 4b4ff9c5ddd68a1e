/** Words that `@vivavoce/client` or the server has in English, in the language of the page where
 * the catalogue knows them. They are listed here so that the catalogue has them. */

import type { I18n } from "@lingui/core";

export function known(i18n: I18n, text: string): string {
  if (text in i18n.messages) return i18n._(text);
  const number = /\d+/.exec(text)?.[0];
  const id = number ? text.replace(number, "{number}") : text;
  return number && id in i18n.messages ? i18n._(id, { number }) : text;
}

export const STATES = [
  /*i18n*/ "Ready when you are",
  /*i18n*/ "One moment…",
  /*i18n*/ "The models could not be fetched",
  /*i18n*/ "Loading models",
  /*i18n*/ "The server is not ready yet",
  /*i18n*/ "May this page hear you? Your browser asks",
  /*i18n*/ "Connecting",
  /*i18n*/ "Listening",
  /*i18n*/ "Muted",
  /*i18n*/ "You speak",
  /*i18n*/ "Thinking",
  /*i18n*/ "Speaking",
  /*i18n*/ "Waiting for your yes",
  /*i18n*/ "Running a tool",
  /*i18n*/ "Connection lost, reconnecting",
  /*i18n*/ "The conversation has ended",
  /*i18n*/ "No microphone",
  /*i18n*/ "This server asks for a token",
  /*i18n*/ "That did not work",
];

export const INTENTS = [
  /*i18n*/ "Goal",
  /*i18n*/ "New task",
  /*i18n*/ "Rescheduled",
  /*i18n*/ "On its way",
  /*i18n*/ "Saved",
  /*i18n*/ "Changed",
  /*i18n*/ "Not accepted",
  /*i18n*/ "Taken back",
  /*i18n*/ "What",
  /*i18n*/ "By when",
  /*i18n*/ "Notes",
  /*i18n*/ "When",
  /*i18n*/ "Repeats",
  /*i18n*/ "Where",
  /*i18n*/ "New time",
  /*i18n*/ "Why",
];

export const TASKS = [
  /*i18n*/ "Running",
  /*i18n*/ "Waiting for you",
  /*i18n*/ "Done",
  /*i18n*/ "Failed",
  /*i18n*/ "Cancelled",
];

export const ASKERS = [/*i18n*/ "a task", /*i18n*/ "a program that uses this server"];

export const MODELS = [
  /*i18n*/ "missing",
  /*i18n*/ "verifying",
  /*i18n*/ "failed",
];

export const MICROPHONE = [
  /*i18n*/ "This page may not hear you. Allow the microphone in the address bar, then try again.",
  /*i18n*/ "Browsers give the microphone only to https pages and to localhost.",
  /*i18n*/ "No microphone was found. Plug one in, then try again.",
  /*i18n*/ "The microphone is in use by another program, or does not answer.",
  /*i18n*/ "The microphone could not be opened.",
];

export const FAULTS = [
  /*i18n*/ "It goes on in another window or on another device.",
  /*i18n*/ "The server does not answer.",
  /*i18n*/ "The server does not know this talk any more. Try again to begin a new one.",
  /*i18n*/ "This token is not right.",
  /*i18n*/ "The microphone is gone. Plug it in, then try again.",
  /*i18n*/ "The server answered {number}.",
  /*i18n*/ "The server is not ready.",
  /*i18n*/ "The server does not know this session any more.",
  /*i18n*/ "The connection was lost.",
  /*i18n*/ "This browser has no WebRTC.",
  /*i18n*/ "WebRTC did not connect in time.",
  /*i18n*/ "WebRTC finds no network interface.",
  /*i18n*/ "WebRTC could not connect.",
  /*i18n*/ "The WebSocket for the sound was closed at once.",
  /*i18n*/ "The WebSocket for the sound was refused.",
  /*i18n*/ "The WebSocket for the sound did not open in time.",
  /*i18n*/ "No answer yet. It is kept when it comes: look again in a while.",
];

export const TALKS = [
  /*i18n*/ "Nothing was said",
  /*i18n*/ "Still there? Without a word this ends in {number} seconds.",
  /*i18n*/ "This conversation ends in {number} seconds.",
  /*i18n*/ "This server stops. One moment, I look for another.",
  /*i18n*/ "The conversation has ended.",
  /*i18n*/ "Ended, since nobody said a word for a while.",
  /*i18n*/ "Ended: it was as long as it may be.",
  /*i18n*/ "Ended: no call came about.",
  /*i18n*/ "Ended: the server was shut down.",
];

export const NOTICES = [
  /*i18n*/ "Notices need a page that is served by https.",
  /*i18n*/ "This browser has no service workers.",
  /*i18n*/ "On an iPhone or iPad, add this page to the home screen first, and open it from there.",
  /*i18n*/ "This browser takes no notices.",
  /*i18n*/ "This page's service worker does not run.",
];
