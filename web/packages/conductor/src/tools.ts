/** Tools of an app: functions, with what the model is told of them. */

import type { Tool } from "./wire.js";

/** A tool as the app has it. Its result is any JSON value; what it throws, the model is told. */
export interface ClientTool<Given = Record<string, unknown>> extends Tool {
  run(given: Given): unknown;
}

export interface ToolOptions<Given> {
  name: string;
  title?: string;
  description?: string;
  /** A JSON Schema of an object; without it the tool takes no arguments. */
  inputSchema?: Record<string, unknown>;
  /** It changes nothing. Without it the user may be asked first. */
  readOnly?: boolean;
  run(given: Given): unknown;
}

/** A function as a tool. The server checks the arguments by the schema before it calls. */
export function tool<Given extends object = Record<string, never>>(
  options: ToolOptions<Given>,
): ClientTool {
  const { readOnly = false, inputSchema, run, ...told } = options;
  return {
    ...told,
    inputSchema: inputSchema ?? { type: "object", properties: {}, additionalProperties: false },
    annotations: { readOnlyHint: readOnly },
    run: (given) => run(given as unknown as Given),
  };
}

/** As the server is told of it. */
export function told({ run: _run, ...tool }: ClientTool): Tool {
  return tool;
}

export const CONFIRM: Tool = {
  name: "ui.confirm",
  description: "Asks the user for a yes or a no, by hand.",
  inputSchema: {
    type: "object",
    properties: { approvalId: { type: "string" }, question: { type: "string" } },
    required: ["approvalId", "question"],
  },
};
