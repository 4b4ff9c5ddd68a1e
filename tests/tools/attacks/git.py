"""Attacks on the user's own git: planted by a command in the sandbox, they would run outside it.

Data only. `setup` is the user's, before; `planted` is the command in the sandbox; `run` is what the
user does next. None of it may leave `{owned}` behind, or change `{kept}`. `touch {owned}` is the
program that somebody wants to have run.
"""

from __future__ import annotations

from dataclasses import dataclass

_FSMONITOR = '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = "touch {owned}; false"\\n'
_REPOSITORY = (
    "mkdir -p {0}/objects {0}/refs/heads && echo 'ref: refs/heads/main' > {0}/HEAD && "
    "printf '%b' '" + _FSMONITOR + "' > {0}/config"
)
_COMMIT = "git add -A; git -c user.name=U -c user.email=u@x commit -qm mine"


def _evil(at: str) -> str:
    """A folder that git takes for a repository, and that names a program."""
    return _REPOSITORY.replace("{0}", at)


@dataclass(frozen=True, slots=True)
class Attack:
    name: str
    planted: str
    run: str = "git status"
    setup: str = ""


def _script(name: str, text: str = "#!/bin/sh\\ntouch {owned}\\n") -> str:
    return f"printf '{text}' > {name}; chmod +x {name}"


def _index(folder: str, *, version: int = 2, name: str = ".git/hooks/post-index-change") -> str:
    """An index that git would not write: with a file of its own folder in it."""
    code = """
import hashlib, struct, subprocess, sys
version, name = int(sys.argv[1]), sys.argv[2].encode()
def git(*words, given=None):
    return subprocess.run(["git", *words], input=given, capture_output=True).stdout.strip().decode()
script = git("hash-object", "-w", "--stdin", given=b"#!/bin/sh\\ntouch {owned}\\n")
def entry(name, sha, mode, before):
    made = struct.pack(">10I", *[0] * 6, mode, 0, 0, 0) + bytes.fromhex(sha)
    made += struct.pack(">H", len(name))
    if version == 4:
        return made + bytes([len(before)]) + name + bytes(1)
    made += name
    return made + bytes(8 - len(made) % 8)
body = b"DIRC" + struct.pack(">II", version, 2) + entry(name, script, 0o100755, b"")
body += entry(b"a", git("rev-parse", ":a"), 0o100644, name)
open(".git/index", "wb").write(body + hashlib.sha1(body).digest())
"""
    return f"cd {folder}; python3 - {version} {name} <<'PY'{code}PY\n"


_TRACKED = f"echo a > a; {_COMMIT}"
_CHECKED_OUT = "rm -f a; git checkout -- . ; git checkout -- a; git status; git reset --hard"
_ENDS = {
    "a vertical tab": "\\v",
    "a form feed": "\\f",
    "a return": "\\r",
    "a separator": "\\x1c",
    "a next line": "\\xc2\\x85",
    "a line separator": "\\xe2\\x80\\xa8",
}
_MANY_SAMPLES = "seq 1 {0} | sed 's/.*/x&.sample/' | xargs touch"
HARDER = [
    Attack(
        "settings behind a comment that seems to go on",
        "git init -q new; printf '[core]\\n\\t# x \\\\\\n\\tfsmonitor = touch {owned}\\n' "
        ">> new/.git/config",
        run="git -C new status",
    ),
    Attack(
        "settings behind a value with a comment that seems to go on",
        "git init -q new; printf '[core]\\n\\tbare = false ; \\\\\\n\\tfsmonitor = touch {owned}"
        "\\n' >> new/.git/config",
        run="git -C new status",
    ),
    *(
        Attack(
            f"a section that ends with {name} for some",
            f'git init -q new; printf \'[alias]\\n# {end}[remote "x"]\\n\\turl = '
            "!touch {owned}\\n' >> new/.git/config",
            run="git -C new url",
        )
        for name, end in _ENDS.items()
    ),
    Attack(
        "settings behind a megabyte of comments",
        "git init -q new; (yes '# nothing' | head -c 1100000; "
        "printf '\\n[core]\\n\\tfsmonitor = touch {owned}\\n') >> new/.git/config",
        run="git -C new status",
    ),
    Attack(
        "two sections on one line",
        "git init -q new; printf '[remote \"x\"][core]fsmonitor = touch {owned}\\n' "
        ">> new/.git/config",
        run="git -C new status",
    ),
    Attack(
        "hooks among thousands of samples",
        "git init -q new; mkdir -p new/.git/hooks; cd new/.git/hooks; for h in pre-commit "
        "post-commit post-index-change reference-transaction prepare-commit-msg commit-msg; do "
        + _script("$h")
        + f"; done; {_MANY_SAMPLES.format(8000)}",
        run="cd new; echo x > x; " + _COMMIT,
    ),
    Attack(
        "thousands of hooks",
        "git init -q new; mkdir -p new/.git/hooks; cd new/.git/hooks; seq 1 5000 | xargs touch; "
        + _script("pre-commit"),
        run="cd new; echo x > x; " + _COMMIT,
    ),
    Attack(
        "a log that is a link, in the depth",
        "git init -q new; cd new; echo a > a; git add a; d=a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r;"
        "git checkout -q -b $d; git -c user.name=A -c user.email=a@b commit -qm a;"
        "rm .git/logs/refs/heads/$d; ln -s {kept} .git/logs/refs/heads/$d",
        run="cd new; echo x > x; " + _COMMIT,
    ),
    Attack(
        "an index with a hook in it",
        _index("."),
        run=_CHECKED_OUT,
        setup=_TRACKED,
    ),
    Attack(
        "an index of version 4 with a hook in it",
        _index(".", version=4),
        run=_CHECKED_OUT,
        setup=_TRACKED,
    ),
    Attack(
        "an index with a hook in it, in a new repository",
        f"git init -q new; cd new; echo a > a; git add a; {_index('.')}",
        run=f"cd new; {_CHECKED_OUT}",
    ),
    Attack(
        "an index with a nested repository's hook in it",
        _index(".", name="sub/.git/hooks/pre-commit"),
        run=f"{_CHECKED_OUT}; cd sub; echo x > x; {_COMMIT}",
        setup=f"{_TRACKED}; git init -q sub; mkdir -p sub/.git/hooks",
    ),
    Attack(
        "what a rebase that the user began would run",
        "echo 'exec touch {owned}' > .git/rebase-merge/git-rebase-todo",
        run="git rebase --continue",
        setup="mkdir -p .git/rebase-merge; cd .git/rebase-merge; echo '# pick' > git-rebase-todo;"
        "git rev-parse HEAD | tee onto orig-head > stopped-sha; echo refs/heads/main > head-name;"
        "echo 1 > msgnum; echo 1 > end; : > interactive",
    ),
    Attack(
        "a new repository beside ten thousand files",
        "mkdir many; cd many; seq 1 10000 | xargs touch; cd ..; git init -q new;"
        "git -C new config core.fsmonitor 'touch {owned}'",
        run="git -C new status",
    ),
]

NEW = {
    "a hook": "printf x > .git/hooks/pre-commit",
    "core.fsmonitor": "git config core.fsmonitor x",
    "include.path": "git config include.path ../x",
    "core.hooksPath": "git config core.hooksPath h",
    "an alias": "git config alias.x '!id'",
    "a filter": "git config filter.x.clean id",
    "commondir": "echo .. > .git/commondir",
    "alternates": "mkdir -p .git/objects/info; echo /x > .git/objects/info/alternates",
    "settings of the work tree": "git config extensions.worktreeConfig true; "
    "printf '[core]\\n fsmonitor=x\\n' > .git/config.worktree",
    "a file that says where": "mv .git g; echo 'gitdir: g' > .git",
    "a link that says where": "mv .git g; ln -s g .git",
    "hooks as a link": "rm -r .git/hooks; mkdir h; echo x > h/pre-commit; ln -s ../h .git/hooks",
    "a program as a remote": "git config remote.o.url 'ext::sh -c id'",
    "a program as a remote, in quotes": 'printf \'[remote "o"]\\n url = ext":":sh -c id\\n\' '
    ">> .git/config",
    "a program as a remote, in two lines": "printf '[remote \"o\"]\\n url = ext:\\\\\\n:sh\\n' "
    ">> .git/config",
    "a submodule's settings": "mkdir -p .git/modules; git init -q --bare .git/modules/m; "
    "printf '[core]\\n fsmonitor=x\\n' >> .git/modules/m/config",
    "a mark before the section": "printf '\\xef\\xbb\\xbf[core]\\n fsmonitor=x\\n' > .git/config",
    "a section with a dot": "printf '[core.x]\\n fsmonitor=x\\n' >> .git/config",
    "all on one line": "printf '[core]fsmonitor=x\\n' >> .git/config",
    "in another case": "printf '[CORE]\\n FsMonitor=x\\n' >> .git/config",
    "core.sshCommand": "git config core.sshCommand id",
    "gpg.program": "git config gpg.program id",
    "credential.helper": "git config credential.helper '!id'",
    "core.pager": "git config core.pager id",
    "core.editor": "git config core.editor id",
    "diff.external": "git config diff.external id",
    "a remote that promises": "printf '[remote \"o\"]\\n promisor=true\\n' >> .git/config",
    "a remote's program": "printf '[remote \"o\"]\\n uploadpack=id\\n' >> .git/config",
    "a bare repository's settings": "git init -q --bare b.git; printf '[core]\\n# \\\\\\n bare="
    "false\\n worktree=..\\n fsmonitor=touch x\\n' >> b.git/config",
    "settings that cannot be read as text": "printf '[user]\\n name = a\\0b\\n' >> .git/config",
    "an index that is none": "echo DIRC > .git/index",
    "links among many objects": "mkdir -p .git/objects/ab; cd .git/objects/ab; "
    "seq 1 3000 | xargs touch; ln -s /etc zz",
    "refs too deep to be looked at": "mkdir -p .git/refs/$(printf 'd/%.0s' $(seq 1 40))",
    "a rebase": "mkdir .git/rebase-merge; echo 'exec id' > .git/rebase-merge/git-rebase-todo",
    "a sequence": "mkdir .git/sequencer; echo 'pick x' > .git/sequencer/todo",
}
"""Each in a repository that a command has just made: something of it is put aside."""

ATTACKS = [
    Attack("commondir", _evil("evil") + " && echo ../evil > .git/commondir"),
    Attack(
        "commondir, absolute", _evil("evil") + " && echo {workspace}/evil > .git/commondir; sync"
    ),
    Attack("commondir, moved in", _evil("evil") + " && echo ../evil > c && mv c .git/commondir"),
    Attack("settings", "git config core.fsmonitor 'touch {owned}'"),
    Attack("settings, written", "printf '%b' '" + _FSMONITOR + "' >> .git/config"),
    Attack("settings, renamed over", "printf '%b' '" + _FSMONITOR + "' > c; mv -f c .git/config"),
    Attack(
        "settings of the work tree",
        "printf '%b' '" + _FSMONITOR + "' > .git/config.worktree",
        setup="git config extensions.worktreeConfig true",
    ),
    Attack(
        "settings that are included",
        "printf '%b' '" + _FSMONITOR + "' > .gitconfig",
        setup="git config include.path ../.gitconfig",
    ),
    Attack(
        "settings that are included and there",
        "printf '%b' '" + _FSMONITOR + "' > .gitconfig; sed -i 's/^/ /' .gitconfig",
        setup="git config include.path ../.gitconfig; echo '[user]' > .gitconfig",
    ),
    Attack(
        "settings that are included on a condition",
        "mkdir -p conf; printf '%b' '" + _FSMONITOR + "' > conf/more",
        setup="git config includeIf.onbranch:**.path ../conf/more",
    ),
    Attack(
        "a hook",
        "printf '#!/bin/sh\\ntouch {owned}\\n' > .git/hooks/pre-commit;"
        "chmod +x .git/hooks/pre-commit",
        run="echo x > x; " + _COMMIT,
    ),
    Attack(
        "hooks as a folder anew",
        "mv .git/hooks h; mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch {owned}\\n' "
        "> .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
        run="echo x > x; " + _COMMIT,
    ),
    Attack(
        "hooks as a link",
        "mkdir -p h; printf '#!/bin/sh\\ntouch {owned}\\n' > h/pre-commit; chmod +x h/pre-commit;"
        "rm -rf .git/hooks; ln -s ../h .git/hooks",
        run="echo x > x; " + _COMMIT,
        setup="rm -rf .git/hooks",
    ),
    Attack(
        "hooks in the project",
        "printf '#!/bin/sh\\ntouch {owned}\\n' > .husky/pre-commit; chmod +x .husky/pre-commit",
        run="echo x > x; " + _COMMIT,
        setup="mkdir .husky; printf '#!/bin/sh\\n' > .husky/commit-msg; chmod +x .husky/*;"
        "git config core.hooksPath .husky",
    ),
    Attack(
        "hooks in the project that are not there yet",
        "mkdir .husky; printf '#!/bin/sh\\ntouch {owned}\\n' > .husky/pre-commit;"
        "chmod +x .husky/pre-commit",
        run="echo x > x; " + _COMMIT,
        setup="git config core.hooksPath .husky",
    ),
    Attack(
        "a filter in the project",
        "printf '#!/bin/sh\\ntouch {owned}\\ncat\\n' > tools/clean.sh; echo new > a.dat",
        run="git add -A",
        setup="mkdir tools; printf '#!/bin/sh\\ncat\\n' > tools/clean.sh; chmod +x tools/clean.sh;"
        "echo '*.dat filter=own' > .gitattributes; git config filter.own.clean ./tools/clean.sh",
    ),
    Attack(
        "a nested repository's hook",
        "printf '#!/bin/sh\\ntouch {owned}\\n' > sub/.git/hooks/pre-commit;"
        "chmod +x sub/.git/hooks/pre-commit",
        run="cd sub; echo x > x; " + _COMMIT,
        setup="git init -q sub; mkdir -p sub/.git/hooks",
    ),
    Attack(
        "a nested repository's settings",
        "git -C sub config core.fsmonitor 'touch {owned}'",
        run="git -C sub status",
        setup="git init -q sub",
    ),
    Attack(
        "a nested repository in the place of another",
        "mv sub was; git init -q sub; git -C sub config core.fsmonitor 'touch {owned}'",
        run="git -C sub status",
        setup="git init -q sub",
    ),
    Attack(
        "a new repository",
        "git init -q new; git -C new config core.fsmonitor 'touch {owned}'",
        run="git -C new status",
    ),
    Attack(
        "a new repository with a hook",
        "git init -q new; mkdir -p new/.git/hooks;"
        "printf '#!/bin/sh\\ntouch {owned}\\n' > new/.git/hooks/pre-commit;"
        "chmod +x new/.git/hooks/pre-commit",
        run="cd new; echo x > x; " + _COMMIT,
    ),
    Attack(
        "a new repository, deep and hidden",
        "mkdir -p node_modules/.a/b/c; cd node_modules/.a/b/c; git init -q .;"
        "git config core.fsmonitor 'touch {owned}'",
        run="git -C node_modules/.a/b/c status",
    ),
    Attack(
        "a new repository with a shell as its alias",
        "git init -q new; git -C new config alias.st '!touch {owned}'",
        run="git -C new st",
    ),
    Attack(
        "a new repository with an editor",
        "git init -q new; git -C new config core.editor 'touch {owned};true'",
        run="cd new; echo x > x; git add x; git -c user.name=U -c user.email=u@x commit",
    ),
    Attack(
        "a new repository whose diff is a program",
        "git init -q new; cd new; echo a > x; git add x; echo b > x;"
        "git config diff.external 'touch {owned};:'",
        run="git -C new diff",
    ),
    Attack(
        "a new repository that includes",
        "git init -q new; git -C new config include.path ../more;"
        "printf '%b' '" + _FSMONITOR + "' > new/more",
        run="git -C new status",
    ),
    Attack(
        "a file that says where git is",
        _evil("evil") + "; mkdir x; echo 'gitdir: ../evil' > x/.git",
        run="git -C x status",
    ),
    Attack(
        "a link that says where git is",
        _evil("evil") + "; mkdir x; ln -s ../evil x/.git",
        run="git -C x status",
    ),
    Attack(
        "a repository without the name",
        _evil("bare") + "; printf '\\tbare = false\\n\\tworktree = ..\\n' >> bare/config",
        run="git -C bare status",
    ),
    Attack(
        "half a repository without the name",
        _evil("evil") + "; printf '[alias]\\nst = !touch {owned}\\n' >> evil/config; mkdir half;"
        "cp evil/HEAD half; echo ../evil > half/commondir",
        run="git -C half st",
    ),
    Attack(
        "a submodule's repository",
        "mkdir -p .git/modules; " + _evil(".git/modules/lib") + "; mkdir lib;"
        "echo 'gitdir: ../.git/modules/lib' > lib/.git",
        run="git -C lib status",
    ),
    Attack(
        "another work tree",
        "mkdir -p .git/worktrees/w; echo ../../../evil > .git/worktrees/w/commondir;"
        "cp .git/HEAD .git/worktrees/w; " + _evil("evil") + "; mkdir w;"
        "echo 'gitdir: ../.git/worktrees/w' > w/.git",
        run="git -C w status",
    ),
    Attack(
        "another repository in its place",
        "mv .git gone; rm -rf .git; git init -q .; git config core.fsmonitor 'touch {owned}'",
    ),
    Attack(
        "what a rebase would run",
        "mkdir -p .git/rebase-merge; cd .git/rebase-merge; echo 'exec touch {owned}' > "
        "git-rebase-todo; git rev-parse HEAD | tee onto orig-head > stopped-sha;"
        "echo refs/heads/main > head-name; echo 1 > msgnum; echo 1 > end; : > interactive",
        run="git rebase --continue",
    ),
    Attack(
        "a log that is a link",
        "rm -f .git/logs/HEAD; ln -s {kept} .git/logs/HEAD",
        run="echo x > x; " + _COMMIT,
    ),
    Attack(
        "an index that is a link",
        "rm -f .git/index; ln -s {owned} .git/index",
        run="echo x > x; " + _COMMIT,
    ),
    Attack(
        "refs that are a link",
        "rm -rf .git/packed-refs; ln -s {owned} .git/packed-refs",
        run="git pack-refs --all",
    ),
    Attack(
        "a log that is a link, in a new repository",
        "git init -q new; cd new; echo a > a; git add a;"
        "git -c user.name=A -c user.email=a@b commit -qm a; rm .git/logs/HEAD;"
        "ln -s {kept} .git/logs/HEAD",
        run="cd new; echo x > x; " + _COMMIT,
    ),
    Attack(
        "objects elsewhere",
        "mkdir -p .git/objects/info; echo {kept} > .git/objects/info/alternates;"
        "[ ! -e .git/objects/info/alternates ]",
        run="grep -qs . .git/objects/info/alternates && touch {owned}",
    ),
    *HARDER,
]

HONEST = [
    ("git status --short", "?? made.txt"),
    ("git add made.txt && git status --short", "A  made.txt"),
    ("git -c user.name=A -c user.email=a@b commit -qm second; git log --format=%s -1", "second"),
    ("echo more >> made.txt; git diff --stat", "made.txt"),
    ("git stash -q && cat made.txt && git stash list", "stash@{0}"),
    ("git stash pop -q && tail -1 made.txt", "more"),
    ("git checkout -q -b work && git branch --show-current", "work"),
    ("git -c user.name=A -c user.email=a@b commit -qam third; git log --format=%s -1", "third"),
    ("git checkout -q main && git branch --list work", "work"),
    ("git merge -q work && git log --format=%s -1", "third"),
    ("git branch -d work && git branch", "* main"),
    ("git tag v1 && git tag", "v1"),
    ("git reset -q --hard HEAD~1 && git log --format=%s -1", "second"),
    ("git mv made.txt moved.txt && git status --short", "R  made.txt -> moved.txt"),
    ("git reset -q --hard && git pack-refs --all && git rev-parse v1 | wc -c", "41"),
    ("git gc -q && git fsck && git log --oneline | wc -l", "2"),
    ("git init -q other && cd other && echo a > a && git add a && git status --short", "A  a"),
    ("cd other && git -c user.name=A -c user.email=a@b commit -qm one; git log --format=%s", "one"),
    ("git rev-parse --verify v1^{commit} | wc -c", "41"),
    ("git -C kept status --short; git -C kept log --format=%s", "the user's"),
    ("cd kept && echo b > b && git add b && git status --short", "A  b"),
    ("git submodule status --cached | wc -l", "0"),
    ("git ls-files .git/hooks | wc -l; ls .git/hooks/x3000.sample", "x3000.sample"),
    ("git update-index --index-version 4 && git status --short | wc -l", "0"),
    ("echo c > c; git add c; git status --short c", "A  c"),
    ("git update-index --split-index && echo d > d && git add d && git ls-files d", "d"),
    ("git update-index --no-split-index && git ls-files d", "d"),
    ("git -c user.name=A -c user.email=a@b commit -qm fourth; git log --format=%s -1", "fourth"),
    ("mkdir -p .github/.gitx && touch .github/x .gitignore .gitattributes .github/.gitx/y", ""),
    ("git add .github .gitignore .gitattributes && git ls-files | grep -c git", "4"),
    ("ln -s c link && git add link && git ls-files -s link", "120000"),
    ("git checkout -q -b a/b/c && git branch --show-current", "a/b/c"),
    ("git -c user.name=A -c user.email=a@b commit -qm fifth; git log --format=%s -1", "fifth"),
    ("git checkout -q main && git -c user.name=A -c user.email=a@b merge -q --no-ff a/b/c", ""),
    ("git log --format=%s -1", "Merge branch 'a/b/c'"),
    ("git clone -q . copy && git -C copy log --format=%s -1", "Merge branch"),
    ("git worktree list | wc -l", "1"),
]
"""In this order, each a command of its own: what one leaves the next one finds."""
