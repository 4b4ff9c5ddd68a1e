"""What a client said, kept in a small file: `frames/<client>/<scene>.json`, one step a line.

Made from what `between.py` noted in a real run, and played again by `replay.py` without
the client. The steps, each with the number of its connection where it has one:

- `open`: a WebSocket, with its query, subprotocols and the headers that matter;
- `send`: a frame, as the client sent it;
- `sound`: frames of sound, of so many `bytes`; what was in them is told as milliseconds of
  speech and silence, shortened, and made anew when it is played;
- `expect`: types of server events that came before the client did anything else, so they
  must come again (of a series of deltas the first; see `kind_of`);
- `ask`: an HTTP request and the status of its answer;
- `say`: somebody on the call speaks for so many milliseconds;
- `close` and `cut`: the client's end of a connection, and a network that was lost.

Ids that the server gave stand as `$item.2`: the second item that the server named.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email import message_from_bytes
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from tests.clients.between import Asked, Closed, Got, Opened, Said, Sent, Taken

Step = dict[str, Any]
FOLDER = Path(__file__).parent / "frames"
APPEND = "input_audio_buffer.append"
KEY = "$key"
"""Stands for the key that the client was given."""
OFFER = "$offer"
"""Stands for an SDP offer, which is made anew each time: somebody has to be behind it."""
_HEADERS = ("authorization", "openai-beta", "openai-safety-identifier", "accept", "content-type")
_UNSURE = ("rate_limits.updated", "conversation.item.input_audio_transcription.delta")
"""Events that may come or not, as the ears and the limits are."""
_LOUD = 300
"""Of 32,768: the mean of a piece with somebody in it."""
_PAUSE_MS = 1_000
_LENGTHS = {"speech": (400, 800), "silence": (0, 1_500)}
"""At least and at most, in milliseconds: enough to be noticed, and no more."""


# --- Names for what the server made up -------------------------------------------------


@dataclass
class Names:
    """The server's ids in the order in which it named them; the client's own are left alone."""

    _own: set[str] = field(default_factory=set)
    _names: dict[str, str] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def sent(self, frame: Mapping[str, Any]) -> None:
        item = frame.get("item") or {}
        self._own |= {item.get("id", ""), item.get("call_id", "")} - set(self._names)

    def got(self, event: Mapping[str, Any]) -> None:
        for kind, found in _ids(event):
            self.add(kind, found)

    def add(self, kind: str, found: str) -> None:
        if found not in self._names and found not in self._own:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._names[found] = f"${kind}.{self._counts[kind]}"

    def hide(self, value: Any) -> Any:
        """With names in place of the server's ids."""
        return _swapped(value, self._names)

    def show(self, value: Any) -> Any:
        """With this server's ids in place of the names."""
        return _swapped(value, {name: found for found, name in self._names.items()})


def _ids(event: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    item, response = event.get("item") or {}, event.get("response") or {}
    for kind, found in (
        ("item", event.get("item_id")),
        ("item", item.get("id")),
        ("call", item.get("call_id")),
        ("call", event.get("call_id")),
        ("response", event.get("response_id")),
        ("response", response.get("id")),
    ):
        if isinstance(found, str):
            yield kind, found


def _swapped(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _swapped(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [_swapped(one, names) for one in value]
    if not isinstance(value, str):
        return value
    if value in names:
        return names[value]
    for old, new in names.items():  # a call in a path, a secret in a header
        if old.startswith(("rtc_", "ek_", "$rtc", "$secret")):
            value = value.replace(old, new)
    return value


def kind_of(event: Mapping[str, Any]) -> str:
    """Its type, with how a response ended and what an error was about."""
    match event:
        case {"type": "error", "error": {"code": code}}:
            return f"error {code}"
        case {"type": "response.done", "response": {"status": status}}:
            return f"response.done {status}"
    return str(event["type"])


# --- From what went by to steps --------------------------------------------------------


def condensed(taken: Sequence[Taken], key: str) -> list[Step]:
    """The steps of one scene; `key` is the one that the client was given."""
    making = _Making(key)
    for one in taken:
        making.take(one)
    return making.finished()


@dataclass
class _Making:
    key: str
    names: Names = field(default_factory=Names)
    steps: list[Step] = field(default_factory=list)
    _expected: dict[int, list[str]] = field(default_factory=dict)
    _sound: dict[int, list[bytes]] = field(default_factory=dict)
    _begun: set[tuple[str, str]] = field(default_factory=set)
    """Series of deltas: the first of each is expected."""

    def take(self, one: Taken) -> None:
        match one:
            case Got():
                self.names.got(one.event)
                self._expect(one.connection, one.event)
            case Sent() if one.frame["type"] == APPEND:
                if one.connection not in self._sound or self._answered(one.connection):
                    self._settle()
                    self._sound[one.connection] = []
                self._sound[one.connection].append(base64.b64decode(one.frame["audio"]))
            case Sent():
                self._settle()
                self.names.sent(one.frame)
                self.steps.append({"send": one.connection, "frame": self.names.hide(one.frame)})
            case Opened():
                self._settle()
                self.steps.append(self._opened(one))
            case Closed():
                self._settle()
                if one.by != "server":
                    self.steps.append({"close" if one.by == "client" else "cut": one.connection})
            case Asked():
                self._settle()
                self.steps.append(self._asked(one))
            case Said():
                self._settle()
                self.steps.append({"say": min(one.ms, _LENGTHS["speech"][1])})

    def finished(self) -> list[Step]:
        self._settle()
        return self.steps

    def _expect(self, connection: int, event: Mapping[str, Any]) -> None:
        if (kind := kind_of(event)) in _UNSURE:
            return
        if kind.endswith(".delta"):
            series = (kind, event["item_id"])
            if series in self._begun:
                return
            self._begun.add(series)
        self._expected.setdefault(connection, []).append(kind)

    def _answered(self, connection: int) -> bool:
        """A turn is over; what is said from now on belongs to the next one."""
        kinds = self._expected.get(connection, ())
        return any(kind.startswith("response.done") for kind in kinds)

    def _settle(self) -> None:
        """Sound that was sent first, then what came meanwhile."""
        for connection, pieces in self._sound.items():
            step = {"sound": connection, "bytes": len(pieces[0]), "parts": parts(pieces)}
            self.steps.append(step)
        for connection, kinds in self._expected.items():
            self.steps.append({"expect": connection, "events": kinds})
        self._sound, self._expected = {}, {}

    def _opened(self, one: Opened) -> Step:
        step: Step = {
            "open": one.connection,
            "path": one.path,
            "query": self.names.hide(one.query),
            "headers": self._headers(one.headers),
        }
        if one.protocols:
            step["protocols"] = [self._hidden(name) for name in one.protocols]
        return step | ({"refused": one.refused} if one.refused else {})

    def _asked(self, one: Asked) -> Step:
        step: Step = {
            "ask": one.method,
            "path": self.names.hide(one.path),
            "query": one.query,
            "headers": self._headers(one.headers),
            "status": one.status,
        }
        kind = one.headers.get("content-type", "")
        if kind.startswith("multipart/form-data"):
            step["headers"].pop("content-type")
            step["form"] = _form(kind, one.body)
        elif one.body:
            step["body"] = _without_offer(one.body)
        for kind, found in _told(one):
            self.names.add(kind, found)
        return step

    def _headers(self, given: Mapping[str, str]) -> dict[str, str]:
        return {name: self._hidden(given[name]) for name in _HEADERS if name in given}

    def _hidden(self, value: str) -> str:
        hidden: str = self.names.hide(value.replace(self.key, KEY))
        return hidden


def _told(asked: Asked) -> Iterator[tuple[str, str]]:
    return told(asked.answer_headers, asked.answer)


def told(headers: Mapping[str, str], body: bytes) -> Iterator[tuple[str, str]]:
    """The ids in an HTTP answer: a call's, a secret."""
    if where := headers.get("location"):
        yield "rtc", where.rsplit("/", 1)[-1]
    if headers.get("content-type", "").startswith("application/json"):
        found = orjson.loads(body)
        if str(found.get("value", "")).startswith("ek_"):
            yield "secret", found["value"]


def _form(kind: str, body: bytes) -> list[list[str]]:
    """Name, type and text of each field."""
    whole = message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    fields = []
    for part in whole.get_payload():
        assert not isinstance(part, str)
        name = part.get_param("name", header="content-disposition")
        text = part.get_payload(decode=True)
        assert isinstance(text, bytes)
        fields.append([str(name), part.get_content_type(), _without_offer(text)])
    return fields


def _without_offer(body: bytes) -> str:
    return OFFER if body.startswith(b"v=0") else body.decode()


# --- Sound -----------------------------------------------------------------------------


def parts(pieces: Sequence[bytes]) -> list[list[Any]]:
    """`[["speech", 800], ["silence", 1500]]`: what is in these pieces, no longer than needed."""
    runs: list[tuple[bool, int]] = []
    for piece in pieces:
        samples = np.frombuffer(piece[: len(piece) // 2 * 2], dtype="<i2").astype(np.float64)
        loud = bool(len(samples)) and float(np.abs(samples).mean()) > _LOUD
        ms = len(samples) // 24
        if runs and runs[-1][0] == loud:
            runs[-1] = (loud, runs[-1][1] + ms)
        else:
            runs.append((loud, ms))
    found: list[list[Any]] = []
    for at, (loud, ms) in enumerate(runs):
        between = 0 < at < len(runs) - 1
        kind = "speech" if loud or (between and ms < _PAUSE_MS) else "silence"
        if found and found[-1][0] == kind:
            found[-1][1] += ms
        else:
            found.append([kind, ms])
    return [[kind, min(max(ms, _LENGTHS[kind][0]), _LENGTHS[kind][1])] for kind, ms in found]


# --- Files -----------------------------------------------------------------------------


def path(client: str, scene: str) -> Path:
    return FOLDER / client / f"{scene}.json"


def write(client: str, scene: str, version: str, steps: Sequence[Step]) -> None:
    file = path(client, scene)
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = ",\n".join(f"    {json.dumps(step)}" for step in steps)
    file.write_text(f'{{\n  "client": {json.dumps(version)},\n  "steps": [\n{rows}\n  ]\n}}\n')


def read(client: str, scene: str) -> list[Step]:
    steps: list[Step] = orjson.loads(path(client, scene).read_bytes())["steps"]
    return steps


def recorded() -> list[tuple[str, str]]:
    """Client and scene of every file there is."""
    return sorted((file.parent.name, file.stem) for file in FOLDER.glob("*/*.json"))
