/** What the element says, in the languages that it brings. Another one is given as `strings`. */

import type { Situation } from "@vivavoce/client";

export interface Strings {
  /** What it is doing, in a few words. */
  readonly situations: Readonly<Record<Situation, string>>;
  readonly waiting: string;
  readonly muted: string;
  readonly ended: string;
  readonly start: string;
  readonly resume: string;
  readonly hangUp: string;
  readonly cancel: string;
  readonly mute: string;
  readonly unmute: string;
  readonly interrupt: string;
  readonly again: string;
  readonly retryNow: string;
  /** `{seconds}` is how long it takes to the next try. */
  readonly retryIn: string;
  readonly write: string;
  readonly send: string;
  readonly transcript: string;
  readonly you: string;
  readonly assistant: string;
  readonly interrupted: string;
  readonly allow: string;
  readonly allowSession: string;
  readonly refuse: string;
  readonly mayIt: string;
  readonly written: string;
  readonly notSent: string;
}

const ENGLISH: Strings = {
  situations: {
    idle: "Ready when you are",
    loading: "One moment…",
    asking: "Your browser asks whether this page may hear you",
    connecting: "Connecting…",
    listening: "Listening",
    hearing: "Listening",
    thinking: "Thinking…",
    speaking: "Speaking",
    tool: "Working on it…",
    reconnecting: "Connection lost",
    ended: "The conversation has ended",
    refused: "No microphone",
    locked: "You are not logged in here",
    failed: "That did not work",
  },
  waiting: "Waiting for your yes",
  muted: "Your microphone is off",
  ended: "The conversation has ended",
  start: "Start talking",
  resume: "Continue talking",
  hangUp: "Hang up",
  cancel: "Cancel",
  mute: "Turn the microphone off",
  unmute: "Turn the microphone on",
  interrupt: "Stop the answer",
  again: "New conversation",
  retryNow: "Retry now",
  retryIn: "Trying again in {seconds} s",
  write: "Write a message",
  send: "Send",
  transcript: "What was said",
  you: "You",
  assistant: "Assistant",
  interrupted: "interrupted",
  allow: "Allow once",
  allowSession: "Allow in this conversation",
  refuse: "No",
  mayIt: "wants to run",
  written: "You can write instead.",
  notSent: "Not sent.",
};

const GERMAN: Strings = {
  situations: {
    idle: "Bereit",
    loading: "Einen Moment …",
    asking: "Ihr Browser fragt, ob diese Seite Sie hören darf",
    connecting: "Verbinde …",
    listening: "Ich höre zu",
    hearing: "Ich höre zu",
    thinking: "Ich denke nach …",
    speaking: "Ich spreche",
    tool: "Ich bin dabei …",
    reconnecting: "Verbindung verloren",
    ended: "Das Gespräch ist beendet",
    refused: "Kein Mikrofon",
    locked: "Sie sind hier nicht angemeldet",
    failed: "Das hat nicht geklappt",
  },
  waiting: "Ich warte auf Ihr Ja",
  muted: "Ihr Mikrofon ist aus",
  ended: "Das Gespräch ist beendet",
  start: "Gespräch beginnen",
  resume: "Weitersprechen",
  hangUp: "Auflegen",
  cancel: "Abbrechen",
  mute: "Mikrofon ausschalten",
  unmute: "Mikrofon einschalten",
  interrupt: "Antwort anhalten",
  again: "Neues Gespräch",
  retryNow: "Jetzt versuchen",
  retryIn: "Neuer Versuch in {seconds} s",
  write: "Nachricht schreiben",
  send: "Senden",
  transcript: "Was gesagt wurde",
  you: "Sie",
  assistant: "Assistent",
  interrupted: "unterbrochen",
  allow: "Einmal erlauben",
  allowSession: "In diesem Gespräch erlauben",
  refuse: "Nein",
  mayIt: "möchte ausführen",
  written: "Sie können stattdessen schreiben.",
  notSent: "Nicht gesendet.",
};

const KNOWN: Readonly<Record<string, Strings>> = { en: ENGLISH, de: GERMAN };

/** `de-AT` is `de`; what nobody has is English. */
export function stringsFor(language: string): Strings {
  return KNOWN[language.toLowerCase().split("-")[0] ?? ""] ?? ENGLISH;
}
