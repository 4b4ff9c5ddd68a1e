// An app with a battery. It asks the conductor one question, and tells what it is told.
//
//     node battery.mjs ws://127.0.0.1:8080/conductor "How full is the battery?"
import { Client, tool } from "@vivavoce/conductor";

const battery = tool({
  name: "battery.level",
  description: "How full the battery is, in percent.",
  readOnly: true,
  run: () => ({ percent: 80 }),
});

/** Here your app speaks; it ends when the user has heard it. */
async function speak(text) {
  console.log(`aloud: ${text}`);
}

const [url, question] = process.argv.slice(2);
const client = new Client(url, { tools: [battery], speak });
client.start();
client.say(question);
let answered = false;
for await (const one of client) {
  if ("connection" in one) console.log(`connection: ${one.connection}`);
  if ("called" in one) console.log(`tool: ${one.name}`);
  if ("fault" in one) console.log(`fault: ${one.fault}: ${one.message}`);
  if ("speaking" in one) answered = true;
  if ("phase" in one && one.phase === "idle" && answered) await client.close();
}
