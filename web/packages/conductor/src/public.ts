/** What both entries of the package give. */

export type { Entry, Memory } from "./calls.js";
export { BaseClient, type Options, type Platform } from "./client.js";
export type { Dialler, Line, Listener } from "./line.js";
export { applied, PatchFailed } from "./patch.js";
export type { ConnectionState, PhaseState, Seen } from "./seen.js";
export { StorageMemory } from "./storage.js";
export { tool, type ClientTool, type ToolOptions } from "./tools.js";
export type { Tool } from "./wire.js";
