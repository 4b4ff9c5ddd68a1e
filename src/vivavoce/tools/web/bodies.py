"""What a server sends, within bounds: unpacked, decoded, and told by its kind.

It reads pieces and keeps what fits; where they come from it does not know. A
kilobyte that unpacks to a gigabyte is cut at the same size as any other page.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

from vivavoce.errors import ToolFailed
from vivavoce.wire.values import Value

Form = Literal["html", "text", "json", "xml", "other"]

ENCODINGS = "gzip, deflate"
_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,64}/[a-z0-9!#$&^_.+-]{1,64}")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_:.-]{1,40})", re.I)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Only encodings of text: Python also calls things "encodings" that take hours on hostile input.
_CODECS = re.compile(
    r"utf-?8|utf-?16(le|be)?|us-ascii|iso-?8859-\d\d?|latin-?1|windows-125\d|cp125\d|koi8-[ru]|"
    r"shift_jis|euc-(jp|kr)|iso-2022-jp|gbk|gb2312|gb18030|big5|macintosh",
    re.I,
)
# Signs that turn text around or cannot be seen: a person would not read what the model reads.
_UNSEEN = re.compile(
    r"[\u202a-\u202e\u2066-\u2069\u00ad\U000e0000-\U000e007f\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)


class Limits(Value):
    """For the whole of a fetch, redirects included (seed 000 §4.4: within 10 s)."""

    seconds: float = 10.0
    bytes: int = 2_000_000


class Page(Value):
    """What was found. `text` is None for what cannot be read, such as a picture."""

    url: str
    form: Form
    media_type: str
    text: str | None
    size: int | None
    """In bytes, where known: what the server says of something we did not read."""
    cut: bool = False


def form_of(content_type: str) -> tuple[Form, str]:
    """How it is read, and the bare type to tell people of."""
    kind = content_type.partition(";")[0].strip().lower()
    if not _TYPE.fullmatch(kind):
        return "html", "unknown"  # many a small server says nothing; a binary is noticed later
    if kind in ("text/html", "application/xhtml+xml"):
        return "html", kind
    if kind.endswith(("/json", "+json", "/x-ndjson")):
        return "json", kind
    if kind.endswith(("/xml", "+xml")) and not kind.startswith("image/"):
        return "xml", kind
    if kind.startswith("text/") or kind.endswith(("/javascript", "/yaml", "/x-yaml", "/toml")):
        return "text", kind
    return "other", kind


async def read_body(pieces: AsyncIterator[bytes], encoding: str, limit: int) -> tuple[bytes, bool]:
    """At most `limit` bytes, on the wire and unpacked, and whether there was more than we take.
    Raises `ToolFailed` for what is broken."""
    unpack = _unpacker(encoding)
    kept = bytearray()
    received = 0
    async for piece in pieces:
        piece = piece[: limit - received]
        received += len(piece)
        try:
            kept += unpack(piece, limit + 1 - len(kept))
        except zlib.error:
            raise ToolFailed("The page came packed in a way that cannot be unpacked") from None
        if received >= limit or len(kept) > limit:
            return bytes(kept[:limit]), True
    return bytes(kept), False


class _Zlib:
    """Unpacks no more than there is room for, whatever the piece promises.

    Without `wbits` it is "deflate": zlib's format, and raw from those who took the name at its
    word.
    """

    def __init__(self, wbits: int = 0) -> None:
        self._wbits = wbits
        self._stream: Any = None

    def __call__(self, piece: bytes, room: int) -> bytes:
        out = b""
        if piece and not self._wbits:
            self._wbits = zlib.MAX_WBITS if piece[0] & 0x0F == 8 else -zlib.MAX_WBITS
        while piece and len(out) < room:
            if self._stream is None or self._stream.eof:
                # gzip may be several files, one after another
                self._stream = zlib.decompressobj(self._wbits)
            out += self._stream.decompress(piece, room - len(out))
            piece = self._stream.unused_data
        return out


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    match encoding.strip().lower():
        case "" | "identity":
            return lambda piece, room: piece[:room]
        case "gzip" | "x-gzip":
            return _Zlib(zlib.MAX_WBITS | 16)
        case "deflate":
            return _Zlib()
        case _:
            raise ToolFailed("The page came packed in a way that cannot be unpacked")


def decoded(data: bytes, content_type: str) -> str | None:
    """As text; None where it is plainly none."""
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data.decode(name, "replace").removeprefix("\ufeff")
    named = _CHARSET.search(content_type) or _CHARSET.search(data[:1024].decode("latin-1"))
    name = named[1] if named and _CODECS.fullmatch(named[1]) else "utf-8"
    if name.lower() in ("latin-1", "latin1", "iso-8859-1", "iso8859-1", "us-ascii"):
        name = "cp1252"  # as every browser reads it
    try:
        text = data.decode(name, "replace")
    except LookupError:  # iso-8859-99
        text = data.decode("utf-8", "replace")
    return None if "\x00" in text[:4096] else text


def visible(text: str) -> str:
    """Without what only a machine would read."""
    return _UNSEEN.sub("", text)
