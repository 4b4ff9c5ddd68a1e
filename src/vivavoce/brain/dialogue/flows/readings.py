"""The readings by name: what a stage can give as `read`. Here are those of commands (how one ended,
which tests failed, what git says, how tests are run) and of what is not in the workspace (pages,
searches, tasks, sums, the time); those of lines and of files have modules of their own.

Each takes the text of a result and what is known of the wish, and gives values: `told` is what can
be said of it, the others are for the next stage. None: the result has nothing of what was wanted.
Nothing is told that is not in the result.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from vivavoce.brain.dialogue import times
from vivavoce.brain.dialogue.flows import changing, comparing, files, tables, text, values
from vivavoce.brain.dialogue.flows.results import (
    ASKING,
    CUT,
    FEW,
    SHORT,
    Ended,
    Known,
    Match,
    clipped,
    counted,
    ended,
    joined,
    matches_in,
    prose,
    sentence,
    spoken_path,
)
from vivavoce.language.en.naming import bare, pieces, stem, telling
from vivavoce.language.en.reckoning import spoken as spoken_sum


def command(output: str, known: Known) -> Mapping[str, Any] | None:
    """How it ended, and the last thing it said."""
    done = ended(output)
    said = str(known.get("command"))
    if said.startswith("wc ") and (tally := _tally(done, _TALLIED.get(said.split()[1], "line"))):
        return tally
    tests = test_words(done)
    if tests:
        return {"told": tests, "ok": done.ok}
    printed = _printed(done.lines, str(known["said"]))
    if done.ok:
        told = printed or "It ran and printed nothing."
    else:
        how = re.sub(r"^Failed \(exit code (\d+)\)(?:: )?(.*)\.$", _how, done.how)
        told = f"{sentence(how)} {printed}"
    return {"told": told.strip(), "ok": done.ok}


def _how(found: re.Match[str]) -> str:
    return f"It failed: {found[2]}" if found[2] else f"It failed with exit code {found[1]}"


def _printed(lines: Sequence[str], said: str) -> str:
    """All of it, where that is short; else what was asked about, and how it ended."""
    lines = [line for line in lines if re.search(r"\w", line)]
    trace = next((at for at, line in enumerate(lines) if line.startswith("Traceback (most")), -1)
    if not lines:
        return ""
    if trace >= 0:  # the way there is nothing for the ear
        lines = [*lines[:trace], lines[-1]]
    if marked := _marked_so(lines, said):
        lines = marked
    whole = " ".join(sentence(clipped(prose(line))) for line in lines)
    if len(lines) <= FEW or len(whole) <= SHORT // 2:
        return f"It printed: {whole}"
    asked = _asked_of(lines[:-1], said)
    told = [f"It printed {counted(len(lines), 'line')}."]
    told += [sentence(clipped(prose(line))) for line in asked]
    return " ".join([*told, f"The last is: {sentence(clipped(prose(lines[-1])))}"])


def _marked_so(lines: Sequence[str], said: str) -> Sequence[str]:
    """Those that are marked with a word that was said: "only tell me what's missing"."""
    words = {stem(word) for word in telling(said)} - ASKING
    marks = Counter(stem(one) for line in lines for one in pieces(line)[:1])
    named = {word for word in words if 0 < marks[word] < len(lines)}
    return [line for line in lines if set(map(stem, pieces(line)[:1])) & named]


def _asked_of(lines: Sequence[str], said: str) -> Sequence[str]:
    """The few that have most of the words that were said."""
    words = {stem(word) for word in telling(said)} - ASKING
    rates = [len(words & set(map(stem, pieces(line)))) for line in lines]
    best = max(rates, default=0)
    found = [line for line, rate in zip(lines, rates, strict=True) if best and rate == best]
    return found if len(found) <= FEW else ()


_RAN = re.compile(r"^Ran (\d+) tests?", re.MULTILINE)
_UNITTEST = re.compile(r"^FAILED \((.+)\)|^OK\b", re.MULTILINE)
_PYTEST = re.compile(
    r"(?:^|=+ )((?:\d+ (?:passed|failed|errors?|skipped|xfailed|deselected|warnings?)(?:, )?)+)"
    r" in [\d.]+",
    re.M,
)
_JEST = re.compile(r"^Tests:\s+(.+)$", re.MULTILINE)
_GO = re.compile(r"^(ok|FAIL|---\s+FAIL:?)\s+(\S+)", re.MULTILINE)
_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed", re.MULTILINE)
_FAILED = re.compile(
    r"^(?:FAILED|ERROR) \S*?::(?:\w+::)?(\w+)|^(?:FAIL|ERROR): (\w+)|^--- FAIL: (\w+)|"
    r"^test (\S+) \.\.\. FAILED",
    re.MULTILINE,
)


def test_words(done: Ended) -> str:
    """Of a run of tests: how many, and which failed. Empty where it was none."""
    text = "\n".join(done.lines)
    tally = _passed(text)
    if tally is None:
        return ""
    passed, failed = tally
    names = [next(filter(None, one)) for one in _FAILED.findall(text)]
    total = passed + failed
    if failed:
        which = f": {joined(list(dict.fromkeys(names))[:FEW])}" if names else ""
        return f"{failed} of {counted(total, 'test')} failed{which}."
    if not total:
        return "No tests were run."
    if not done.ok:
        return f"{counted(passed, 'test')} passed, and still it ended badly: {sentence(done.how)}"
    return f"All {total} tests passed." if total > 1 else "The one test passed."


def _passed(text: str) -> tuple[int, int] | None:
    if ran := _RAN.search(text):
        end = _UNITTEST.search(text)
        bad = sum(map(int, re.findall(r"(?:failures|errors)=(\d+)", end[0]))) if end else 0
        return int(ran[1]) - bad, bad
    if found := [*_CARGO.finditer(text)]:
        return sum(int(one[1]) for one in found), sum(int(one[2]) for one in found)
    for summary in (_PYTEST, _JEST):
        if told := summary.search(text):
            bad = sum(map(int, re.findall(r"(\d+) (?:failed|errors?)", told[1])))
            good = sum(map(int, re.findall(r"(\d+) passed", told[1])))
            return good, bad
    if re.search(r"^no tests ran", text, re.MULTILINE):
        return 0, 0
    return None


_DOCUMENTED = re.compile(
    r"(?:^|[`$>:\s])((?:(?:python3?|uv run|poetry run|npx)\s+(?:-m\s+)?)?"
    r"(?:pytest|unittest|tox|nox|"
    r"npm (?:run )?test|yarn test|pnpm test|make (?:test|check)|cargo test|go test|jest|vitest)"
    r"(?: [\w./:=@,+-]+)*)"
)
"""A command that a file gives for the tests. Nothing in it that a shell could take further."""


def runner(output: str, known: Known) -> Mapping[str, Any] | None:
    """How the tests of this project are run, from what its files say."""
    there = matches_in(output).there
    by_name = {PurePosixPath(m.path).name.lower(): m for m in there}
    for match in there:
        name = PurePosixPath(match.path).name.lower()
        if name.startswith(("readme", "contributing")) and (said := _DOCUMENTED.search(match.text)):
            plain = re.sub(r"^\s*[`$>]*\s*|(?<=\w)[.,:]+\s*$", "", said[1]).strip()
            return {"command": plain}
    if any(n == "makefile" and re.match(r"test:", m.text) for n, m in by_name.items()):
        return {"command": "make test"}
    if "package.json" in by_name:
        return {"command": "npm test"}
    lines = "\n".join(m.text for m in there)
    tests = [m for m in there if PurePosixPath(m.path).suffix == ".py"]
    if "pytest" in lines or any(re.match(r"def test_", m.text) for m in tests):
        return {"command": "pytest"}
    if "unittest" in lines and tests:
        folder = str(PurePosixPath(tests[0].path).parent)
        return {"command": f"python3 -m unittest discover -s {folder}"}
    if "cargo.toml" in by_name:
        return {"command": "cargo test"}
    return {"command": "go test ./..."} if "go.mod" in by_name else None


_NO_REPOSITORY = "This folder isn't a git repository."


def repository(output: str, known: Known) -> Mapping[str, Any] | None:
    """What git says."""
    done = ended(output)
    text = "\n".join(done.lines)
    if "not a git repository" in text.lower():
        # Who names a file may want to know something that is in it.
        return None if known.get("file_path") else {"told": _NO_REPOSITORY}
    asked = str(known.get("command") or "")
    if not done.ok or not re.match(r"git (?:log|status|diff|branch)\b", asked):
        return command(output, known)
    if " log" in asked:
        return {"told": _commits(done.lines, str(known["said"]), asked)}
    if asked == "git branch":
        there = [line.strip("* ") for line in done.lines]
        on = next((line.strip("* ") for line in done.lines if line.startswith("*")), "")
        many = counted(len(there), "branch", "branches")
        here = f" You're on {on}." if on else ""
        return {"told": f"{many}: {joined(there[: 2 * FEW])}.{here}"}
    if "diff -- " in asked:
        plus = [line[1:].strip() for line in done.lines if re.match(r"\+(?!\+\+)", line)]
        minus = [line[1:].strip() for line in done.lines if re.match(r"-(?!--)", line)]
        name = spoken_path(str(known.get("file_path") or ""))
        if not plus and not minus:
            return {"told": f"{name} has not changed since the last commit."}
        both = [f"{counted(len(plus), 'line')} added", f"{counted(len(minus), 'line')} taken out"]
        now = f" It now says: {sentence(clipped(plus[0]))}" if plus else ""
        return {"told": f"In {name}, {joined(both)}.{now}"}
    if " branch" in asked:
        return {
            "told": f"You're on the branch {done.lines[0].strip('* ')}."
            if done.lines
            else "There is no branch."
        }
    return {"told": _status(done.lines)}


_ENTRY = re.compile(
    r"commit (?P<hash>\w+)[^\n]*\n(?:Merge:[^\n]*\n)?Author:\s*(?P<who>[^<\n]+?)\s*<[^\n]*\n"
    r"Date:\s*(?P<when>\w+ \w+ \d+)[^\n]*\n\s+(?P<title>[^\n]+)"
)


def _commits(lines: Sequence[str], said: str, asked: str) -> str:
    """The last commit: what, by whom and when; those before it where several were asked for."""
    found = [*_ENTRY.finditer("\n".join(lines))]
    if not found:
        return (
            "There are no commits of that yet." if " -- " in asked else "There are no commits yet."
        )
    first = found[0]
    told = (
        f"The last commit{' of that file' if ' -- ' in asked else ''} is by {first['who']}, "
        f"{first['when']}: {sentence(clipped(first['title']))}"
    )
    if found[1:] and re.search(r"\b(?:commits|log|history|few|recent)\b", said):
        told += f" Before that: {'; '.join(clipped(one['title'], 60) for one in found[1:3])}."
    return told


_TALLIED = {"-w": "word", "-m": "character", "-c": "byte"}


def _tally(done: Ended, unit: str) -> Mapping[str, Any] | None:
    """What a program that counts lines says."""
    counts = [m for line in done.lines if (m := re.match(r"\s*(\d+)\s+(\S.*)$", line))]
    if not done.ok or not counts:
        return None
    total = int(counts[-1][1])
    files = [m[2] for m in counts if m[2] != "total"]
    place = counted(len(files), "file") if len(files) > 1 else spoken_path(files[0])
    return {"told": f"{counted(total, unit)} in {place}.", "count": total}


def _status(lines: Sequence[str]) -> str:
    branch = next(
        (
            re.split(r"\.\.\.| ", line[3:])[-1 if "No commits" in line else 0]
            for line in lines
            if line.startswith("## ")
        ),
        "",
    )
    files = [line for line in lines if not line.startswith("## ")]
    on = f"On {branch}: " if branch else ""
    if not files:
        return f"{on}nothing has changed." if on else "Nothing has changed."
    if any(re.search(r"\|\s+\d+|files? changed", line) for line in files):  # a diff in figures
        last = files[-1].strip()
        paths = [line.split("|")[0].strip() for line in files if "|" in line]
        return f"{sentence(last.split(',')[0])} {sentence(_shown(paths))}".strip()
    new = [line[3:] for line in files if line.startswith("??")]
    other = [line[3:] for line in files if not line.startswith("??")]
    told = []
    if other:
        told.append(f"{counted(len(other), 'file')} changed ({_shown(other)})")
    if new:
        told.append(f"{counted(len(new), 'new file')} ({_shown(new)})")
    return f"{on}{joined(told)}."


def _shown(paths: Sequence[str]) -> str:
    return joined([spoken_path(path) for path in paths[:FEW]])


def gone(output: str, known: Known) -> Mapping[str, Any] | None:
    """A file that was deleted or has another name now."""
    done = ended(output)
    if not done.ok:
        return command(output, known)
    path, said = str(known.get("file_path") or ""), shlex.split(str(known.get("command") or ""))
    to = said[-1] if said else path
    if "cp" in said:
        return {"told": f"{spoken_path(path)} is copied to {to}.", "path": to}
    if to == path:
        return {"told": f"{spoken_path(path)} is deleted."}
    old, new = PurePosixPath(path), PurePosixPath(to)
    where_to = f"called {new.name}" if new.name != old.name else f"in {new.parent.name}"
    return {"told": f"{old.name} is now {where_to}.", "path": to}


def folder_made(output: str, known: Known) -> Mapping[str, Any] | None:
    if not ended(output).ok:
        return command(output, known)
    path = shlex.split(str(known.get("command") or ""))[-1]
    return {"told": f"The folder {path} is there now.", "made_folder": path}


def several_moved(output: str, known: Known) -> Mapping[str, Any] | None:
    if not ended(output).ok:
        return {"told": "Not all of them could be moved: there may be one of that name already."}
    said, paths = str(known.get("command") or ""), [str(one) for one in known["file_paths"]]
    to = shlex.split(said.partition("mv -n -- ")[2].partition(" && [")[0])[-1]
    names = joined([spoken_path(one, paths) for one in paths])
    return {"told": f"{names} are in {to} now.", "path": f"{to}/{PurePosixPath(paths[0]).name}"}


def page(output: str, known: Known) -> Mapping[str, Any] | None:
    """The sentences of a page that answer, or its first."""
    head, _, text = output.partition("\n\n")
    if not head.startswith("The page"):
        return {"told": sentence(clipped(output, SHORT))}
    lines = [prose(line) for line in CUT.sub("", text).split("\n") if len(line.split()) > 2]
    asked = [w for w in map(stem, telling(str(known.get("about") or ""))) if w not in ASKING]
    rates = [sum(one in map(stem, pieces(line)) for one in set(asked)) for line in lines]
    best = max(rates, default=0)
    picked = [
        line for line, rate in zip(lines, rates, strict=True) if best and rate == best
    ] or lines
    if not picked:
        return {"told": "There is no text on that page."}
    return {"told": "The page says: " + " ".join(sentence(clipped(one, 200)) for one in picked[:2])}


_HIT = re.compile(r"^\d+\. (?P<title>.+)\n\s+(?P<url>\S+)(?:\n\s+(?P<snippet>.+))?", re.MULTILINE)


_ONLY_THERE = re.compile(r"' in (\w+), where alone was searched")


def hits(output: str, known: Known) -> Mapping[str, Any] | None:
    found = [*_HIT.finditer(output)]
    if not found:
        return None
    first = found[0]
    only = _ONLY_THERE.search(output.partition("\n")[0])  # a small part of the web
    where = f" in {only[1]}" if only else ""
    told = f"The first page I find{where} is {sentence(clipped(first['title'], 100))}"
    if first["snippet"]:
        told += f" It says: {sentence(clipped(first['snippet'], 220))}"
    return {"told": told}


def task_started(output: str, known: Known) -> Mapping[str, Any] | None:
    begun = re.match(r"Task started: \S+ with agent '([^']+)'", output)
    if begun is None:
        return {"told": sentence(clipped(output))}
    return {
        "told": f"I've handed that over to the {begun[1]}. I'll tell you what comes of it.",
        "undo_task": True,
    }


_TASK = re.compile(
    r"^\S+ \((?P<agent>[^)]*)\) (?P<title>.+?): "
    r"(?P<how>(?:running|done|failed|cancelled|waits).*)$",
    re.M,
)


def tasks(output: str, known: Known) -> Mapping[str, Any] | None:
    found = [*_TASK.finditer(output)]
    if not found:
        return {
            "told": "No task has been handed over."
            if "no tasks" in output
            else sentence(clipped(output))
        }
    open_ = [one for one in found if one["how"].startswith(("running", "waits"))]
    shown = (open_ or found)[:FEW]
    told = [f"“{clipped(one['title'], 60)}” is {_going(one['how'])}" for one in shown]
    more = len(found) - len(shown)
    return {
        "told": ". ".join(told)
        + (f". There {'is' if more == 1 else 'are'} {more} more." if more and open_ else ".")
    }


def _going(how: str) -> str:
    word, _, rest = how.partition(": ")
    share = re.sub(r"running, (\d+)%", r"running, \1 percent done", word)
    share = {"waits for an answer": "waiting for your answer"}.get(share, share)
    return f"{share}: {clipped(rest, 120)}" if rest else share


def words(output: str, known: Known) -> Mapping[str, Any] | None:
    """As the tool put it."""
    text = clipped(output, SHORT)
    return {"told": sentence(text[:1].upper() + text[1:])} if text else None


def number(output: str, known: Known) -> Mapping[str, Any] | None:
    text = result = output.strip()
    if re.fullmatch(r"-?\d+\.\d{5,}", text):
        text = (
            f"about {float(text):.4g}" if abs(float(text)) < 1000 else f"about {float(text):,.2f}"
        )
    elif re.fullmatch(r"-?\d{5,}", text):
        text = f"{int(text):,}"
    if reckoned := str(known.get("reckoned") or ""):  # so that who hears it hears what was reckoned
        if result.startswith("-"):
            return None
        return {"told": f"{sentence(f'{spoken_sum(reckoned)} is {text}')}", "number": result}
    return {"told": f"That's {text}.", "number": result}


def clock(output: str, known: Known) -> Mapping[str, Any] | None:
    text = re.sub(r" in ([\w/+-]+) \(.*\)$", "", output.strip())
    place = bare(str(known.get("where") or ""))
    if times.find(place):  # "today" is no place
        place = ""
    if place and not known.get("zone"):
        return {"told": f"I don't know the time in {place}. Here it's {text}."}
    return {"told": f"It's {text}{f' in {place}' if place else ''}."}


Pointed = Callable[[Sequence[Match], Known], Mapping[str, Any] | None]
answered: Pointed = files.answered
POINTED: Mapping[str, Pointed] = {
    "line_pointed": changing.line_as_meant,
    "item": files.item_pointed,
}
"""By reading: what is made of the lines that were pointed at; of all others what they say."""

Reading = Callable[[str, Known], Mapping[str, Any] | None]
READINGS: Mapping[str, Reading] = {
    one.__name__: one
    for one in (
        text.places,
        text.nearest,
        tables.column,
        tables.rows_meant,
        comparing.first_of_two,
        comparing.compared,
        text.count,
        values.setting,
        changing.line_to_change,
        values.within,
        changing.line_within,
        changing.line_pointed,
        changing.changed,
        changing.taken_back,
        text.spots,
        text.renamed,
        text.definition,
        text.function,
        files.names,
        files.how_many_names,
        files.there_already,
        files.end_of_file,
        files.end_of_part,
        files.added,
        files.item,
        files.struck,
        files.written,
        files.content,
        files.lines,
        files.likely_file,
        command,
        runner,
        repository,
        gone,
        folder_made,
        several_moved,
        page,
        hits,
        task_started,
        tasks,
        words,
        number,
        clock,
    )
}
