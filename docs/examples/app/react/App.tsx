import { tokenFrom, Vivavoce } from "@vivavoce/client";
import { useVoiceSession, VivavoceProvider, VoiceOrb } from "@vivavoce/react";

const client = new Vivavoce({
  url: "https://voice.example.org",
  getToken: tokenFrom("/voice-key"),
});

export function App() {
  return (
    <VivavoceProvider client={client}>
      <Talk />
    </VivavoceProvider>
  );
}

function Talk() {
  const { status, words, lines, approvals, start, stop, send, decide } = useVoiceSession();
  const on = status === "active" || status === "connecting" || status === "reconnecting";
  return (
    <main>
      <VoiceOrb style={{ width: 160, height: 160 }} />
      <p role="status">{words}</p>
      <button onClick={() => (on ? void stop() : start())}>{on ? "Hang up" : "Talk"}</button>
      {approvals.map(({ id, question }) => (
        <p key={id}>
          {question} <button onClick={() => void decide(id, true)}>Yes</button>
          <button onClick={() => void decide(id, false)}>No</button>
        </p>
      ))}
      <ul>
        {lines.map(({ id, kind, text }) => (
          <li key={id}>
            {kind}: {text}
          </li>
        ))}
      </ul>
      <form action={(form) => void send(String(form.get("words")))}>
        <input name="words" aria-label="Write" />
      </form>
    </main>
  );
}
