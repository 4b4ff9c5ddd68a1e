/** Words that `@vivavoce/client` or the server has in English, in the language of the page where
 * the catalogue knows them. They are listed here so that the catalogue has them. */

import type { I18n } from "@lingui/core";
import { valuesOf } from "./pattern";

/** Word for word: for what may also be a user's own text. */
export function exactly(i18n: I18n, text: string): string {
  return text in i18n.messages ? i18n._(text) : text;
}

export function known(i18n: I18n, text: string): string {
  if (text in i18n.messages) return i18n._(text);
  for (const id of PATTERNS) {
    const values = valuesOf(id, text);
    if (values === null) continue;
    const told = Object.entries(values).map(([name, value]) => [name, exactly(i18n, value)]);
    return i18n._(id, Object.fromEntries(told));
  }
  return text;
}

/** A pattern in the page's language, with its places still to be filled. */
export function patternIn(i18n: I18n, id: string): string {
  const places = [...id.matchAll(/\{(\w+)\}/g)].map(([whole, name]) => [name, whole]);
  return i18n._(id, Object.fromEntries(places));
}

/** What went wrong, by its code; null for a code that says nothing by itself. */
export function byCode(i18n: I18n, code: string, message: string): string | null {
  const id = CODES[code];
  return id === undefined ? null : i18n._(id, { message });
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

/** What a session says of its faults, aloud and on the page (`errors.SPOKEN` of the server). */
export const SPOKEN = [
  /*i18n*/ "I couldn't find that file. Would you like me to search for it?",
  /*i18n*/ "I don't have permission to access that. Is it a protected file?",
  /*i18n*/ "That operation is taking too long. Should I keep trying?",
  /*i18n*/ "This is taking longer than usual, and it is still running. Say stop, and I end it.",
  /*i18n*/ "Our session timed out. Let me reconnect and pick up where we left off.",
  /*i18n*/ "I need to slow down a bit. Give me a moment.",
  /*i18n*/ "I still have to wait before I can answer. Please ask me again in a minute.",
  /*i18n*/ "What I may use of my voice service is used up, so I can't answer.",
  /*i18n*/ "My voice service does not let me in, so I can't answer.",
  /*i18n*/ "We've been talking for a while. Let me summarize our conversation so we can continue.",
  /*i18n*/ "We've been talking for so long that I can't take in any more. Please begin a new conversation.",
  /*i18n*/ "My voice service would not take that. Could you put it another way?",
  /*i18n*/ "Something went wrong on my side. I'm trying again.",
  /*i18n*/ "I couldn't answer that: my voice service fails at the moment. Please ask me again in a while.",
  /*i18n*/ "I lost my thread. I'm trying again.",
  /*i18n*/ "I couldn't answer that: my language model fails at the moment. Please ask me again in a while.",
  /*i18n*/ "I can't answer that one. Could you put it another way?",
  /*i18n*/ "I got no answer from my voice service. I'm trying again.",
  /*i18n*/ "I'm getting no answer from my voice service. Please ask me again in a while.",
  /*i18n*/ "Sorry, I didn't catch that. Could you say that again?",
  /*i18n*/ "I lost connection briefly. Reconnecting now.",
  /*i18n*/ "The connection to the voice service was lost and did not come back.",
  /*i18n*/ "I'm having trouble with the microphone. Could you check your audio settings?",
  /*i18n*/ "The connection is back.",
  /*i18n*/ "Something went wrong on my side. Should I try again?",
  /*i18n*/ "I'm not allowed to do that.",
  /*i18n*/ "I don't have a tool for that.",
  /*i18n*/ "I'm not quite ready. Please try again in a moment.",
  /*i18n*/ "I can't reach the voice service.",
];

/** What the server says itself while nobody can talk yet, and about its voices. */
export const SERVER = [
  /*i18n*/ "The engine is loading its models.",
  /*i18n*/ "The engine's models cannot be fetched or loaded; see the log.",
  /*i18n*/ "The models cannot be loaded.",
  /*i18n*/ "The server is shutting down.",
  /*i18n*/ "the voice of this server",
  /*i18n*/ "The voice of this server",
  /*i18n*/ "An American woman, English",
  /*i18n*/ "An American man, English",
  /*i18n*/ "A British woman, English",
  /*i18n*/ "A British man, English",
  /*i18n*/ "An American woman, English, quick; this mouth has no other",
  /*i18n*/ "An American man, English, plain; this mouth has no other",
];

/** Every code of the server's error tree that a person may meet (`errors.py`). */
const CODES: Readonly<Record<string, string>> = {
  invalid_request: /*i18n*/ "The server cannot take that: {message}",
  invalid_arguments: /*i18n*/ "The server cannot take that: {message}",
  invalid_sdp: /*i18n*/ "The server does not understand this browser's offer of a call.",
  unauthorized: /*i18n*/ "The server does not know who you are. Log in again.",
  token_expired: /*i18n*/ "Your login is too old. Log in again.",
  forbidden: /*i18n*/ "You may not do that here.",
  not_found: /*i18n*/ "That is not there any more.",
  session_not_found: /*i18n*/ "The server does not know this session any more.",
  tool_not_found: /*i18n*/ "There is no such tool.",
  conflict: /*i18n*/ "That does not fit what is so by now: {message}",
  taken_over: /*i18n*/ "It goes on in another window or on another device.",
  payload_too_large: /*i18n*/ "That is too much at once.",
  unsupported_media_type: /*i18n*/ "The server does not take such a file.",
  method_not_allowed: /*i18n*/ "The server does not do that.",
  rate_limited: /*i18n*/ "That is too much for now.",
  timeout: /*i18n*/ "That took too long.",
  tool_timeout: /*i18n*/ "That took too long.",
  tool_failed: /*i18n*/ "The tool failed: {message}",
  intent_refused: /*i18n*/ "It was not taken: {message}",
  orchestrator_error: /*i18n*/ "It could not be handed on. It is kept, and tried again.",
  openai_error: /*i18n*/ "The voice service does not answer as it should.",
  service_unavailable: /*i18n*/ "The server cannot do that just now.",
  amplifier_unavailable: /*i18n*/ "The server's tools are not there just now.",
  model_unavailable: /*i18n*/ "A model of the server is not there yet.",
  engine_error: /*i18n*/ "A model of the server failed.",
  rate_limit_exceeded: /*i18n*/ "The voice service asks to slow down.",
  insufficient_quota: /*i18n*/ "What may be used of the voice service is used up.",
  invalid_api_key: /*i18n*/ "The voice service does not let this server in.",
  context_length_exceeded: /*i18n*/ "The conversation is too long for the model.",
  internal_error: /*i18n*/ "Something went wrong in the server.",
  no_answer: /*i18n*/ "The voice service gave no answer.",
  server_error: /*i18n*/ "The voice service failed.",
  transcription_failed: /*i18n*/ "What was just said could not be understood.",
  session_expired: /*i18n*/ "The session is over.",
  content_filter: /*i18n*/ "The voice service does not answer that.",
  connection_failed: /*i18n*/ "The connection to the voice service was lost.",
};

/** What has a name or a number in it; the narrower of two before the wider one. */
const PATTERNS = [
  /*i18n*/ "The server answered {number}.",
  /*i18n*/ "Still there? Without a word this ends in {number} seconds.",
  /*i18n*/ "This conversation ends in {number} seconds.",
  /*i18n*/ "Try again in {number} seconds.",
  /*i18n*/ "Try again in {number} hours.",
  /*i18n*/ "Try again in {number} minutes, at {time}.",
  /*i18n*/ "Try again in {number} hours, at {time}.",
  /*i18n*/ "Try again in 1 minute, at {time}.",
  /*i18n*/ "Try again in 1 hour, at {time}.",
  // What was decided
  /*i18n*/ "{tool} was allowed by voice.",
  /*i18n*/ "{tool} was allowed.",
  /*i18n*/ "{tool} was refused by voice.",
  /*i18n*/ "{tool} was refused: nobody answered in time.",
  /*i18n*/ "{tool} was refused: it is not wanted any more.",
  /*i18n*/ "{tool} was refused: the server was restarted.",
  /*i18n*/ "{tool} was refused.",
  // Who speaks next
  /*i18n*/ "{provider} has no quota left. One moment, I try {other}.",
  /*i18n*/ "{provider} asks us to slow down. One moment, I try {other}.",
  /*i18n*/ "{provider} does not let us in. One moment, I try {other}.",
  /*i18n*/ "{provider} can't take in any more of this. One moment, I try {other}.",
  /*i18n*/ "{provider} refuses us. One moment, I try {other}.",
  /*i18n*/ "{provider} has no room just now. One moment, I try {other}.",
  /*i18n*/ "{provider} does not answer. One moment, I try {other}.",
  // What a tool does, and how far it is
  /*i18n*/ "Reading file {path}",
  /*i18n*/ "Writing file {path}",
  /*i18n*/ "Editing file {path}",
  /*i18n*/ "Putting {path} back",
  /*i18n*/ "Looking for {what}",
  /*i18n*/ "Searching for {what} in {path}",
  /*i18n*/ "Searching for {what}",
  /*i18n*/ "Searching in {path}",
  /*i18n*/ "Searching the web for {what}",
  /*i18n*/ "Opening {address}",
  /*i18n*/ "Running {command}",
  /*i18n*/ "Delegating: {what}",
  /*i18n*/ "Reading on from line {number}",
  /*i18n*/ "Looking at the clock in {place}",
  /*i18n*/ "Calculating {what}",
  /*i18n*/ "Waiting {number} seconds",
  /*i18n*/ "{number} of {total} tests passed",
  /*i18n*/ "{number} of {total} tests run, {failed} failed",
  /*i18n*/ "{number} tests passed",
  /*i18n*/ "{number} tests run, {failed} failed",
  /*i18n*/ "Step {number} of {total}",
  /*i18n*/ "{number} lines, the last: {line}",
  /*i18n*/ "{who}, English: {voice}",
  // Whose words were read before something is asked
  /*i18n*/ "the page {name}",
  /*i18n*/ "an answer of the server {name}",
  /*i18n*/ "what the server {name} says of its tools",
  /*i18n*/ "the task \"{name}\"",
  /*i18n*/ "an answer of the tool {name}",
  /*i18n*/ "the file {name}",
];

export const TOOLS = [
  /*i18n*/ "the last change",
  /*i18n*/ "Looking at what files there are",
  /*i18n*/ "Searching the files",
  /*i18n*/ "Looking at the tasks",
  /*i18n*/ "Cancelling a task",
  /*i18n*/ "Passing on the answer",
  /*i18n*/ "Asking you something",
];

export const SOURCES = [
  /*i18n*/ "the results of a web search",
  /*i18n*/ "what tasks have told",
  /*i18n*/ "files",
  /*i18n*/ "names of files",
  /*i18n*/ "the output of a command",
  /*i18n*/ "what came earlier",
  /*i18n*/ "what was said with a lesser key",
];

export const WAITS = [
  /*i18n*/ "Try again in a moment.",
  /*i18n*/ "Try again in 1 second.",
];
