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
]
"""In this order, each a command of its own: what one leaves the next one finds."""
