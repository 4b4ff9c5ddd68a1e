// Is the harness itself sound? The microphone goes out and back through two peer
// connections of the same page; what arrives is what the page plays.

import { heard, openBrowser, openPage, untilSpoken } from "./browser.mjs";
import { given, play, tell } from "./scene.mjs";
import { writeWav } from "./wav.mjs";

async function echo() {
  const near = new RTCPeerConnection();
  const far = new RTCPeerConnection();
  near.onicecandidate = ({ candidate }) => far.addIceCandidate(candidate ?? undefined);
  far.onicecandidate = ({ candidate }) => near.addIceCandidate(candidate ?? undefined);
  far.ontrack = ({ streams: [stream] }) => {
    const speaker = document.createElement("audio");
    speaker.srcObject = stream;
    speaker.autoplay = true;
    document.body.append(speaker);
  };
  const microphone = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: false } });
  near.addTrack(microphone.getAudioTracks()[0], microphone);
  await near.setLocalDescription();
  await far.setRemoteDescription(near.localDescription);
  await far.setLocalDescription();
  await near.setRemoteDescription(far.localDescription);
}

async function direct() {
  const microphone = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: false } });
  const context = new AudioContext();
  context.createMediaStreamSource(microphone).connect(context.destination);
}

play(async () => {
  const browser = await openBrowser(given);
  const page = await openPage(browser, given);
  await page.route("http://localhost:9/", (route) =>
    route.fulfill({ contentType: "text/html", body: "<!doctype html><title>echo</title>" }),
  );
  await page.goto("http://localhost:9/");
  await page.evaluate(given.way === "track" ? echo : direct);
  const sound = await untilSpoken(page, { seconds: given.seconds ?? 30 });
  writeWav(given.heard, sound);
  tell("heard", { samples: (await heard(page)).length, version: browser.version() });
  await browser.close();
});
