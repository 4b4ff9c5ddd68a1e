/** The sound over WebRTC: microphone track out, remote track into an audio element.
 *
 * The data channel is there because providers expect it. The page says nothing on it, since the
 * server configures the call, and `/events` tells what happens; what it shows is kept for when the
 * server could not hear it. */

import { meter } from "../audio/level.js";
import { leadTo, type Microphone } from "../audio/microphone.js";
import { type Api, ApiError } from "../wire/api.js";
import type { IceConfigResponse } from "../wire/types.js";
import { reader, type Said } from "./shown.js";
import { type Call, deferred, NoWay, type Transport, within } from "./transport.js";

const GATHER_MS = 1000;
const CONNECT_MS = 4000;
const DISCONNECTED_MS = 5000; // it often comes back by itself before that

export class WebRtcTransport implements Transport {
  constructor(private readonly api: Api) {}

  async connect(
    key: string,
    microphone: Microphone,
    signal: AbortSignal,
    _sounding: (on: boolean) => void,
    shown: (said: Said) => void,
  ): Promise<Call> {
    if (typeof RTCPeerConnection === "undefined") {
      throw new NoWay("This browser has no WebRTC.", false);
    }
    const peer = new RTCPeerConnection(configuration(await this.api.iceConfig()));
    const speaker = new Audio();
    void leadTo(speaker, microphone.speaker);
    const close = () => {
      peer.close();
      speaker.srcObject = null;
    };
    try {
      for (const track of microphone.stream.getAudioTracks()) {
        peer.addTrack(track, microphone.stream);
      }
      const channel = peer.createDataChannel("oai-events");
      const read = reader(shown);
      channel.onmessage = ({ data }) => read(data);
      let level = () => 0;
      peer.ontrack = ({ track, streams }) => {
        const stream = streams[0] ?? new MediaStream([track]);
        speaker.srcObject = stream;
        const analyser = microphone.context.createAnalyser();
        microphone.context.createMediaStreamSource(stream).connect(analyser);
        level = meter(analyser);
        void speaker.play().catch(() => undefined); // refused only where nobody pressed a button
      };
      const offer = await gatheredOffer(peer, signal);
      await peer.setRemoteDescription({ type: "answer", sdp: await this.answer(key, offer) });
      await within(connected(peer), {
        ms: CONNECT_MS,
        message: "WebRTC did not connect in time.",
        signal,
      });
      const interrupt = () => {
        if (channel.readyState !== "open") return;
        for (const type of ["response.cancel", "output_audio_buffer.clear"]) {
          channel.send(JSON.stringify({ type }));
        }
      };
      return { kind: "webrtc", closed: lost(peer, channel), level: () => level(), interrupt, close };
    } catch (fault) {
      close();
      throw fault;
    }
  }

  private async answer(key: string, offer: string): Promise<string> {
    try {
      return await this.api.sdp(key, offer);
    } catch (fault) {
      // The other side has no WebRTC today; the sound may still pass another way.
      if (fault instanceof ApiError && fault.status >= 500) throw new NoWay(fault.message, true);
      throw fault;
    }
  }
}

function configuration(answer: IceConfigResponse): RTCConfiguration {
  return {
    iceServers: answer.ice_servers.map(({ urls, username, credential }) => ({
      urls,
      ...(username ? { username } : {}),
      ...(credential ? { credential } : {}),
    })),
    iceTransportPolicy: answer.ice_transport_policy ?? "all",
  };
}

/** The offer with its candidates, for a server that takes them all at once. */
async function gatheredOffer(peer: RTCPeerConnection, signal: AbortSignal): Promise<string> {
  await peer.setLocalDescription();
  const complete = deferred();
  const look = () => peer.iceGatheringState === "complete" && complete.resolve();
  peer.addEventListener("icegatheringstatechange", look);
  look();
  await within(complete.promise, { ms: GATHER_MS, message: "", signal }).catch((fault: unknown) => {
    if (!(fault instanceof NoWay)) throw fault; // what was found so far has to do
  });
  const sdp = peer.localDescription?.sdp ?? "";
  if (!hasCandidates(sdp)) throw new NoWay("WebRTC finds no network interface.", false);
  return sdp;
}

/** Without a single candidate there is no way: with the cable out, or through ssh. */
export function hasCandidates(sdp: string): boolean {
  return /^a=candidate:/m.test(sdp);
}

function connected(peer: RTCPeerConnection): Promise<void> {
  const { promise, resolve, reject } = deferred();
  const look = () => {
    if (peer.connectionState === "connected") resolve();
    if (peer.connectionState === "failed" || peer.connectionState === "closed") {
      reject(new NoWay("WebRTC could not connect.", true));
    }
  };
  peer.addEventListener("connectionstatechange", look);
  look();
  return promise;
}

function lost(peer: RTCPeerConnection, channel: RTCDataChannel): Promise<void> {
  const { promise, resolve } = deferred();
  let timer: ReturnType<typeof setTimeout> | undefined;
  peer.addEventListener("connectionstatechange", () => {
    clearTimeout(timer);
    if (peer.connectionState === "failed" || peer.connectionState === "closed") resolve();
    if (peer.connectionState === "disconnected") timer = setTimeout(resolve, DISCONNECTED_MS);
  });
  channel.addEventListener("close", () => resolve()); // the other side hung up
  return promise;
}
