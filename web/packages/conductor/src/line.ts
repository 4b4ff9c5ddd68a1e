/** The line to a server, and what of it a client has to see; and the browser's own WebSocket. */

export interface Line {
  /** Throws where it cannot be sent. */
  send(text: string): void;
  close(code: number): void;
}

/** What happens at a line: one of `opened` and `refused`, and after `opened` one `broke` at last. */
export interface Listener {
  opened(line: Line): void;
  /** `status` is of HTTP, where a server answered and that can be seen. */
  refused(reason: string, status: number | null): void;
  /** null: no text. */
  received(message: string | null): void;
  broke(code: number, reason: string): void;
}

/** Returns a way to give up before it is open. */
export type Dialler = (
  url: string,
  headers: Record<string, string>,
  listener: Listener,
) => () => void;

export const OPENING_MS = 10_000;
/** What may wait to be sent before the server counts as one that does not read. */
export const MOST_UNSENT = 8 * 1024 * 1024;

/** With the `WebSocket` of the platform. It sends no headers and shows no status of HTTP. */
export const dialWebSocket: Dialler = (url, headers, listener) => {
  if (Object.keys(headers).length > 0) {
    throw new TypeError("A browser sends no headers with a WebSocket: give `token`, not `key`.");
  }
  const socket = new WebSocket(url);
  const late = setTimeout(() => socket.close(), OPENING_MS);
  let open = false;
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    clearTimeout(late);
    open = true;
    listener.opened({
      send: (text) => {
        if (socket.readyState !== WebSocket.OPEN) throw new Error("the connection is closed");
        if (socket.bufferedAmount > MOST_UNSENT) throw new Error("the server does not read");
        socket.send(text);
      },
      close: (code) => socket.close(code),
    });
  };
  socket.onmessage = ({ data }) => listener.received(typeof data === "string" ? data : null);
  socket.onclose = ({ code, reason }) => {
    clearTimeout(late);
    if (!open) listener.refused("No connection.", null);
    else listener.broke(code === 1005 ? 1006 : code, reason); // 1005: no code was given
  };
  return () => socket.close();
};
