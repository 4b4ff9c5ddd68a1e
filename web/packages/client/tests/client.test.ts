import { describe, expect, test, vi } from "vitest";
import { ApiError } from "../src/wire/api";
import { anApproval, aTask, Scene } from "./scene";

const until = (look: () => void) => vi.waitFor(look, { timeout: 2000, interval: 1 });
const refusal = (status: number, message: string) => ({
  status,
  body: { error: { code: "x", message, details: {} } },
});

async function opened(scene = new Scene()): Promise<Scene> {
  scene.conversation.work.open();
  await until(() => expect(scene.inboxes).toHaveLength(1));
  scene.inboxes[0]?.listener.up();
  await until(() => expect(scene.server.asked.at(-1)).toBe("GET /approvals"));
  await until(() => expect(scene.work.unread).toBeNull());
  return scene;
}

function listing(...tasks: ReturnType<typeof aTask>[]): Scene {
  const scene = new Scene();
  scene.server.next("GET /tasks", { body: { tasks, count: tasks.length } });
  return scene;
}

describe("the work client", () => {
  test("has the work of before, without any call", async () => {
    const scene = listing(aTask({ id: "t1", progress: "Half" }));
    scene.server.next("GET /approvals", { body: { approvals: [anApproval("a1")], count: 1 } });
    await opened(scene);
    await until(() => expect(scene.work.approvals).toHaveLength(1));
    expect(scene.work.tasks).toMatchObject([{ id: "t1", progress: "Half" }]);
    expect(scene.state).toBe("loading"); // nobody pressed anything
  });

  test("hears of what goes on, and of calls only that they are over", async () => {
    const scene = await opened(listing(aTask({ id: "t1" })));
    await until(() => expect(scene.work.tasks).toHaveLength(1));
    const timestamp = "2030-01-01T00:00:00.000Z";
    scene.news("task.progress", { timestamp, task_id: "t1", message: "On", agent: "a" });
    scene.news("task.question", { timestamp, task_id: "c1", question_id: "q", question: "?", choices: [] });
    expect(scene.work.tasks[0]?.progress).toBe("On");
    expect(scene.work.questions).toHaveLength(1);
    scene.news("tool.completed", { timestamp, call_id: "c1", tool_name: "ask_user", success: true });
    expect(scene.work.questions).toEqual([]);
    expect(scene.conversation.store.getState().lines).toEqual([]);
  });

  test("reads anew when an answer was given by voice", async () => {
    const scene = await opened();
    const before = scene.server.asked.length;
    scene.news("tool.completed", { call_id: "c1", tool_name: "answer_task", success: true });
    await until(() => expect(scene.server.asked.slice(before)).toEqual(["GET /tasks", "GET /approvals"]));
  });

  test("does not lose a request that came while it read the list", async () => {
    const scene = new Scene();
    scene.conversation.work.open();
    await until(() => expect(scene.inboxes).toHaveLength(1));
    const request = {
      timestamp: "2026-11-15T12:00:00.000Z",
      approval_id: "a1",
      tool_name: "bash",
      question: "?",
      arguments: {},
      expires_at: "2026-11-15T12:01:00.000Z",
    };
    const { fetch } = scene.server;
    scene.server.fetch = async (input, init) => {
      const answer = await fetch(input, init); // from before, as of now
      if (String(input).endsWith("/approvals") && scene.work.approvals.length === 0) {
        scene.server.next("GET /approvals", { body: { approvals: [anApproval("a1")], count: 1 } });
        scene.news("approval.requested", request);
      }
      return answer;
    };
    scene.inboxes[0]?.listener.up();
    await until(() => {
      expect(scene.server.asked.filter((one) => one === "GET /approvals")).toHaveLength(2);
    });
    await new Promise((resolve) => setTimeout(resolve));
    expect(scene.work.approvals.map((one) => one.id)).toEqual(["a1"]);
  });

  test("comes back after a loss, and says what is wrong meanwhile", async () => {
    const scene = new Scene();
    scene.inboxFaults = [new ApiError(0, "unreachable", "The server does not answer.")];
    scene.conversation.work.open();
    await until(() => expect(scene.work.unread).toBe("The server does not answer."));
    await until(() => expect(scene.inboxes).toHaveLength(1));
    scene.inboxes[0]?.listener.up();
    await until(() => expect(scene.work.unread).toBeNull());
    scene.inboxes[0]?.end();
    await until(() => expect(scene.inboxes).toHaveLength(2));
  });

  test("tries again where the list cannot be read", async () => {
    const scene = new Scene();
    scene.server.next("GET /tasks", refusal(500, "Busy."));
    scene.conversation.work.open();
    await until(() => expect(scene.inboxes).toHaveLength(1));
    scene.inboxes[0]?.listener.up();
    await until(() => expect(scene.inboxes).toHaveLength(2));
    expect(scene.work.unread).toBe("Busy.");
  });

  test("waits for a token where one is needed, and begins when there is one", async () => {
    const scene = new Scene();
    scene.inboxFaults = [new ApiError(401, "unauthorized", "No.")];
    scene.conversation.work.open();
    await new Promise((resolve) => setTimeout(resolve));
    expect([scene.inboxes.length, scene.pauses, scene.work.unread]).toEqual([0, [], null]);
    scene.conversation.unlock("right");
    await until(() => expect(scene.inboxes).toHaveLength(1));
  });

  test("is closed while nobody looks", async () => {
    const scene = await opened();
    scene.conversation.work.close();
    expect(scene.inboxes[0]?.signal.aborted).toBe(true);
    scene.conversation.work.open();
    await until(() => expect(scene.inboxes).toHaveLength(2));
  });
});

describe("what is due", () => {
  test("is there without a call, and the server knows when it was read", async () => {
    const scene = new Scene();
    const reminders = [{ id: "r1", title: "Call mum", due_at: "2026-11-15T12:00:00.000Z" }];
    scene.server.next("GET /api/v1/reminders", { body: { reminders } });
    await opened(scene);
    expect(scene.work.due).toMatchObject([{ title: "Call mum" }]);
    await scene.conversation.work.noted("r1");
    expect(scene.server.asked.at(-1)).toBe("POST /api/v1/reminders/r1/seen");
    expect(scene.work.due).toEqual([]);
  });
});

describe("what the user decides", () => {
  test("is carried to the server, once at a time", async () => {
    const scene = await opened();
    const { work } = scene.conversation;
    await Promise.all([work.decide("a1", true), work.decide("a1", true)]);
    await work.decide("a2", true, "session");
    await work.decide("a3", true, "always");
    await work.answer("t1", "q1", "SQLite");
    const sent = scene.server.bodies.filter(({ request }) => request.startsWith("POST"));
    expect(sent).toEqual([
      { request: "POST /approvals/a1", body: { granted: true } },
      { request: "POST /approvals/a2", body: { granted: true, for_session: true } },
      { request: "POST /approvals/a3", body: { granted: true, always: true } },
      { request: "POST /tasks/t1/answer", body: { answer: "SQLite", question_id: "q1" } },
    ]);
    expect(scene.work).toMatchObject({ acting: [], faults: {} });
  });

  test("that comes too late is said, and the list is read anew", async () => {
    const scene = await opened();
    const before = scene.server.asked.length;
    scene.server.next("POST /tasks/t1/answer", refusal(409, "Nobody waits for this answer any more."));
    await scene.conversation.work.answer("t1", "q1", "A");
    expect(scene.work.faults["t1"]).toBe("Nobody waits for this answer any more.");
    expect(scene.server.asked.slice(before + 1)).toEqual(["GET /tasks", "GET /approvals"]);
  });

  test("and cannot be carried is said, and can be tried again", async () => {
    const scene = await opened();
    scene.server.next("POST /approvals/a1", refusal(503, "One moment."));
    await scene.conversation.work.decide("a1", false);
    expect(scene.work).toMatchObject({ acting: [], faults: { a1: "One moment." } });
    await scene.conversation.work.decide("a1", false);
    expect(scene.work.faults).toEqual({});
  });

  test("to cancel is no news to whoever did it", async () => {
    const scene = await opened(listing(aTask({ id: "t1" })));
    const over = aTask({ id: "t1", status: "cancelled", updated_at: "2030-01-01T00:00:00.000Z" });
    scene.server.next("POST /tasks/t1/cancel", { body: over });
    await scene.conversation.work.cancel("t1");
    expect(scene.work.tasks[0]?.status).toBe("cancelled");
    expect(scene.remembered).toEqual(["t_old", "t1"]); // also after a reload
  });
});
