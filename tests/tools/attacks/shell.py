"""What a hostile command might try, as data: each must fail, by a check that anyone can see.

A command says BREACH when it got through; besides, the secret of the world it
runs in must never be printed, nothing outside may change, nobody may call at
the doors that listen, and the victim must live. Names in braces are filled in.

These run on people's machines, and one day a sandbox will not hold. So no
attack does harm when it gets through: it opens for writing and writes nothing,
sets what is set already, and aims only at what the world made for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from vivavoce.processes.bounded import MIB, Limits, Reason


@dataclass(frozen=True, slots=True)
class Attack:
    name: str
    command: str
    namespaces: bool = False
    """Only namespaces hold this one; `landlock.py` tells of it in its notes."""


@dataclass(frozen=True, slots=True)
class Bomb:
    """Takes too much; runs alone, with limits, and is stopped for one of these reasons or fails."""

    name: str
    command: str
    limits: Limits
    reasons: tuple[Reason | None, ...]
    heavy: bool = False


def _py(code: str) -> str:
    return f"python3 - <<'PY'\n{code}\nPY"


def _each(files: str) -> str:
    return f"for f in {files}; do head -c 4 $f > /dev/null && echo BREACH; done"


def _opens(files: str) -> str:
    """For appending, so that nothing is cut off either."""
    return f"for f in {files}; do [ -e $f ] && (exec 3>>$f) && echo BREACH; done"


_SYSCALL = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"

READING = [
    Attack("the password hashes", "cat /etc/shadow && echo BREACH"),
    Attack("a file outside", "cat {outside}/secret.txt"),
    Attack("a file outside, by dots", "cat ../../../../../../../../{outside}/secret.txt"),
    Attack("a file outside, by a link", "ln -sf {outside}/secret.txt leak; cat leak"),
    Attack("a folder outside, by a link", "ln -sfn {outside} leaks; cat leaks/secret.txt"),
    Attack("a hard link to outside", "ln {outside}/secret.txt hard; cat hard"),
    Attack("the home folder", "cat {home}/.ssh/id_rsa"),
    Attack("the home folder, by name", "cat ~root/.ssh/id_rsa {home}/.netrc"),
    Attack("the server's data", "cat {data}/vivavoce.db"),
    Attack(
        "the server's data by another name", "cp -r . $TMPDIR/all; grep -rs SECRET- $TMPDIR/all"
    ),
    Attack("a search of everything", "timeout 3 grep -rsl --include=secret.txt SECRET- {outside}"),
    Attack("private keys of TLS", "ls /etc/ssl/private/* && echo BREACH"),
    Attack("raw disks", _each("/dev/sda /dev/vda /dev/nvme0n1 /dev/dm-0")),
    Attack("the memory of the kernel", _each("/proc/kcore /dev/mem /dev/kmsg /proc/kmsg")),
    Attack("the log of the kernel", "dmesg | grep -q . && echo BREACH"),
    Attack("logs of the system", _each("/var/log/*")),
    Attack(
        "other users' mail and jobs",
        _each("/var/spool/cron/* /var/spool/cron/crontabs/* /var/mail/*"),
    ),
    Attack(
        "Docker's door",
        "curl -sm 2 --unix-socket /var/run/docker.sock http://x/info && echo BREACH",
    ),
]
ENVIRONMENT = [
    Attack("its environment", "env; export -p; cat /proc/self/environ"),
    Attack("the environment of the first process", "tr '\\0' '\\n' < /proc/1/environ"),
    Attack("the environment of its parents", "cat /proc/$PPID/environ"),
    Attack("the environment of everybody", "cat /proc/[0-9]*/environ"),
    Attack("the server's environment", "cat /proc/{server}/environ"),
    Attack("the server's memory", "head -c 4 /proc/{server}/mem && echo BREACH"),
    Attack("the server's files", "cat /proc/{server}/fd/* /proc/{server}/root{outside}/secret.txt"),
    Attack(
        "the server's folder", "cat /proc/{server}/cwd/*; ls /proc/{server}/root && echo BREACH"
    ),
    Attack("open files it was handed", "ls -l /proc/self/fd | grep -q {outside} && echo BREACH"),
    Attack(
        "a way up from an open folder",
        _py(
            "import os\nfor fd in range(3, 64):\n try:\n"
            "  os.open('../../../../../..{outside}/secret.txt', os.O_RDONLY, dir_fd=fd)\n"
            "  print('BREACH')\n except OSError: pass"
        ),
    ),
    Attack("other processes", "[ -e /proc/{victim}/cmdline ] && echo BREACH", namespaces=True),
    Attack(
        "a list of processes", "ps aux | grep -q '[s]leep 86400' && echo BREACH", namespaces=True
    ),
]
PROCESSES = [
    Attack("kill the victim", "kill -9 {victim} && echo BREACH"),
    Attack("kill the server", "kill -CONT {server} && echo BREACH"),
    Attack("kill its parents", "kill -0 {server} && echo BREACH"),
    Attack(
        "trace the victim",
        _py(_SYSCALL + "if libc.ptrace(16, {victim}, 0, 0) == 0: print('BREACH')"),
    ),
    Attack(
        "trace the server",
        _py(_SYSCALL + "if libc.ptrace(0x4206, {server}, 0, 0) == 0: print('BREACH')"),
    ),
    Attack("slow down the server", "renice -n 19 -p {server} && echo BREACH"),
    Attack("move the victim to other cores", "taskset -p 1 {victim} && echo BREACH"),
    Attack("change the victim's limits", "prlimit --pid {victim} --nofile=3 && echo BREACH", True),
    Attack("raise its own limits", "ulimit -Hu unlimited && echo BREACH"),
    Attack("raise its own limits by prlimit", "prlimit --nofile=99999:99999 true && echo BREACH"),
]
PRIVILEGE = [
    Attack("mount", "mkdir -p m; mount -t tmpfs none m && echo BREACH"),
    Attack("mount a folder on another", "mkdir -p m; mount --bind {outside} m && echo BREACH"),
    Attack("make the system writable", "mount -o remount,rw /usr && echo BREACH"),
    Attack("unmount what hides", "umount {data} && echo BREACH"),
    Attack("a new user namespace", "unshare -Ur true && echo BREACH"),
    Attack("a new mount namespace", "unshare -m true && echo BREACH"),
    Attack(
        "a new namespace by clone",
        _py(
            _SYSCALL + "pid = libc.syscall({clone}, 0x10000000 | 17, 0, 0, 0, 0)\n"
            "if pid == 0: libc._exit(0)\nif pid > 0: print('BREACH')"
        ),
    ),
    Attack("enter the namespaces of the first", "nsenter -t 1 -a true && echo BREACH"),
    Attack("leave by chroot", "chroot /proc/1/root true && echo BREACH"),
    Attack(
        "become another",
        _py(
            "import os\ntry:\n os.setgroups([]); os.setuid(1234)\n print('BREACH')\n"
            "except OSError: pass"
        ),
    ),
    Attack("set-uid programs", "su -c true && echo BREACH; sudo -n true && echo BREACH"),
    Attack(
        "its capabilities", "grep -E 'Cap(Prm|Eff|Bnd):.*[1-9a-f]' /proc/self/status && echo BREACH"
    ),
    Attack("new privileges", "grep -q 'NoNewPrivs:.*0' /proc/self/status && echo BREACH"),
    Attack("make a device", "mknod disk b 253 0 && echo BREACH"),
    Attack("make the memory's device", "mknod mem c 1 5 && head -c 4 mem && echo BREACH"),
    Attack("a new user namespace alone", "unshare -U id && echo BREACH"),
    Attack("a hard link to a program", "ln /usr/bin/env env-of-my-own && echo BREACH", True),
    Attack("a link to the password hashes", "ln -sf /etc/shadow s; cat s && echo BREACH"),
    Attack(
        "memory of another, and its faults",
        _py(
            _SYSCALL + "for call in ({pidfd_getfd}, {userfaultfd}):\n"
            " libc.syscall(call, 0, 0, 0)\n if ctypes.get_errno() != 1: print('BREACH')"
        ),
        namespaces=True,
    ),
    Attack(
        "another key ring's keys",
        _py(_SYSCALL + "if libc.syscall({add_key}, 0, 0, 0, 0, 0) >= 0: print('BREACH')"),
    ),
    Attack(
        "what runs when programs crash",
        _opens("/proc/sys/kernel/core_pattern"),
    ),
    Attack("restart the machine", _opens("/proc/sysrq-trigger")),
    Attack("settings of the kernel", _opens("/proc/sys/vm/drop_caches /proc/sys/kernel/modprobe")),
    Attack("set the host's name", 'hostname "$(hostname)" && echo BREACH'),
    Attack("set the clock", 'date -s "$(date)" && echo BREACH'),
    Attack(
        "the kernel's keyrings",
        _py(_SYSCALL + "if libc.syscall({keyctl}, 0, -3, 0) >= 0: print('BREACH')"),
    ),
    Attack("BPF", _py(_SYSCALL + "if libc.syscall({bpf}, 0, 0, 0) >= 0: print('BREACH')")),
    Attack(
        "io_uring, which goes around filters",
        _py(
            _SYSCALL + "room = ctypes.create_string_buffer(256)\n"
            "if libc.syscall({io_uring_setup}, 4, room) >= 0: print('BREACH')"
        ),
    ),
    Attack(
        "files by their handles",
        _py(
            _SYSCALL + "libc.syscall({open_by_handle_at}, -100, 0, 0)\n"
            "if ctypes.get_errno() != 1: print('BREACH')"
        ),
    ),
]
_SET_ID = "find . -maxdepth 1 -perm /6000 -name 'id-*' | grep -q . && echo BREACH; rm -rf id-*"
SET_ID = [
    Attack("a set-uid file", f"cp /bin/true id-a; chmod 4755 id-a; {_SET_ID}"),
    Attack("a set-uid and set-gid file", f"cp /bin/true id-a; chmod 6755 id-a; {_SET_ID}"),
    Attack("a set-gid file by letters", f"cp /bin/true id-a; chmod g+s id-a; {_SET_ID}"),
    Attack("a set-gid folder", f"mkdir -m 2777 id-a; {_SET_ID}"),
    Attack("a set-uid file by install", f"install -m 4755 /bin/true id-a; {_SET_ID}"),
    Attack(
        "a set-uid file from an archive",
        f"cp /bin/true id-a; tar cf t --mode=4755 id-a;rm id-a; tar xpf t; {_SET_ID}",
    ),
    *(
        Attack(
            f"a set-uid file by {name}",
            _py(
                "import os\ntry:\n os.umask(0)\n fd = os.open('id-b', os.O_CREAT | os.O_RDWR)\n "
                + call.replace("; ", "\n ")
                + "\nexcept OSError: pass"
            )
            + f"\n{_SET_ID}",
        )
        for name, call in (
            ("fchmod", "os.fchmod(fd, 0o4755)"),
            ("fchmodat", "os.chmod('id-b', 0o4755, dir_fd=os.open('.', os.O_RDONLY))"),
            ("open", "os.open('id-c', os.O_CREAT | os.O_WRONLY, 0o4755)"),
            (
                "a file without a name",
                "t = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o4755); "
                "os.link(f'/proc/self/fd/{t}', 'id-c', follow_symlinks=True)",
            ),
            ("mknod", "os.mknod('id-c', 0o104755)"),
            ("mkdir", "os.mkdir('id-c', 0o6777); os.chmod('id-c', 0o6777)"),
            (
                "openat2",
                "import ctypes, struct; how = struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, "
                "0o4755, 0); ctypes.CDLL(None).syscall(437, -100, b'id-c', how, 24)",
            ),
            (
                "fchmodat2",
                "import ctypes; ctypes.CDLL(None).syscall(452, -100, b'id-b', 0o4755, 0)",
            ),
        )
    ),
]
NETWORK = [
    Attack("loopback", "exec 3<>/dev/tcp/127.0.0.1/{port} && echo BREACH"),
    Attack("loopback by IPv6", "exec 3<>/dev/tcp/::ffff:127.0.0.1/{port} && echo BREACH"),
    Attack("loopback by name", "exec 3<>/dev/tcp/localhost/{port} && echo BREACH"),
    Attack("loopback as 0.0.0.0", "exec 3<>/dev/tcp/0.0.0.0/{port} && echo BREACH"),
    Attack("loopback by curl", "curl -sm 2 http://127.0.0.1:{port}/ && echo BREACH"),
    Attack("outside", "timeout 2 bash -c 'exec 3<>/dev/tcp/192.0.2.1/80' && echo BREACH"),
    Attack("the cloud's metadata", "curl -sm 2 http://169.254.169.254/ && echo BREACH"),
    Attack("names", "timeout 3 getent ahosts example.com && echo BREACH"),
    Attack(
        "names by UDP",
        _py(
            "import socket\ntry:\n s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            " s.sendto(b'SECRET?', ('127.0.0.1', {udp}))\nexcept OSError: pass"
        ),
    ),
    Attack(
        "a Unix socket outside",
        _py(
            "import socket\ntry:\n s = socket.socket(socket.AF_UNIX)\n s.connect('{socket}')\n"
            " print('BREACH')\nexcept OSError: pass"
        ),
    ),
    Attack(
        "an abstract Unix socket",
        _py(
            "import socket\ntry:\n s = socket.socket(socket.AF_UNIX)\n"
            " s.connect(chr(0) + '{abstract}')\n print('BREACH')\nexcept OSError: pass"
        ),
    ),
    Attack(
        "the machine below, by a virtio socket",
        _py(
            "import socket\ntry:\n s = socket.socket(socket.AF_VSOCK)\n print('BREACH')\n"
            "except OSError: pass"
        ),
    ),
    Attack(
        "raw packets",
        _py(
            "import socket\ntry:\n"
            " socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n print('BREACH')\n"
            "except OSError: pass"
        ),
    ),
]
WRITING = [
    Attack("a file outside", "echo mine > {outside}/new && echo BREACH"),
    Attack("over a file outside", "echo mine > {outside}/keep.txt"),
    Attack("over a file outside, by a link", "ln -sf {outside}/keep.txt k; echo mine > k"),
    Attack("away with a file outside", "rm -f {outside}/keep.txt"),
    Attack("the mode of a file outside", "chmod 777 {outside}/keep.txt && echo BREACH", True),
    Attack("the home folder", "echo mine >> {home}/.bashrc"),
    Attack("keys for ssh", "mkdir -p {home}/.ssh && echo mine >> {home}/.ssh/authorized_keys"),
    Attack("programs", "mkdir /usr/bin/vivavoce-a && rmdir /usr/bin/vivavoce-a && echo BREACH"),
    Attack("programs of everybody", _opens("/usr/bin/env /bin/bash")),
    Attack("jobs", _opens("/etc/crontab /etc/cron.d/*")),
    Attack(
        "names of hosts",
        _opens("/etc/passwd /etc/group /etc/resolv.conf"),
    ),
    Attack("the root", "mkdir /vivavoce-attack && rmdir /vivavoce-attack && echo BREACH"),
    Attack("the Python it runs on", _opens("$(readlink -f $(which python3))")),
    Attack(
        "the server's data", "echo mine > {data}/vivavoce.db; mv {data} elsewhere && echo BREACH"
    ),
    Attack(
        "what git would run later",
        "echo id > .git/hooks/pre-commit && echo BREACH",
        namespaces=True,
    ),
    Attack("git's settings", "git config core.fsmonitor 'id' && echo BREACH", namespaces=True),
    Attack(
        "another .git in its place", "mv .git gone && mkdir .git && echo BREACH", namespaces=True
    ),
    Attack("links planted for later", "ln -sfn {outside} later && echo mine > later/keep.txt"),
]
TERMINAL = [
    Attack("the terminal", "echo mine > /dev/tty && echo BREACH"),
    Attack(
        "typing into the terminal",
        _py(
            "import fcntl\nfor fd in (0, 1, 2):\n try:\n"
            "  fcntl.ioctl(fd, 0x5412, b'x')\n  print('BREACH')\n except OSError: pass"
        ),
    ),
    Attack(
        "typing into a terminal of its own",
        _py(
            "import fcntl, os, pty\ntry:\n pid, fd = pty.fork()\n if pid == 0:\n"
            "  try:\n   fcntl.ioctl(0, 0x5412, b'x'); os.write(1, b'BRE' + b'ACH')\n"
            "  except OSError: pass\n  os._exit(0)\n print(os.read(fd, 99).decode())\n"
            "except OSError: pass"
        ),
    ),
]
ATTACKS = [
    *READING,
    *ENVIRONMENT,
    *PROCESSES,
    *PRIVILEGE,
    *SET_ID,
    *NETWORK,
    *WRITING,
    *TERMINAL,
]

_SMALL = Limits(
    seconds=3,
    memory=256 * MIB,
    processes=64,
    file_size=32 * MIB,
    scratch=16 * MIB,
    output=10_000,
    flood=8 * MIB,
)
BOMBS = [
    Bomb("forks", ":(){ :|:& };:; sleep 2", _SMALL, ("processes", None)),
    Bomb(
        "forks of Python",
        _py("import os\nwhile True:\n try: os.fork()\n except OSError: pass"),
        _SMALL,
        ("processes", "memory", "time"),
        heavy=True,
    ),
    Bomb("memory of one", _py("x = bytearray(2 << 30)\nprint('BREACH')"), _SMALL, (None,)),
    Bomb(
        "memory of many",
        "for i in 1 2 3 4; do python3 -c 'import time\nx = b\"x\" * (150 << 20)\ntime.sleep(9)' & "
        "done; wait; echo BREACH",
        _SMALL,
        ("memory",),
    ),
    Bomb(
        "memory that is shared",
        _py(
            "import mmap, time\nm = mmap.mmap(-1, 1 << 30)\n"
            "for i in range(1 << 18): m[i * 4096] = 1\n"
            "time.sleep(3)\nprint('BREACH')"
        ),
        _SMALL,
        ("memory", "time"),
    ),
    Bomb("a large file", "head -c 100M /dev/zero > big && echo BREACH", _SMALL, (None,)),
    Bomb("a full /tmp", "head -c 30M /dev/zero > /tmp/big && echo BREACH", _SMALL, (None,)),
    Bomb("a full /dev/shm", "head -c 30M /dev/zero > /dev/shm/big && echo BREACH", _SMALL, (None,)),
    Bomb("endless output", "yes BRE", _SMALL, ("output",)),
    Bomb("endless output without lines", "cat /dev/zero", _SMALL, ("output",)),
    Bomb("no end", "sleep 1000", Limits(seconds=0.3), ("time",)),
    Bomb(
        "no end, deaf",
        "trap '' TERM INT HUP; while :; do sleep 1; done",
        Limits(seconds=0.3),
        ("time",),
    ),
    Bomb("no end, and silent", "exec >&- 2>&-; sleep 1000", Limits(seconds=0.3), ("time",)),
    Bomb(
        "no end, in the background",
        "(setsid sleep {nap} &) ; sleep {nap}",
        Limits(seconds=0.3),
        ("time",),
    ),
    Bomb(
        "outliving it", "setsid nohup sleep {nap} >/dev/null 2>&1 & disown; exit 0", _SMALL, (None,)
    ),
    Bomb(
        "outliving it twice",
        _py(
            "import os\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n"
            "  [os.close(fd) for fd in (0, 1, 2)]\n"
            "  os.execvp('sleep', ['sleep', '{nap}'])\n os._exit(0)"
        ),
        _SMALL,
        (None,),
    ),
]
