"""The kitchen's backend: it takes the orders that the voice hands in.

    ORCHESTRATOR_SECRET=… python kitchen.py 3001

The server has the same secret, and signs with it what it sends.
"""

import base64
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["ORCHESTRATOR_SECRET"].encode()
orders: dict[str, dict] = {}  # by the intent's id; yours are in a database


class Kitchen(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not genuine(self.headers, body):
            return self.answer(401, {"error": "not from our Vivavoce"})
        message = json.loads(body)
        order = message["payload"]
        # What arrives twice, or is corrected, is the same order; what is taken back is none.
        if message["action"] == "retract":
            orders.pop(message["intent_id"], None)
        else:
            orders[message["intent_id"]] = order
        print(message["action"], message["intent"], order, flush=True)
        summary = f"breakfast for {order['people']}, {order['at']}"
        return self.answer(200, {"status": "accepted", "summary": summary})

    def answer(self, status: int, told: dict) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(told).encode())

    def log_message(self, *_: object) -> None:
        """What matters is printed."""


def genuine(headers, body: bytes) -> bool:
    """Is it from your Vivavoce, and not a recording?"""
    stamp = headers["webhook-timestamp"]
    signed = b".".join((headers["webhook-id"].encode(), stamp.encode(), body))
    mac = base64.b64encode(hmac.digest(SECRET, signed, "sha256")).decode()
    fresh = abs(time.time() - int(stamp)) < 300
    return fresh and hmac.compare_digest(headers["webhook-signature"], f"v1,{mac}")


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Kitchen).serve_forever()
