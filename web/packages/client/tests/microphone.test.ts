import { afterEach, expect, test, vi } from "vitest";
import { MicrophoneRefused, openMicrophone } from "../src/audio/microphone";

afterEach(() => vi.unstubAllGlobals());

test("a microphone that cannot be used after all is closed again", async () => {
  const track = { stopped: false, stop: () => void (track.stopped = true) };
  const context = {
    closed: false,
    resume: async () => undefined,
    createMediaStreamSource: () => {
      throw new Error("different sample rates");
    },
    close: async () => void (context.closed = true),
  };
  vi.stubGlobal("AudioContext", function AudioContext() {
    return context;
  });
  const getUserMedia = async () => ({ getTracks: () => [track] });
  vi.stubGlobal("navigator", { mediaDevices: { getUserMedia } });
  await expect(openMicrophone()).rejects.toBeInstanceOf(MicrophoneRefused);
  expect(track.stopped).toBe(true);
  expect(context.closed).toBe(true);
});

test("the chosen one is wanted and no other, and the usual one only where it is not there", async () => {
  const context = {
    resume: async () => undefined,
    createMediaStreamSource: () => ({ connect: () => undefined }),
    createAnalyser: () => ({ fftSize: 0 }),
    addEventListener: () => undefined,
    close: async () => undefined,
  };
  vi.stubGlobal("AudioContext", function AudioContext() {
    return context;
  });
  vi.stubGlobal("document", { addEventListener: () => undefined });
  const wishes: unknown[] = [];
  let fault: Error | null = null;
  const getUserMedia = async ({ audio }: { audio: MediaTrackConstraints }) => {
    wishes.push(audio.deviceId);
    if (audio.deviceId && fault) throw fault;
    return { getTracks: () => [], getAudioTracks: () => [] };
  };
  vi.stubGlobal("navigator", { mediaDevices: { getUserMedia } });
  await openMicrophone({ microphone: "m1" });
  fault = new DOMException("", "OverconstrainedError");
  await openMicrophone({ microphone: "m1" });
  expect(wishes).toEqual([{ exact: "m1" }, { exact: "m1" }, undefined]);
  fault = new DOMException("", "NotAllowedError");
  await expect(openMicrophone({ microphone: "m1" })).rejects.toThrow("may not hear you");
  expect(wishes).toHaveLength(4);
});
