/** A client of a Vivavoce server, for browsers: the talk, what comes of it, and what was before. */

export { barOf } from "./audio/level";
export { explain, type Microphone, MicrophoneRefused } from "./audio/microphone";
export { Conversation, type Ports } from "./session/conversation";
export { faultWords } from "./session/faults";
export type { Archive } from "./session/history/archive";
export type { History, Past } from "./session/history/history";
export { pastLines, SENDING } from "./session/history/past";
export {
  badgeOf,
  countWords,
  nameOf,
  pieces,
  previewOf,
  whenWords,
} from "./session/history/words";
export { intentStatus, newest, rowsOf, titleOf, type IntentRow, type Understood } from "./session/intents";
export { reduce } from "./session/reducer";
export {
  type Fact,
  INITIAL,
  type Line,
  type Loading,
  type RunningTool,
  type ServerFact,
  type Stage,
  type State,
  type TransportKind,
} from "./session/state";
export type { Readable } from "./session/store";
export type { Listener, Told } from "./session/telling";
export { busy, buttonWords, progress, type Situation, situation, words } from "./session/words";
export type { WorkClient } from "./session/work/client";
export { type Approval, NO_WORK, over, type Task, type Work } from "./session/work/work";
export {
  agentWords,
  agoWords,
  argumentRows,
  countdown,
  inOrder,
  isNew,
  lengthWords,
  questionsOf,
  secondsLeft,
  statusWords,
  trayWords,
  visible,
} from "./session/work/words";
export { forcedTransport } from "./transport/choice";
export { type Options, Vivavoce } from "./vivavoce";
export { Api, ApiError, type Reach } from "./wire/api";
export type * from "./wire/types";
