// The conductor's client from its package: what it is told goes out, line by line, and what it is
// to do comes in with the start. `do` has a list of sentences for each time that it is at rest; speech
// that begins as `interrupt.text` says is interrupted where `interrupt.position` says; the rest takes `slow` ms.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const given = JSON.parse(process.argv[2]);
const from = createRequire(`${given.app}/`);
const { Client, FileMemory, tool } = await import(pathToFileURL(from.resolve("@vivavoce/conductor")));

const tell = (told) => process.stdout.write(`${JSON.stringify(told)}\n`);
let spoken = () => {};
const client = new Client(given.url, {
  sessionId: given.session,
  waits: given.waits,
  ...(given.memory === undefined ? {} : { memory: new FileMemory(given.memory) }),
  tools: [
    tool({
      name: "battery.level",
      description: "How full the battery is, in percent.",
      readOnly: true,
      run: () => {
        tell({ ran: "battery.level" });
        return { percent: 80 };
      },
    }),
  ],
  speak: (text, signal) => {
    tell({ aloud: text });
    if (given.interrupt === undefined || !text.startsWith(given.interrupt.text)) {
      return new Promise((resolve) => setTimeout(resolve, given.slow ?? 0));
    }
    setTimeout(() => client.interrupt(given.interrupt.position), 0);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  },
});
const todo = [...given.do];
client.start();
client.say(todo.shift());
let answered = false;
for await (const one of client) {
  tell(one);
  if ("speaking" in one || "interrupted" in one) answered = true;
  const rests = "phase" in one && (one.phase === "idle" || one.phase === "listening");
  if (rests && answered) {
    answered = false;
    const next = todo.shift();
    if (next === undefined) await client.close();
    else client.say(next);
  }
}
