"""The user of a talk with a voice: each line said in a call, in real time, as a page would.

Owns the sound: it is made by Kokoro, kept beside the models, and sent over the WebSocket that the
server gives to pages without WebRTC; silence goes on between the lines, and a line waits until
the answer before it was heard to its end. What was said and done is read from the server, by the
judge's own means.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import threading
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from vivavoce.app.settings import load_settings
from vivavoce.engine.mouth.kokoro import KokoroMouth
from vivavoce.models.store import ModelStore

_RATE = 24_000
_PIECE = 0.1  # seconds
_SETTLED = 2.5
_PATIENCE = 240.0


@dataclass(frozen=True, slots=True)
class Voice:
    """Who says it, and how far below it the noise is."""

    name: str
    noise_db: float | None = None

    def says(self, words: str) -> bytes:
        """PCM16 at 24 kHz."""
        folder = Path(load_settings().models_dir) / "bench-requests"
        folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(f"{self.name} {words}".encode()).hexdigest()[:16]
        file = folder / f"{name}.pcm"
        if not file.exists():
            mouth = KokoroMouth(ModelStore(load_settings().models_dir).folder / "kokoro")
            file.write_bytes(asyncio.run(mouth.speak(words, voice=self.name)).pcm)
            mouth.close()
        pcm = file.read_bytes()
        return pcm if self.noise_db is None else _noisy(pcm, self.noise_db)


def _noisy(pcm: bytes, below: float) -> bytes:
    """With pink noise, the same each time."""
    sound = np.frombuffer(pcm, "<i2").astype(np.float64)
    loud = np.sqrt(np.mean(sound[np.abs(sound) > 200] ** 2)) if np.any(np.abs(sound) > 200) else 0
    white = np.fft.rfft(np.random.default_rng(len(pcm)).standard_normal(len(sound)))
    pink = np.fft.irfft(white / np.sqrt(np.arange(1, len(white) + 1)), len(sound))
    noise = pink / np.sqrt(np.mean(pink**2)) * loud * 10 ** (-below / 20)
    return bytes(np.clip(sound + noise, -32768, 32767).astype("<i2"))


class Line:
    """One call: a microphone that never stops, and a loudspeaker that knows when it is done."""

    def __init__(self, url: str, protocols: list[str]) -> None:
        self._socket = connect(url, subprotocols=protocols, max_size=None, proxy=None)  # type: ignore[arg-type]
        self._waiting = b""
        self._lock, self._over = threading.Lock(), threading.Event()
        self.quiet_at = time.monotonic()
        """When the last of the answer was heard."""
        for work in (self._listen, self._speak):
            threading.Thread(target=work, daemon=True).start()

    def say(self, pcm: bytes) -> None:
        """Returns when it is said. Raises `ConnectionError` where nobody listens any more."""
        with self._lock:
            self._waiting += pcm
        while self._waiting:
            if self._over.is_set():
                raise ConnectionError("The call is over, in the middle of a line.")
            time.sleep(_PIECE / 2)

    @property
    def quiet(self) -> bool:
        return time.monotonic() >= self.quiet_at

    def close(self) -> None:
        self._over.set()
        with suppress(ConnectionClosed, OSError):
            self._socket.close()

    def _speak(self) -> None:
        piece, begun, sent = int(_RATE * _PIECE) * 2, time.monotonic(), 0
        with suppress(ConnectionClosed, OSError):
            while not self._over.is_set():
                with self._lock:
                    sound, self._waiting = self._waiting[:piece], self._waiting[piece:]
                sound += bytes(piece - len(sound))
                audio = base64.b64encode(sound).decode()
                event = {"type": "input_audio_buffer.append", "audio": audio}
                self._socket.send(json.dumps(event))
                sent += 1
                time.sleep(max(0.0, begun + sent * _PIECE - time.monotonic()))
        self._over.set()

    def _listen(self) -> None:
        with suppress(ConnectionClosed, OSError):
            while not self._over.is_set():
                event = json.loads(self._socket.recv())
                if event["type"] == "response.output_audio.delta":
                    seconds = len(base64.b64decode(event["delta"])) / 2 / _RATE
                    self.quiet_at = max(time.monotonic(), self.quiet_at) + seconds
                elif event["type"] == "input_audio_buffer.speech_started":
                    self.quiet_at = time.monotonic()


def spoken_talk(judge: Any) -> type[Any]:
    """The judge's talk, with a voice in place of the keyboard."""

    class SpokenTalk(judge.Talk):  # type: ignore[misc] # somebody else's class
        def __init__(self, place: Any, talk: dict[str, Any], voice: Voice) -> None:
            super().__init__(place, talk)
            self._voice = voice
            began = self.call("POST", "/api/v1/voice/session", {"conversation_id": self.id})
            self.session = began["session_id"]
            grant = self._grant(began)
            self._line = Line(grant["url"], grant["protocols"])
            self._settled(0)  # the greeting, where there is one

        def _grant(self, began: dict[str, Any]) -> dict[str, Any]:
            key = began["ephemeral_key"]
            head = {"Authorization": f"Bearer {key}", "X-User-ID": self.user}
            request = urllib.request.Request(self.place.base + "/audio", b"", head, method="POST")
            with urllib.request.urlopen(request, timeout=60) as answer:
                grant: dict[str, Any] = json.loads(answer.read())
            base = self.place.base.replace("http", "ws", 1)
            grant["url"] = base + grant["url"] if grant["url"].startswith("/") else grant["url"]
            return grant

        def _settled(self, known: int, patience: float = 12.0) -> list[dict[str, Any]]:
            """The messages after so many, once there is an answer that was heard to its end."""
            began = since = time.monotonic()
            last: list[dict[str, Any]] = []
            while True:
                page: list[dict[str, Any]] = self.messages()[known:]
                now = time.monotonic()
                if page != last or not self._line.quiet:
                    last, since = page, now
                said = [m for m in page if m["role"] in ("assistant", "function")]
                open_ = not said or said[-1]["role"] != "assistant" or not self.reply(said[-1:])
                if now - since >= _SETTLED and (not open_ or now - began > patience):
                    return page
                if now - began > _PATIENCE:
                    return page
                time.sleep(0.3)

        def say(self, words: str) -> tuple[str, list[dict[str, Any]], float]:
            known, began = len(self.messages()), time.monotonic()
            try:
                self._line.say(self._voice.says(words))
            except ConnectionError as gone:
                raise judge.Trouble(str(gone)) from gone
            spoken = time.monotonic()
            page = self._settled(known, patience=90.0)
            said = [m for m in page if m["role"] in ("assistant", "function")]
            heard = " / ".join(m["content"] for m in page if m["role"] == "user")
            print(f"        heard: {heard}", flush=True)
            if not self.reply(said):
                raise judge.Trouble(f"no reply to {words!r} in {time.monotonic() - began:.0f} s")
            return self.reply(said), said, max(0.0, time.monotonic() - spoken - _SETTLED)

        def run(self) -> None:
            try:
                super().run()
            finally:
                self._line.close()

    return SpokenTalk
