"""What a repository has that git would run, or that leads git elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from vivavoce.tools.repositories.files import (
    harmless,
    hash_size,
    named_words,
    writes_only_files,
)
from vivavoce.tools.repositories.tree import Parts, Stamp, Tree, would_be_one

TREES = ("refs", "logs")
_SETTINGS = ("config", "config.worktree")
_INDEX = re.compile(r"index|sharedindex\.[0-9a-f]+")
_ALWAYS = ("commondir", "rebase-merge", "rebase-apply", "sequencer")
_MOST_SETTINGS, _MOST_INDEX = 1 << 20, 256 << 20
_MOST = 2_000
_DEPTHS = {"hooks": 4, "objects": 6, "refs": 16, "logs": 16}


def dangers(tree: Tree, at: Path, git: Parts, known: Mapping[Parts, Stamp]) -> list[Parts]:
    """What of it names or is a program, or leads elsewhere, and is not as it was `known`. `git` is
    a `.git` in the folder `at`, or a folder that git takes for one."""
    new = [path for path, stamp in _own(tree, git).items() if known.get(path) != stamp]
    found = [path for path in new if not _harmless(tree, git, path)]
    if not any(path[:-1] == git and path[-1] in _SETTINGS for path in found):
        # What settings name that are put aside is named by nobody.
        named = _named(tree, at, git)
        found += [path for path, stamp in named.items() if known.get(path) != stamp]
    return found


def stamps(tree: Tree, at: Path, git: Parts) -> dict[Parts, Stamp]:
    """All that could be a danger, each with what tells it from another."""
    return _own(tree, git) | _named(tree, at, git)


def index_is_fine(tree: Tree, git: Parts, data: bytes | None) -> bool:
    size = hash_size(_text(tree, (*git, "config")))
    return data is not None and size is not None and writes_only_files(data, size)


def _harmless(tree: Tree, git: Parts, path: Parts) -> bool:
    if path[:-1] != git:
        return False
    if path[-1] in _SETTINGS:
        data = tree.read(path, _MOST_SETTINGS)
        return data is not None and harmless(data.decode(errors="replace"))
    if _INDEX.fullmatch(path[-1]):
        data = tree.read(path, _MOST_INDEX)
        # An empty one is not there yet.
        return data == b"" or index_is_fine(tree, git, data)
    return False


def _own(tree: Tree, git: Parts) -> dict[Parts, Stamp]:
    try:
        with tree.listed(git) as entries:
            found = [(*git, entry.name) for entry in entries if _telling(entry)]
    except FileNotFoundError:
        return {}
    except OSError:  # no folder: it says where git is to look instead; or one that is closed
        return _stamped(tree, [git])
    if len(found) > _MOST:
        return _stamped(tree, [git])
    found.append((*git, "objects", "info", "alternates"))
    for name, depth in _DEPTHS.items():
        wanted = _no_sample if name == "hooks" else os.DirEntry.is_symlink
        found += tree.beneath((*git, name), depth, wanted, _MOST)
    stamped = _stamped(tree, found)
    for path in stamped:
        if path[:-1] == git and _INDEX.fullmatch(path[-1]):
            stamped[path] = as_read(tree, git, stamped[path])
    return stamped


def as_read(tree: Tree, git: Parts, index: Stamp) -> Stamp:
    """The stamp of an index with what decides how git reads it: by other settings it is another
    index, with other names in it."""
    return (*index, hash_size(_text(tree, (*git, "config"))) or 0)


def _telling(entry: os.DirEntry[str]) -> bool:
    name = entry.name
    known = name in _SETTINGS or name in _ALWAYS or _INDEX.fullmatch(name) is not None
    return known or entry.is_symlink()


def _no_sample(entry: os.DirEntry[str]) -> bool:
    return not entry.name.endswith(".sample")


def _named(tree: Tree, at: Path, git: Parts) -> dict[Parts, Stamp]:
    if not git or git[-1] != ".git":
        return {}
    found: list[Parts] = []
    for place in named_by(tree, at, git):
        found += [place, *tree.beneath(place, 4, lambda _: True, _MOST)]
    return _stamped(tree, found)


def _stamped(tree: Tree, found: Sequence[Parts]) -> dict[Parts, Stamp]:
    return {path: stamp for path in found if (stamp := tree.stamp(path)) is not None}


def named_by(tree: Tree, at: Path, git: Parts) -> Iterator[Parts]:
    """What a repository's settings name within its own folder: files that git reads as further
    settings or runs as programs (`include.path`, `core.hooksPath`, a filter in the project). They
    need not be there yet."""
    project = at.joinpath(*git[:-1])
    for name in _SETTINGS:
        for word in named_words(_text(tree, (*git, name))):
            # Programs are named from the project's folder, further settings from `.git`.
            for base in (project, project / git[-1]):
                place = Path(os.path.normpath(base / word))
                inside = place != project and place.is_relative_to(project)
                if inside and not place.is_relative_to(project / ".git"):
                    yield place.relative_to(at).parts


def _text(tree: Tree, path: Parts) -> str:
    return (tree.read(path, _MOST_SETTINGS) or b"").decode(errors="replace")


def may_write(root: Path, parts: Sequence[str]) -> bool:
    """Is this file, by its real place beneath the root, none that git would read as a repository's
    or run? Repositories in folders named `.git` are another's business."""
    target = tuple(parts)
    with Tree(root) as tree:
        for depth in range(len(target)):
            folder = target[:depth]
            try:
                names = set(tree.names(folder))
            except FileNotFoundError:  # to be made, and empty
                names = set()
            except OSError:  # closed to us, or no folder any more: not to be judged
                return False
            if would_be_one({*names, target[depth]}):
                return False
            if ".git" in names and any(
                target[: len(one)] == one for one in named_by(tree, root, (*folder, ".git"))
            ):
                return False
    return True
