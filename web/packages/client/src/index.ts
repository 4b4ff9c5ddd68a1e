/** A client of a Vivavoce server, for browsers: the talk, what comes of it, and what was before. */

export { barOf } from "./audio/level.js";
export {
  type Devices,
  explain,
  leadTo,
  type Microphone,
  MicrophoneRefused,
  openMicrophone,
} from "./audio/microphone.js";
export { Conversation, type Ports } from "./session/conversation.js";
export { againWords, faultWords } from "./session/faults.js";
export type { Archive } from "./session/history/archive.js";
export type { History, Past } from "./session/history/history.js";
export { pastLines, resultsOf, SENDING } from "./session/history/past.js";
export {
  badgeOf,
  countWords,
  nameOf,
  pieces,
  previewOf,
  whenWords,
} from "./session/history/words.js";
export {
  intentStatus,
  newest,
  rowsOf,
  titleOf,
  undoOf,
  type IntentRow,
  type Understood,
} from "./session/intents.js";
export { reduce } from "./session/reducer.js";
export {
  type Fact,
  INITIAL,
  type Line,
  type Loading,
  type Retry,
  type RunningTool,
  type ServerFact,
  type Stage,
  type State,
  type ToolCall,
  type TransportKind,
} from "./session/state.js";
export type { Readable } from "./session/store.js";
export type { Listener, Told } from "./session/telling.js";
export {
  busy,
  buttonWords,
  type OrbState,
  orbState,
  progress,
  type SessionStatus,
  sessionStatus,
  type Situation,
  situation,
  words,
} from "./session/words.js";
export { callOf } from "./session/transcript.js";
export type { WorkClient } from "./session/work/client.js";
export { type Approval, type Due, NO_WORK, over, type Task, type Work } from "./session/work/work.js";
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
} from "./session/work/words.js";
export { Orb, type OrbNow } from "./orb/orb.js";
export { forcedTransport } from "./transport/choice.js";
export { deviceName, missingHere, Notices, type NoticesPorts, type NoticesState, type NoticesStatus } from "./reach/notices.js";
export type { Call, Transport } from "./transport/transport.js";
export { WebRtcTransport } from "./transport/webrtc.js";
export { WebSocketTransport } from "./transport/websocket.js";
export { type Options, Vivavoce } from "./vivavoce.js";
export { Api, ApiError, type Reach, type Trouble, type Wishes, type Wording } from "./wire/api.js";
export { type GetToken, tokenFrom } from "./wire/tokens.js";
export type * from "./wire/types.js";
