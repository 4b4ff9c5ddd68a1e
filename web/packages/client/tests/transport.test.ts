import { reader, type Said } from "../src/transport/shown";
import { describe, expect, test } from "vitest";
import { Choice, forcedTransport } from "../src/transport/choice";
import { Outbox } from "../src/transport/outbox";
import { hasCandidates } from "../src/transport/webrtc";

describe("the choice of transport", () => {
  test("is WebRTC first, then WebSocket", () => {
    expect(new Choice().order()).toEqual(["webrtc", "websocket"]);
  });

  test("does not go back to what found no way while the other does", () => {
    const choice = new Choice();
    choice.noWay("webrtc");
    expect(choice.order()).toEqual(["websocket"]);
  });

  test("begins anew when nothing finds a way", () => {
    const choice = new Choice();
    choice.noWay("webrtc");
    choice.noWay("websocket");
    expect(choice.order()).toEqual(["webrtc", "websocket"]);
  });

  test("can be forced by the page's address", () => {
    expect(forcedTransport("?transport=websocket")).toBe("websocket");
    expect(forcedTransport("?transport=webrtc&x=1")).toBe("webrtc");
    expect(forcedTransport("?transport=pigeon")).toBeNull();
    expect(forcedTransport("")).toBeNull();
    const forced = new Choice("webrtc");
    forced.noWay("webrtc");
    expect(forced.order()).toEqual(["webrtc"]);
  });
});

test("an offer without candidates is known before anybody is bothered with it", () => {
  const sdp = "v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n";
  expect(hasCandidates(sdp)).toBe(false);
  expect(hasCandidates(`${sdp}a=candidate:1 1 udp 1 192.0.2.1 5000 typ host\r\n`)).toBe(true);
});

describe("the outbox", () => {
  const sink = () => {
    const sent: string[] = [];
    return { sent, bufferedAmount: 0, send: (text: string) => void sent.push(text) };
  };

  test("sends at once while the line keeps up", () => {
    const socket = sink();
    const outbox = new Outbox(socket, 10, 2);
    for (const text of ["1", "2", "3"]) outbox.push(text);
    expect(socket.sent).toEqual(["1", "2", "3"]);
  });

  test("drops the oldest when it does not, and goes on with the newest", () => {
    const socket = sink();
    const outbox = new Outbox(socket, 10, 2);
    socket.bufferedAmount = 11;
    for (const text of ["1", "2", "3", "4"]) outbox.push(text);
    expect(socket.sent).toEqual([]);
    expect(outbox.dropped).toBe(2);
    socket.bufferedAmount = 0;
    outbox.push("5");
    expect(socket.sent).toEqual(["3", "4", "5"]);
  });
});

describe("what the data channel shows", () => {
  const showing = () => {
    const seen: Said[] = [];
    const read = reader((said) => seen.push(said));
    return { seen, read: (event: object) => read(JSON.stringify(event)) };
  };
  const answered = { item_id: "a1", response_id: "r1", transcript: "Hello!" };

  test("is what the user said, and answers that were heard to their end", () => {
    const { seen, read } = showing();
    const heard = "conversation.item.input_audio_transcription.completed";
    read({ type: heard, item_id: "u1", transcript: "Hi" });
    read({ type: "response.output_audio_transcript.done", ...answered });
    read({ type: "output_audio_buffer.started", response_id: "r1" });
    expect(seen).toEqual([{ itemId: "u1", role: "user", text: "Hi" }]);
    read({ type: "output_audio_buffer.stopped", response_id: "r1" });
    read({ type: "output_audio_buffer.stopped", response_id: "r1" });
    expect(seen.slice(1)).toEqual([{ itemId: "a1", role: "assistant", text: "Hello!" }]);
  });

  test("is not what was cut off, nor what is no event", () => {
    const { seen, read } = showing();
    read({ type: "response.output_audio_transcript.done", ...answered });
    read({ type: "output_audio_buffer.cleared", response_id: "r1" });
    read({ type: "output_audio_buffer.stopped", response_id: "r1" });
    reader((said) => seen.push(said))("{");
    expect(seen).toEqual([]);
  });
});
