// An app with the client: a page of its own, by voice and in writing.
import { busy, Orb, orbState, tokenFrom, Vivavoce, words } from "@vivavoce/client";

const voice = new Vivavoce({
  url: "https://voice.example.org",
  getToken: tokenFrom("/voice-key"),
});
const at = (id) => document.querySelector(`#${id}`);

// Everything that is so, whenever it changes …
voice.store.subscribe((state) => {
  at("state").textContent = words(state);
  at("talk").textContent = busy(state) ? "Hang up" : "Talk";
});

// … and what happens, as it happens.
voice.on("message", ({ kind, text }) => {
  const line = document.createElement("li");
  line.textContent = `${kind}: ${text}`;
  at("told").append(line);
});
voice.on("approval", ({ id, question }) => void voice.work.decide(id, confirm(question)));
voice.on("problem", (why) => console.error(why));

at("talk").addEventListener("click", () => (busy(voice.state) ? voice.stop() : voice.resume()));
document.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  voice.send(at("words").value);
  at("words").value = "";
});

new Orb(at("orb"), () => ({
  state: orbState(voice.state),
  input: voice.level(),
  output: voice.voiceLevel(),
})).start();
