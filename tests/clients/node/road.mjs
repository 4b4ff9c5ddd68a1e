// All that goes between a page and its server, TCP and UDP, by a road of our own that can be closed.
// A closed road is a network that is gone: nothing comes, nothing goes, and nobody says so.

import { createSocket } from "node:dgram";
import { connect, createServer } from "node:net";

/** The server at `origin` by another port of this machine. */
export async function road(origin) {
  const { hostname, port } = new URL(origin);
  const lines = new Set();
  let open = true;

  function line(near) {
    const far = connect(Number(port), hostname);
    const both = [near, far];
    lines.add(both);
    for (const [from, to] of [both, [far, near]]) {
      if (!open) from.pause();
      from.on("data", (data) => to.write(data));
      from.on("end", () => to.end());
      from.on("error", () => to.destroy());
      from.on("close", () => {
        to.destroy();
        lines.delete(both);
      });
    }
  }

  const server = createServer(line);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

  /** Another port for a place where the server hears RTP; whoever sends there has a way back. */
  async function beside(address, there) {
    const near = createSocket("udp4");
    const ways = new Map();
    near.on("message", (data, { address: from, port: at }) => {
      if (!open) return;
      const name = `${from}:${at}`;
      if (!ways.has(name)) {
        const far = createSocket("udp4");
        far.on("message", (answer) => open && near.send(answer, at, from));
        ways.set(name, far);
      }
      ways.get(name).send(data, there, address);
    });
    await new Promise((resolve) => near.bind(0, address, resolve));
    return near.address().port;
  }

  const CANDIDATE = /^a=candidate:\S+ \d+ udp \d+ (\S+) (\d+) typ host.*$/gim;

  /** The server learns nothing of the page's own places, and the page only of those here. */
  async function handOver(route) {
    const offer = route.request().postData().replaceAll(/^a=candidate:.*\r\n/gim, "");
    const response = await route.fetch({ postData: offer });
    let answer = await response.text();
    for (const [whole, address, there] of [...answer.matchAll(CANDIDATE)]) {
      if (address === "127.0.0.1" || address.includes(":")) {
        answer = answer.replace(`${whole}\r\n`, "");
        continue;
      }
      const here = await beside(address, Number(there));
      answer = answer.replace(whole, whole.replace(`${address} ${there}`, `${address} ${here}`));
    }
    await route.fulfill({ response, body: answer });
  }

  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    close() {
      open = false;
      for (const both of lines) for (const one of both) one.pause();
    },
    open() {
      open = true;
      for (const both of lines) for (const one of both) one.resume();
    },
    lead: (page) => page.route("**/sdp", handOver),
  };
}
