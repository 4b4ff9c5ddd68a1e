import { ApiError, type EngineStatus, MicrophoneRefused, type ReadyResponse, type StatusResponse } from "@vivavoce/client";
import { describe, expect, test } from "vitest";
import { browserOf, stepsFor } from "../src/settings/allow";
import { chosen, devices, keepDevices, sorted } from "../src/settings/devices";
import { isHalf, wanted, zones } from "../src/settings/ProfileSettings";
import { Results } from "../src/settings/SelfTest";
import { settled } from "../src/settings/server";
import { heardIt, type Part, type Probes, tested, type Verdict } from "../src/settings/selftest";
import { Models } from "../src/settings/ServerStatus";
import { AutoApprove } from "../src/settings/VoiceSettings";
import { i18n } from "../src/words/i18n";
import { drawn, drawnIn } from "./drawn";

const ENGINE: EngineStatus = {
  ready: true,
  failed: false,
  calls: 0,
  waiting_for: [],
  reading: false,
  models: [],
  brain: { name: "qwen3-4b" },
  speech: { ears: "parakeet", mouth: "kokoro", device: "cpu" },
};
const PROVIDER = { name: "embedded", model: "vivavoce", voice: "alloy", connected: true };

function status(engine: Partial<EngineStatus> | null, provider: object = {}): StatusResponse {
  const openai = { ...PROVIDER, ...provider };
  return { openai, engine: engine && { ...ENGINE, ...engine } } as StatusResponse;
}

const READY: ReadyResponse = { ready: true, checks: { amplifier: true, openai: true, database: true, engine: true } };
const FINE: Probes = {
  status: async () => status({}),
  ready: async () => READY,
  sample: async () => undefined,
  listen: async () => 0.1,
  call: async () => 120,
  play: async () => undefined,
  talking: false,
  transport: null,
};

async function found(probes: Partial<Probes>): Promise<Record<Part, Verdict>> {
  const all: Partial<Record<Part, Verdict>> = {};
  for await (const [part, verdict] of tested(i18n, { ...FINE, ...probes })) all[part] = verdict;
  return all as Record<Part, Verdict>;
}

const states = (all: Record<Part, Verdict>) =>
  Object.fromEntries(Object.entries(all).map(([part, { state }]) => [part, state]));

const fails = (fault: Error) => () => Promise.reject(fault);

describe("The self-test", () => {
  test("says of each part that it works, and asks about what only the user can hear", async () => {
    const all = await found({});
    const { speaker, ...others } = states(all);
    expect(new Set(Object.values(others))).toEqual(new Set(["good"]));
    expect(speaker).toBe("untold");
    expect(heardIt(i18n, true).state).toBe("good");
    expect(heardIt(i18n, false).state).toBe("bad");
  });

  test("without a server tries what needs none", async () => {
    const all = await found({ status: fails(new ApiError(0, "unreachable", "The server does not answer.")) });
    expect(states(all)).toMatchObject({ server: "bad", brain: "untold", webrtc: "untold", microphone: "good" });
    expect(all.server.words).toContain("Is it running");
  });

  test("tells models that are on their way from those that cannot be had", async () => {
    const away = { connected: false };
    const coming = await found({ status: async () => status({ ready: false }, away) });
    expect(states(coming)).toMatchObject({ brain: "later", ears: "later", mouth: "later", webrtc: "untold" });
    const failed = await found({ status: async () => status({ ready: false, failed: true }, away) });
    expect(states(failed)).toMatchObject({ brain: "bad", ears: "bad", mouth: "bad" });
  });

  test("says that the brain still reads its instructions", async () => {
    const all = await found({ status: async () => status({ reading: true }) });
    expect(all.brain.state).toBe("later");
    expect(all.brain.words).toContain("reads its instructions");
  });

  test("for somebody who may not know what runs there says whether it can talk", async () => {
    const status = fails(new ApiError(403, "forbidden", "For operators."));
    expect(states(await found({ status }))).toMatchObject({ server: "good", brain: "good", mouth: "good", webrtc: "good" });
    const ready = async (): Promise<ReadyResponse> => ({ ready: false, checks: { ...READY.checks, engine: false } });
    expect(states(await found({ status, ready }))).toMatchObject({ server: "good", brain: "later", webrtc: "untold" });
    const failed = async () => ({ ...(await ready()), failed: true });
    expect(states(await found({ status, ready: failed }))).toMatchObject({ brain: "bad" });
  });

  test("of a provider elsewhere tells whether it is reached", async () => {
    const there = await found({ status: async () => status(null, { name: "openai" }), sample: () => null });
    expect(states(there)).toMatchObject({ brain: "good", ears: "good", mouth: "good", webrtc: "good" });
    const gone = { name: "openai", connected: false, last_error: "The key was refused." };
    const refused = await found({ status: async () => status(null, gone) });
    expect(refused.brain.words).toContain("The key was refused.");
    expect(refused.ears.state).toBe("bad");
  });

  test("tells a microphone that is refused from one that hears nothing", async () => {
    const refusal = "This page may not hear you. Allow the microphone in the address bar, then try again.";
    const refused = await found({ listen: fails(new MicrophoneRefused(refusal)) });
    expect(refused.microphone).toEqual({ state: "bad", words: refusal, refusal });
    const silent = await found({ listen: async () => 0 });
    expect(silent.microphone.words).toContain("only silence");
  });

  test("tells the ways for the sound apart", async () => {
    const call = async (kind: string) => {
      if (kind === "webrtc") throw new Error("no way");
      return 80;
    };
    const all = await found({ call });
    expect([all.webrtc.state, all.websocket.state]).toEqual(["bad", "good"]);
    expect(all.webrtc.words).toContain("WebSocket");
  });

  test("begins no call while the user talks, or where the server has enough of them", async () => {
    const call = fails(new Error("nobody should call"));
    const talking = await found({ talking: true, transport: "websocket", call });
    expect([talking.webrtc.state, talking.websocket.state]).toEqual(["untold", "good"]);
    const busy = await found({ call: fails(new ApiError(429, "rate_limited", "Too many sessions.")) });
    expect(busy.webrtc.state).toBe("untold");
  });

  test("counts what does not work, in the language of the page", async () => {
    const all = await found({ listen: async () => 0, sample: fails(new Error("It is away.")) });
    const shown = <Results found={all} running={false} answer={() => undefined} />;
    expect(drawn(shown)).toContain("2 parts do not work.");
    expect(await drawnIn("de", shown)).toContain("2 Teile gehen nicht.");
  });
});

describe("How to allow the microphone", () => {
  const AGENTS = {
    edge: "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140.0 Safari/537.36 Edg/140.0",
    chrome: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36",
    android: "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36",
    firefox: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    safari: "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18.0 Safari/605.1.15",
    ios: "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1",
  };

  test("is told for the browser that the user has", () => {
    for (const [name, agent] of Object.entries(AGENTS)) expect(browserOf(agent)).toBe(name);
    expect(browserOf(AGENTS.safari, 5)).toBe("ios"); // an iPad
    expect(browserOf("curl")).toBe("other");
    for (const name of Object.keys(AGENTS)) expect(stepsFor(i18n, name as "ios").length).toBe(3);
  });
});

describe("Devices", () => {
  const device = (kind: string, deviceId: string, label = "") => ({ kind, deviceId, label }) as MediaDeviceInfo;

  test("are listed once each, and are nameless until the microphone was allowed", () => {
    const before = sorted([device("audioinput", ""), device("videoinput", "")]);
    expect(before).toEqual({ microphones: [], speakers: [], named: false });
    const usb = device("audioinput", "m1", "USB");
    const all = sorted([device("audioinput", "default", "Default - USB"), usb, device("audiooutput", "s1", "Box")]);
    expect(all.microphones).toEqual([usb]);
    expect(all.speakers.map(({ deviceId }) => deviceId)).toEqual(["s1"]);
    expect(all.named).toBe(true);
  });

  test("that were chosen are remembered, and the usual one is no choice", () => {
    const kept = new Map<string, string>();
    const fake = { getItem: (name: string) => kept.get(name) ?? null, setItem: (name: string, to: string) => void kept.set(name, to) };
    Object.assign(globalThis, { localStorage: fake });
    keepDevices(chosen(chosen({}, "microphone", "m1"), "speaker", "s1"));
    expect(devices()).toEqual({ microphone: "m1", speaker: "s1" });
    keepDevices(chosen(devices(), "microphone", ""));
    expect(devices()).toEqual({ speaker: "s1" });
    kept.set("vivavoce.devices", "{broken");
    expect(devices()).toEqual({});
  });
});

describe("The profile", () => {
  const form = (given: Record<string, string>) => {
    const data = new FormData();
    for (const [name, value] of Object.entries(given)) data.set(name, value);
    return data;
  };

  test("takes away what was emptied", () => {
    const given = form({ name: " Ada ", time_zone: "", work_start: "09:00", work_end: "17:00", sleep_start: "", sleep_end: "" });
    expect(wanted(given)).toEqual({
      name: "Ada",
      time_zone: null,
      work_hours: { start: "09:00", end: "17:00" },
      sleep_window: null,
    });
    expect(isHalf(given)).toBe(false);
    given.set("sleep_start", "23:00");
    expect(isHalf(given)).toBe(true);
  });

  test("offers the zone of this browser first, and keeps one that the browser does not know", () => {
    const all = zones("Mars/Olympus", "Europe/Berlin");
    expect(all.slice(0, 2)).toEqual(["Europe/Berlin", "Mars/Olympus"]);
    expect(all.filter((zone) => zone === "Europe/Berlin")).toHaveLength(1);
  });
});

test("acting without asking can be taken back where it is not allowed any more, and not be turned on", () => {
  const set = () => undefined;
  expect(drawn(<AutoApprove allowed={false} on={false} set={set} />)).toContain("disabled");
  expect(drawn(<AutoApprove allowed={false} on set={set} />)).not.toContain('disabled=""');
  expect(drawn(<AutoApprove allowed on={false} set={set} />)).toContain("without your yes");
});

describe("The server's models", () => {
  const model = (name: string, state: "fetching" | "ready" | "failed", more = {}) => ({ name, state, received: 50e6, total: 100e6, ...more });

  test("are shown while they come, with how far they are and what went wrong", () => {
    const models = [model("a", "fetching"), model("b", "ready"), model("c", "failed", { error: "No space left." })];
    const shown = drawn(<Models engine={{ ...ENGINE, ready: false, models }} />);
    expect(shown).toContain("50% of 100 MB");
    expect(shown).toContain("No space left.");
    expect(shown).not.toContain(">b<");
  });

  test("that are there leave the reading of the instructions, and then nothing", () => {
    expect(drawn(<Models engine={{ ...ENGINE, reading: true }} />)).toContain("reads its instructions");
    expect(drawn(<Models engine={ENGINE} />)).toBe("");
    expect(settled(status({ reading: true }))).toBe(false);
    expect(settled(status({}))).toBe(true);
  });
});
