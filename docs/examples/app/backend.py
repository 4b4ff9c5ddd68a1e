"""The backend of an app: it serves the app's pages, and gives whoever is logged in there a key.

    VOICE_TOKEN=… python backend.py 3000 https://voice.example.org

The second word is where the Vivavoce server is. VOICE_TOKEN is a token of it, which stays here.
"""

import json
import os
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

HERE = Path(__file__).parent


class App(SimpleHTTPRequestHandler):
    def __init__(self, voice: str, *args, **kwargs) -> None:
        self.voice = voice
        super().__init__(*args, directory=str(HERE), **kwargs)

    def do_GET(self) -> None:
        if self.path != "/voice-key":
            return super().do_GET()
        user = "ada"  # whoever your login says it is
        asked = Request(
            f"{self.voice}/api/v1/keys",
            data=json.dumps({"user_id": user}).encode(),
            headers={
                "Authorization": f"Bearer {os.environ['VOICE_TOKEN']}",
                "Content-Type": "application/json",
            },
        )
        with urlopen(asked, timeout=10) as answer:
            key = answer.read()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(key)
        return None

    def end_headers(self) -> None:
        # Optional: all that the element needs, and nothing else.
        scripts = f"script-src 'self' {self.voice}"
        asked = f"connect-src 'self' {self.voice} {self.voice.replace('http', 'ws', 1)}"
        self.send_header("Content-Security-Policy", f"default-src 'self'; {scripts}; {asked}")
        super().end_headers()


if __name__ == "__main__":
    port, voice = int(sys.argv[1]), sys.argv[2].rstrip("/")
    ThreadingHTTPServer(("127.0.0.1", port), partial(App, voice)).serve_forever()
