"""What people ask a shell for, as data: each must work, and print what is expected."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Honest:
    command: str
    prints: str


HONEST = [
    Honest("echo hello", "hello"),
    Honest("pwd", "{workspace}"),
    Honest("printf 'b\\na\\n' | sort | head -1", "a"),
    Honest("cat <<'END'\nfrom a heredoc\nEND", "from a heredoc"),
    Honest("echo kept > made.txt; cat made.txt", "kept"),
    Honest("mkdir -p deep/er && touch deep/er/file && find . -name file", "./deep/er/file"),
    Honest("printf 'one\\ntwo\\n' | sed -n 's/two/2/p'", "2"),
    Honest("printf '1 2\\n3 4\\n' | awk '{ s += $2 } END { print s }'", "6"),
    Honest("echo data > d; tar czf d.tgz d && tar tzf d.tgz", "d"),
    Honest("echo data | gzip | gunzip", "data"),
    Honest("grep -rn kept --include='*.txt' .", "made.txt:1:kept"),
    Honest("python3 -c 'print(6 * 7)'", "42"),
    Honest("python3 -c 'import ssl, sqlite3, ctypes; print(\"batteries\")'", "batteries"),
    Honest(
        "python3 -c 'from concurrent.futures import ProcessPoolExecutor as P\n"
        'if __name__ == "__main__":\n with P(2) as p: print(sum(p.map(abs, [-1, -2])))\'',
        "3",
    ),
    Honest("git log --oneline | head -1", "first"),
    Honest("git status --short made.txt", "?? made.txt"),
    Honest("git checkout -q -b work && git branch --show-current", "work"),
    Honest(
        "git add made.txt && git -c user.name=A -c user.email=a@b commit -qm second && "
        "git log --format=%s -1",
        "second",
    ),
    Honest("git init -q other && ls -d other/.git", "other/.git"),
    Honest("git diff --stat HEAD~1 | tail -1", "1 file changed"),
    Honest("mktemp | xargs ls", "/tmp/"),
    Honest("for i in 1 2 3; do echo n$i; done | tail -1", "n3"),
    Honest("(sleep 0.05; echo later) & wait", "later"),
    Honest("set -o pipefail; false | true; echo $?", "1"),
    Honest("date -u +%Y | grep -c 20", "1"),
    Honest("whoami > /dev/null; id -u; echo $HOME", "/tmp"),
    Honest("echo 'print(1+1)' > s.py; python3 s.py", "2"),
    Honest("ln -s made.txt link && cat link", "kept"),
    Honest("xargs -n1 echo < made.txt", "kept"),
    Honest("diff made.txt link && echo same", "same"),
    Honest("install -m 755 made.txt run && stat -c %a run", "755"),
    Honest("cp -a made.txt same && chmod u+x,go-w same && stat -c %A same", "-rwxr--r--"),
    Honest("mkdir -m 1777 sticky && stat -c %a sticky", "1777"),
    Honest('python3 -c \'import os, stat; os.mkfifo("p", 0o600); print("piped")\'', "piped"),
    Honest("tar cf t.tar made.txt && rm -f made2 && tar xpf t.tar && echo unpacked", "unpacked"),
]
