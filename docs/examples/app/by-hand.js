// A call with nothing but what a browser brings.
const VOICE = "https://voice.example.org";
const told = document.querySelector("#told");

function tell(words) {
  const line = document.createElement("li");
  line.textContent = words;
  told.append(line);
}

async function asked(path, key, init = {}) {
  const headers = { ...init.headers, authorization: `Bearer ${key}` };
  const response = await fetch(VOICE + path, { ...init, headers });
  if (!response.ok) throw new Error((await response.json()).error.message);
  return response;
}

document.querySelector("#talk").addEventListener("click", async () => {
  // Who is asking: your backend gives a key, and the server a token for it.
  const { key } = await (await fetch("/voice-key")).json();
  const exchange = await asked("/api/v1/keys/exchange", key, { method: "POST" });
  const { token } = await exchange.json();

  // A session, and what it tells: every word, tool and state.
  const session = await (await asked("/session", token, { method: "POST" })).json();
  const place = new URLSearchParams({
    session_id: session.session_id,
    last_event_id: session.last_event_id,
    token: session.stream_token.value,
  });
  const events = new EventSource(`${VOICE}/events?${place}`);
  events.addEventListener("transcription.completed", ({ data }) => {
    const { role, transcript } = JSON.parse(data);
    tell(`${role}: ${transcript}`);
  });

  // The sound: the microphone out, the assistant in.
  const peer = new RTCPeerConnection();
  const microphone = await navigator.mediaDevices.getUserMedia({ audio: true });
  for (const track of microphone.getTracks()) peer.addTrack(track, microphone);
  peer.createDataChannel("oai-events");
  const speaker = new Audio();
  speaker.autoplay = true;
  peer.ontrack = ({ streams }) => (speaker.srcObject = streams[0]);
  peer.onconnectionstatechange = () => tell(peer.connectionState);

  // Offer and answer, with the session's own key. The offer has to have its candidates.
  await peer.setLocalDescription();
  while (peer.iceGatheringState !== "complete")
    await new Promise((next) => peer.addEventListener("icegatheringstatechange", next, { once: true }));
  const answer = await asked("/sdp", session.client_secret.value, {
    method: "POST",
    headers: { "content-type": "application/sdp" },
    body: peer.localDescription.sdp,
  });
  await peer.setRemoteDescription({ type: "answer", sdp: await answer.text() });
});
