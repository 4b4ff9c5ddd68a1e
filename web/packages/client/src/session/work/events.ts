/** The server's events about work, as changes of what the page knows of it. Pure. */

import type { VoiceEvents } from "../../wire/types.js";
import type { ServerFact } from "../state.js";
import { ask, decided, fellDue, over, put, type Task, type Work } from "./work.js";

const NAMES = [
  "task.delegated",
  "task.progress",
  "task.question",
  "task.completed",
  "task.failed",
  "task.due",
  "approval.requested",
  "approval.resolved",
] as const;

export type WorkFact = Extract<ServerFact, { name: (typeof NAMES)[number] }>;

export function isWork(fact: ServerFact): fact is WorkFact {
  return (NAMES as readonly string[]).includes(fact.name);
}

export function heardOfWork(work: Work, { name, data }: WorkFact): Work {
  switch (name) {
    case "task.delegated": {
      if (work.tasks.some((task) => task.id === data.task_id)) return work;
      const { title, agent, backend } = data;
      return put(work, { ...unknown(data), title, agent, backend });
    }
    case "task.progress": {
      const percentage = data.percentage ?? null;
      const phase = data.agent;
      const now = { status: "running", question: null, progress: data.message, percentage, phase };
      return changed(work, data, now);
    }
    case "task.question":
      return questioned(work, data);
    case "task.completed":
      return changed(work, data, {
        status: "completed",
        title: data.title,
        question: null,
        percentage: 100,
        result: data.summary,
        files_changed: data.files_changed,
        finished_at: data.timestamp,
      });
    case "task.failed":
      return changed(work, data, {
        status: data.cancelled ? "cancelled" : "failed",
        title: data.title,
        question: null,
        error: data.error,
        details: data.details,
        suggestions: data.suggestions,
        finished_at: data.timestamp,
      });
    case "task.due":
      return fellDue(work, {
        id: data.reminder_id,
        task_id: data.task_id,
        title: data.title,
        due_at: data.due_at,
      });
    case "approval.requested": {
      const { approval_id: id, timestamp: requested_at, ...rest } = data;
      return ask(work, { ...rest, id, requested_at });
    }
    case "approval.resolved":
      return decided(work, data.approval_id);
  }
}

/** Of a task, or of a running tool: whoever is no task of ours is one. */
function questioned(work: Work, data: VoiceEvents["task.question"]): Work {
  if (work.settled.includes(data.question_id)) return work;
  const { question_id: id, question: text, choices } = data;
  if (work.tasks.some((task) => task.id === data.task_id)) {
    const question = { id, text, choices, asked_at: data.timestamp };
    return changed(work, data, { status: "waiting", question });
  }
  const others = work.questions.filter((one) => one.callId !== data.task_id);
  return { ...work, questions: [...others, { callId: data.task_id, id, text, choices }] };
}

/** Older news change nothing; an end without a beginning is shown all the same. */
function changed(
  work: Work,
  data: { task_id: string; timestamp: string },
  change: Partial<Task>,
): Work {
  const known = work.tasks.find((task) => task.id === data.task_id);
  if (known && (over(known) || known.updated_at > data.timestamp)) return work;
  return put(work, { ...(known ?? unknown(data)), ...change, updated_at: data.timestamp });
}

function unknown({ task_id: id, timestamp }: { task_id: string; timestamp: string }): Task {
  return {
    id,
    title: "A task",
    description: "",
    agent: "",
    backend: "",
    status: "running",
    files_changed: [],
    details: [],
    suggestions: [],
    created_at: timestamp,
    updated_at: timestamp,
    told: false,
  };
}
