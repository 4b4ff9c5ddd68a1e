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
