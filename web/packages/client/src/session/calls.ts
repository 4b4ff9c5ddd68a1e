/** Tools that run: in the state, and as lines of the transcript. Pure. */

import { isIntentTool } from "./intents.js";
import type { Line, ServerFact, State } from "./state.js";
import * as transcript from "./transcript.js";
import { callOf } from "./transcript.js";
import { callOver } from "./work/work.js";

export type ToolFact = Extract<
  ServerFact,
  { name: "tool.started" | "tool.progress" | "tool.completed" | "tool.error" }
>;

export function tooled(state: State, { name, data }: ToolFact): State {
  const others = state.tools.filter((tool) => tool.callId !== data.call_id);
  const mark = (change: Partial<Line>) => transcript.tool(state.lines, data.call_id, change);
  const line = state.lines.find(({ id }) => id === data.call_id);
  const work = callOver(state.work, data.call_id);
  const text = line?.text || data.tool_name; // what was refused never began
  switch (name) {
    case "tool.started": {
      const running = { callId: data.call_id, name: data.tool_name, percentage: null };
      const call = callOf(data.tool_name);
      const lines = mark({ text: data.description || data.tool_name, call });
      return { ...state, tools: [...others, running], lines };
    }
    case "tool.progress": {
      if (line?.done) return state; // late
      const percentage = data.percentage === undefined ? null : clamped(data.percentage);
      const running = { callId: data.call_id, name: data.tool_name, percentage };
      const lines = mark({ text, note: data.message, percentage });
      return { ...state, tools: [...others, running], lines };
    }
    case "tool.completed": {
      const { output_preview: output = "", files_changed: files = [], duration_ms: ms } = data;
      const call = { ...(line?.call ?? callOf(data.tool_name)), output, files, ms };
      const marked = mark({ ...ENDED_TOOL, text, failed: !data.success, call });
      const told = data.success && isIntentTool(data.tool_name);
      const lines = told ? transcript.withoutCallOf(marked, data.call_id) : marked;
      return { ...state, work, tools: others, lines };
    }
    case "tool.error": {
      const note = [data.error, data.suggestion].filter(Boolean).join(" ");
      const call = { ...(line?.call ?? callOf(data.tool_name)), output: data.output_preview ?? "" };
      const lines = mark({ ...ENDED_TOOL, text, failed: true, note, call });
      return { ...state, work, tools: others, lines };
    }
  }
}

const ENDED_TOOL: Partial<Line> = { done: true, note: "", percentage: null };

function clamped(percentage: number): number {
  return Math.min(100, Math.max(0, percentage));
}
