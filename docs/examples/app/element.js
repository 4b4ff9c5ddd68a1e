// What the element tells the page it is on.
const voice = document.querySelector("vivavoce-voice");
const told = document.querySelector("#told");

function tell(words) {
  const line = document.createElement("li");
  line.textContent = words;
  told.append(line);
}

voice.addEventListener("vivavoce-situation", ({ detail }) => tell(detail.now));
voice.addEventListener("vivavoce-message", ({ detail }) => tell(`${detail.kind}: ${detail.text}`));
voice.addEventListener("vivavoce-intent", ({ detail }) => tell(`${detail.route}: ${detail.status}`));
