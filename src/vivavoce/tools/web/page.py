"""A page's HTML as text a model can use: headings, paragraphs, lists, links, tables.

A program of its own: HTML comes in on stdin, text goes out on stdout, and the
page's address is the one argument. It imports nothing of ours. The parser is
selectolax (Lexbor), a browser-grade parser in C: written well, but a page made
of a hundred thousand open <div>s keeps it busy for half a minute, so it works
here, where it can be stopped and has nothing to lose, not in the server.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_OUTPUT = 200_000
MAX_MEMORY = 1 << 30
MAX_CPU = 5

_DROPPED = frozenset(
    """script style noscript template iframe frame object embed applet svg math canvas video audio
    head nav button select option datalist dialog input textarea""".split()  # noqa: SIM905
)
_BLOCKS = frozenset(
    """div section article main header footer aside li dt dd caption tr figure figcaption address
    details summary form fieldset hr br""".split()  # noqa: SIM905
)
_APART = frozenset({"p", "table", "dl", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6"})
_LISTS = frozenset({"ul", "ol"})
_ROLES = frozenset({"navigation", "search", "menu", "menubar", "toolbar", "dialog", "alertdialog"})
_HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(hidden|collapse)|opacity\s*:\s*0*\.?0+\s*(;|!|$)|"
    r"font-size\s*:\s*0*\.?0+(px|em|rem|pt|%)?\s*(;|!|$)",
    re.I,
)
_SPACE = re.compile(r"[\s\u200b\u2060\ufeff]+")


class Writer:
    """Lines as they come, without a blank one too many."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.lines: list[str] = []
        self._line: list[str] = []
        self._prefix = ""
        self.size = 0

    def say(self, text: str) -> None:
        self._line.append(text)

    def end(self, prefix: str = "", gap: bool = False) -> None:
        """Ends the line; `prefix` begins the next one that has something in it."""
        line = _SPACE.sub(" ", "".join(self._line)).strip().strip("|").strip()
        self._line.clear()
        if line:
            self.lines.append(self._prefix + line)
            self.size += len(line)
            self._prefix = ""
        if gap and self.lines and self.lines[-1]:
            self.lines.append("")
        if prefix or line:
            self._prefix = prefix

    def whole(self, text: str) -> None:
        """As it is written: code."""
        self.end(gap=True)
        self.lines += ["```", *text.strip("\n").splitlines(), "```", ""]
        self.size += len(text)

    def text(self) -> str:
        self.end()
        return "\n".join(self.lines).strip()


def text_of(html: str, base: str) -> str:
    """The title, then the page; its main part where it has one, with the footers after it."""
    page = LexborHTMLParser(html)
    writer = Writer(base)
    title = page.css_first("head title")
    if title is not None and (words := title.text(strip=True)):
        writer.say(f"Title: {words}")
        writer.end(gap=True)
    for root in _roots(page):
        _walk(root, writer)
        writer.end(gap=True)
    return writer.text()[:MAX_OUTPUT]


def _roots(page: LexborHTMLParser) -> list[LexborNode]:
    body = page.body
    if body is None:
        return [page.root] if page.root is not None else []
    mains = [one for one in page.css("main, [role=main]") if not _hidden(one)]
    if len(mains) == 1 and len(mains[0].text(strip=True)) >= 200:
        # A shop's telephone number is at the very end of its page.
        return [mains[0], *page.css("body > footer")]
    return [body]


def _walk(root: LexborNode, writer: Writer) -> None:
    """Depth first with a stack of our own: a hostile page nests deeper than Python can."""
    stack: list[tuple[LexborNode, bool]] = [(root, True)]
    while stack and writer.size < MAX_OUTPUT:
        node, entering = stack.pop()
        if not entering:
            _leave(node, writer)
        elif node.is_text_node:
            writer.say(node.text_content or "")
        elif node.is_element_node and node.tag not in _DROPPED and not _hidden(node):
            if node.tag == "pre":
                writer.whole(node.text())
                continue
            _enter(node, writer)
            stack.append((node, False))
            child = node.last_child
            while child is not None:
                stack.append((child, True))
                child = child.prev


def _enter(node: LexborNode, writer: Writer) -> None:
    match node.tag:
        case "h1" | "h2" | "h3" | "h4" | "h5" | "h6" as tag:
            writer.end("#" * int(tag[1]) + " ", gap=True)
        case "li" | "dt":
            writer.end("- ")
        case "dd":
            writer.end("  ")
        case "blockquote":
            writer.end("> ", gap=True)
        case "td" | "th":
            writer.say(" | ")
        case "img" if alt := (node.attributes.get("alt") or "").strip():
            writer.say(f"[picture: {alt[:200]}] ")
        case tag if tag in _APART:
            writer.end(gap=True)
        case tag if tag in _BLOCKS or tag in _LISTS:
            writer.end()


def _leave(node: LexborNode, writer: Writer) -> None:
    tag = node.tag
    if tag == "a":
        if link := _link(node, writer.base):
            writer.say(f" ({link})")
    elif tag in _APART:
        writer.end(gap=True)
    elif tag in _LISTS:
        writer.end(gap=node.parent is None or node.parent.tag != "li")
    elif tag in _BLOCKS:
        writer.end()


def _link(node: LexborNode, base: str) -> str | None:
    """Where a link leads, where that is a page and it has words."""
    href = (node.attributes.get("href") or "").strip()
    if not href or href.startswith("#") or not node.text(strip=True):
        return None
    with contextlib.suppress(ValueError):
        link = urljoin(base, href)
        if link.startswith(("http://", "https://")) and len(link) <= 500:
            return _SPACE.sub("", link)
    return None


def _hidden(node: LexborNode) -> bool:
    """What a person would not see."""
    attributes = node.attributes
    return (
        "hidden" in attributes
        or (attributes.get("aria-hidden") or "").lower() == "true"
        or (attributes.get("role") or "").lower() in _ROLES
        or bool(_HIDING.search(attributes.get("style") or ""))
    )


def _confine() -> None:
    """A page that is a trap costs some seconds and no more, and no call its sound."""
    with contextlib.suppress(AttributeError, OSError):
        os.nice(10)
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows; a lower limit is set
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU, MAX_CPU))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    _confine()
    html = sys.stdin.buffer.read().decode("utf-8", "replace")
    sys.stdout.buffer.write(text_of(html, sys.argv[1]).encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
