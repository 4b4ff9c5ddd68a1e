/** Delegated work and what needs a yes: what the page knows of them, and how it changes. Pure.
 *
 * The same news may come twice (from the call's stream and from the inbox's), late, or beside a
 * list that was read a moment earlier. A task's time says what is newer; what was settled once
 * is remembered, so that no late copy asks again. */

import type { ApprovalView, QuestionView, ReminderView, WorkResponse } from "../../wire/types.js";

const KEPT = 100; // tasks on the page; the server has them all
const REMEMBERED = 200; // ids that are settled, or seen

export type Task = WorkResponse;
export type Approval = Pick<
  ApprovalView,
  | ("id" | "tool_name" | "question" | "arguments" | "requested_at" | "expires_at" | "task_id")
  | ("session_id" | "call_id" | "reach" | "asked_by" | "because")
>;

/** What a running tool asks; it lives no longer than its call. */
export interface CallQuestion extends Omit<QuestionView, "asked_at"> {
  readonly callId: string;
}

/** Something on the user's list that came due. */
export type Due = Pick<ReminderView, "id" | "task_id" | "title" | "due_at">;

export interface Work {
  /** The latest first; those that were read are gone. */
  readonly due: readonly Due[];
  /** Newest first. */
  readonly tasks: readonly Task[];
  readonly questions: readonly CallQuestion[];
  /** Oldest first: that one is answered next. */
  readonly approvals: readonly Approval[];
  /** Approvals and questions that have their answer. */
  readonly settled: readonly string[];
  /** Tasks whose end was read here. */
  readonly seen: readonly string[];
  /** What the server is being asked about. */
  readonly acting: readonly string[];
  /** Why it refused, by id. */
  readonly faults: Readonly<Record<string, string>>;
  /** Why the list could not be read. */
  readonly unread: string | null;
  /** How often something happened by which goals and tasks may be others than before. */
  readonly plans: number;
  /** What to add to our clock to have the server's. */
  readonly skewMs: number;
}

export const NO_WORK: Work = {
  due: [],
  tasks: [],
  questions: [],
  approvals: [],
  settled: [],
  seen: [],
  acting: [],
  faults: {},
  unread: null,
  plans: 0,
  skewMs: 0,
};

/** What is not an event of the server's. */
export type WorkNews =
  | {
      readonly what: "read";
      readonly tasks: readonly Task[];
      readonly approvals: readonly Approval[];
      readonly skewMs: number;
    }
  | { readonly what: "due"; readonly due: readonly Due[] }
  | { readonly what: "unread"; readonly why: string }
  | { readonly what: "plans" }
  | { readonly what: "seen"; readonly ids: readonly string[] }
  | { readonly what: "acting"; readonly id: string }
  | { readonly what: "refused"; readonly id: string; readonly why: string }
  | { readonly what: "task"; readonly task: Task }
  | { readonly what: "answered"; readonly id: string; readonly questionId: string }
  | { readonly what: "decided"; readonly id: string }
  | { readonly what: "call.over"; readonly callId: string };

export function worked(work: Work, news: WorkNews): Work {
  switch (news.what) {
    case "read":
      return read(work, news.tasks, news.approvals, news.skewMs);
    case "due":
      return news.due.reduce(fellDue, { ...work, due: [] });
    case "unread":
      return { ...work, unread: news.why };
    case "plans":
      return { ...work, plans: work.plans + 1 };
    case "seen":
      return {
        ...work,
        seen: remembered(work.seen, news.ids),
        due: work.due.filter(({ id }) => !news.ids.includes(id)),
      };
    case "acting":
      return { ...calm(work, news.id), acting: [...work.acting, news.id] };
    case "refused":
      return { ...calm(work, news.id), faults: { ...work.faults, [news.id]: news.why } };
    case "task":
      return put(calm(work, news.task.id), news.task);
    case "answered":
      return answered(calm(work, news.id), news.id, news.questionId);
    case "decided":
      return decided(work, news.id);
    case "call.over":
      return callOver(work, news.callId);
  }
}

export function over(task: Pick<Task, "status">): boolean {
  return ["completed", "failed", "cancelled"].includes(task.status);
}

/** The task as it is now known, unless what is known is newer. */
export function put(work: Work, task: Task): Work {
  const known = work.tasks.find((one) => one.id === task.id);
  if (known && isNewer(known, task)) return work;
  const asks = task.question && !work.settled.includes(task.question.id) ? task.question : null;
  const others = work.tasks.filter((one) => one.id !== task.id);
  const at = others.findIndex((one) => one.created_at < task.created_at);
  const place = at < 0 ? others.length : at;
  const tasks = [...others.slice(0, place), { ...task, question: asks }, ...others.slice(place)];
  return { ...work, tasks: tasks.slice(0, KEPT) };
}

export function fellDue(work: Work, one: Due): Work {
  if (work.seen.includes(one.id) || work.due.some(({ id }) => id === one.id)) return work;
  const due = [...work.due, one].sort((a, b) => b.due_at.localeCompare(a.due_at));
  return { ...work, due: due.slice(0, KEPT) };
}

export function ask(work: Work, approval: Approval): Work {
  if (work.settled.includes(approval.id)) return work;
  const others = work.approvals.filter((one) => one.id !== approval.id);
  const approvals = [...others, approval].sort(byTime);
  return { ...work, approvals };
}

/** It has its answer, wherever that came from. */
export function decided(work: Work, id: string): Work {
  const settled = remembered(work.settled, [id]);
  const approvals = work.approvals.filter((one) => one.id !== id);
  return { ...calm(work, id), settled, approvals };
}

export function callOver(work: Work, callId: string): Work {
  // Calls of several conversations may share a number; the server then adds whose it is.
  const gone = ({ callId: id }: CallQuestion) => id === callId || id.startsWith(`${callId}@`);
  if (!work.questions.some(gone)) return work;
  return { ...work, questions: work.questions.filter((one) => !gone(one)) };
}

function answered(work: Work, id: string, questionId: string): Work {
  return {
    ...work,
    settled: remembered(work.settled, [questionId]),
    questions: work.questions.filter((one) => one.id !== questionId),
    tasks: work.tasks.map((task) =>
      task.id === id && task.question?.id === questionId
        ? { ...task, status: "running", question: null }
        : task,
    ),
  };
}

function read(
  work: Work,
  tasks: readonly Task[],
  approvals: readonly Approval[],
  skewMs: number,
): Work {
  const open = approvals.filter((one) => !work.settled.includes(one.id));
  const start: Work = { ...work, unread: null, skewMs, approvals: [...open].sort(byTime) };
  return tasks.reduce(put, start);
}

/** An end is an end, and no late word of progress takes it back. */
function isNewer(known: Task, other: Task): boolean {
  if (over(known) !== over(other)) return over(known);
  return known.updated_at > other.updated_at;
}

/** Nothing is being asked about it any more, and what went wrong is forgotten. */
function calm(work: Work, id: string): Work {
  const { [id]: _, ...faults } = work.faults;
  return { ...work, faults, acting: work.acting.filter((one) => one !== id) };
}

function remembered(known: readonly string[], ids: readonly string[]): readonly string[] {
  return [...new Set([...known, ...ids])].slice(-REMEMBERED);
}

function byTime(one: Approval, other: Approval): number {
  return one.requested_at.localeCompare(other.requested_at);
}
