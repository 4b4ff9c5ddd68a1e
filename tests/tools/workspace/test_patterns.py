"""Globs and the rules of a .gitignore, on names alone."""

from __future__ import annotations

import pytest

from vivavoce.tools.workspace.names import Rules, alike
from vivavoce.tools.workspace.patterns import Glob, Ignore, alternatives, ignored


@pytest.mark.parametrize(
    ("pattern", "fits", "not_these"),
    [
        ("*.py", "a.py", "src/a.py a.pyc"),
        ("**/*.py", "a.py src/a.py src/b/c/a.py", "a.md"),
        ("src/**", "src/a src/b/c", "a lib/src/a"),
        ("src/**/test_*.py", "src/test_a.py src/x/y/test_b.py", "test_a.py src/a.py"),
        ("*.{ts,tsx}", "a.ts b.tsx", "a.js"),
        ("{src,lib}/*.[ch]", "src/a.c lib/b.h", "src/a.o bin/a.c"),
        ("./docs/?.md", "docs/a.md", "docs/ab.md"),
        ("**/**/a", "a x/a x/y/a", "b"),
    ],
)
def test_a_glob_fits_what_it_should(pattern: str, fits: str, not_these: str) -> None:
    glob = Glob(pattern)
    assert all(glob.matches(name.split("/")) for name in fits.split())
    assert not any(glob.matches(name.split("/")) for name in not_these.split())


def test_case_counts_unless_it_should_not() -> None:
    assert not Glob("readme*").matches(["README.md"])
    assert Glob("ReadMe*", any_case=True).matches(["README.md"])


def test_braces_cannot_explode() -> None:
    assert len(alternatives("{a,b}" * 40)) <= 64


def test_many_stars_take_no_time_to_speak_of() -> None:
    """It would not end in a lifetime if each star were tried with each other."""
    assert not Glob("**/" * 50 + "*a" * 100 + "b").matches([*["d" * 50] * 50, "a" * 250])


@pytest.mark.parametrize(
    ("rules", "hidden", "kept"),
    [
        ("*.log", "a.log x/b.log", "a.txt"),
        ("build/", "build/ x/build/", "build"),
        ("/build", "build build/", "x/build"),
        ("docs/*.txt", "docs/a.txt", "x/docs/a.txt docs/b/a.txt"),
        ("**/gen", "gen a/b/gen", "generic"),
        ("a/**/z", "a/z a/b/c/z", "z"),
        ("*\n!keep.me", "a.txt", "keep.me"),
        ("# a comment\n\n  \n\\#odd\n\\!odd", "#odd !odd", "a"),
        ("trailing   \r\n", "trailing", "x"),
    ],
)
def test_a_gitignore_hides_what_git_would(rules: str, hidden: str, kept: str) -> None:
    one = [Ignore(rules)]

    def hides(name: str) -> bool:
        return ignored(one, tuple(name.rstrip("/").split("/")), name.endswith("/"))

    assert all(hides(name) for name in hidden.split(" "))
    assert not any(hides(name) for name in kept.split(" "))


def test_the_innermost_rules_have_the_last_word() -> None:
    rules = [Ignore("*.txt"), Ignore("!keep.txt\n/top.md", ("src",))]
    assert ignored(rules, ("src", "other.txt"), False)
    assert not ignored(rules, ("src", "keep.txt"), False)
    assert ignored(rules, ("src", "top.md"), False)
    assert not ignored(rules, ("src", "deep", "top.md"), False)


def test_rules_are_names_anywhere_or_paths_from_the_root() -> None:
    rules = Rules.of([".git", "private/data", "/top"])
    assert rules.forbid(("a", ".Git", "config"))
    assert rules.forbid(("private", "data", "x"))
    assert rules.forbid(("top",))
    assert not rules.forbid(("a", "private", "data"))
    assert not rules.forbid(("a", "top"))
    assert not rules.forbid((".gitignore",))


def test_only_what_sounds_alike_is_suggested_where_something_does() -> None:
    there = ["src/registry.py", "tests/test_registry.py", "tests/test_registries.py"]
    assert alike("test registry dot py", there) == ["tests/test_registry.py"]
    assert alike("test_registri.py", there)[0] in there[1:]
    assert alike("", there) == []
