"""The system calls that a command may make, and the filter that knows no others.

A list of what is allowed: what ordinary programs need. Not on it, and refused as if one had no
right to: other namespaces, mounts, kernel modules, keyrings, BPF, tracing, io_uring (which goes
around filters), the clock, raw access to memory and devices, and files that give their owner's or
group's rights to whoever runs them (set-uid, set-gid). A number that is newer than this list
is answered as if the kernel were older, and programs do without. The filter is a program of the
kernel's classic BPF; bubblewrap hands it over. No I/O here.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | 1
"""EPERM."""
UNKNOWN = 0x00050000 | 38
"""ENOSYS: of a newer kernel, or another ABI, as if this one were built without it."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_FAMILIES = (1, 2, 10, 16)
"""Unix, IPv4, IPv6, netlink: those that a network namespace holds."""
_NAMESPACES = 0x7E020080
"""Flags of `clone` that make a new one: mount, cgroup, UTS, IPC, user, pid, network, time."""
_PERSONALITIES = (0, 0xFFFFFFFF)
"""The usual one, and asking which it is."""
_MODES = {
    name: position
    for position, names in (
        (1, "chmod fchmod creat mkdir mknod"),
        (2, "fchmodat fchmodat2 mkdirat mknodat"),
    )
    for name in names.split()
}
"""Calls that set a mode, and where it is among their arguments."""
_OPENING = {"open": (1, 2), "openat": (2, 3)}
"""Where the flags and the mode are; the mode counts only where a file is made."""
_SET_ID = 0o6000
_MAKING = 0o100 | 0o20000000
"""O_CREAT, and the bit of O_TMPFILE that is its own."""
_X32 = 0x40000000
_NEWEST = 463
"""The first number that this list knows nothing of."""

_CALLS = """
accept:43:202 accept4:288:242 access:21: alarm:37: arch_prctl:158: bind:49:200 brk:12:214
cachestat:451:451 capget:125:90 capset:126:91 chdir:80:49 chmod:90: chown:92:
clock_getres:229:114 clock_gettime:228:113 clock_nanosleep:230:115 clone:56:220 close:3:57
close_range:436:436 connect:42:203 copy_file_range:326:285 creat:85: dup:32:23 dup2:33:
dup3:292:24 epoll_create:213: epoll_create1:291:20 epoll_ctl:233:21 epoll_pwait:281:22
epoll_pwait2:441:441 epoll_wait:232: eventfd:284: eventfd2:290:19 execve:59:221 execveat:322:281
exit:60:93 exit_group:231:94 faccessat:269:48 faccessat2:439:439 fadvise64:221:223
fallocate:285:47 fchdir:81:50 fchmod:91:52 fchmodat:268:53 fchmodat2:452:452 fchown:93:55
fchownat:260:54 fcntl:72:25 fdatasync:75:83 fgetxattr:193:10 flistxattr:196:13 flock:73:32
fork:57: fremovexattr:199:16 fsetxattr:190:7 fstat:5:80 fstatfs:138:44 fsync:74:82
ftruncate:77:46 futex:202:98 futex_requeue:456:456 futex_wait:455:455 futex_waitv:449:449
futex_wake:454:454 futimesat:261: get_robust_list:274:100 getcpu:309:168 getcwd:79:17
getdents:78: getdents64:217:61 getegid:108:177 geteuid:107:175 getgid:104:176 getgroups:115:158
getitimer:36:102 getpeername:52:205 getpgid:121:155 getpgrp:111: getpid:39:172 getppid:110:173
getpriority:140:141 getrandom:318:278 getresgid:120:150 getresuid:118:148 getrlimit:97:163
getrusage:98:165 getsid:124:156 getsockname:51:204 getsockopt:55:209 gettid:186:178
gettimeofday:96:169 getuid:102:174 getxattr:191:8 inotify_add_watch:254:27 inotify_init:253:
inotify_init1:294:26 inotify_rm_watch:255:28 ioctl:16:29 ioprio_get:252:31 ioprio_set:251:30
kill:62:129 landlock_add_rule:445:445 landlock_create_ruleset:444:444
landlock_restrict_self:446:446 lchown:94: lgetxattr:192:9 link:86: linkat:265:37 listen:50:201
listxattr:194:11 llistxattr:195:12 lremovexattr:198:15 lseek:8:62 lsetxattr:189:6 lstat:6:
madvise:28:233 membarrier:324:283 memfd_create:319:279 memfd_secret:447:447 mincore:27:232
mkdir:83: mkdirat:258:34 mknod:133: mknodat:259:33 mlock:149:228 mlock2:325:284 mlockall:151:230
mmap:9:222 mprotect:10:226 mq_getsetattr:245:185 mq_notify:244:184 mq_open:240:180
mq_timedreceive:243:183 mq_timedsend:242:182 mq_unlink:241:181 mremap:25:216 mseal:462:462
msgctl:71:187 msgget:68:186 msgrcv:70:188 msgsnd:69:189 msync:26:227 munlock:150:229
munlockall:152:231 munmap:11:215 nanosleep:35:101 newfstatat:262:79 open:2: openat:257:56
pause:34: personality:135:92 pidfd_open:434:434 pidfd_send_signal:424:424
pipe:22: pipe2:293:59 pkey_alloc:330:289 pkey_free:331:290 pkey_mprotect:329:288 poll:7:
ppoll:271:73 prctl:157:167 pread64:17:67 preadv:295:69 preadv2:327:286 prlimit64:302:261
pselect6:270:72 pwrite64:18:68 pwritev:296:70 pwritev2:328:287 read:0:63 readahead:187:213
readlink:89: readlinkat:267:78 readv:19:65 recvfrom:45:207 recvmmsg:299:243 recvmsg:47:212
removexattr:197:14 rename:82: renameat:264:38 renameat2:316:276 restart_syscall:219:128
rmdir:84: rseq:334:293 rt_sigaction:13:134 rt_sigpending:127:136 rt_sigprocmask:14:135
rt_sigqueueinfo:129:138 rt_sigreturn:15:139 rt_sigsuspend:130:133 rt_sigtimedwait:128:137
rt_tgsigqueueinfo:297:240 sched_get_priority_max:146:125 sched_get_priority_min:147:126
sched_getaffinity:204:123 sched_getattr:315:275 sched_getparam:143:121
sched_getscheduler:145:120 sched_rr_get_interval:148:127 sched_setaffinity:203:122
sched_setattr:314:274 sched_setparam:142:118 sched_setscheduler:144:119 sched_yield:24:124
seccomp:317:277 select:23: semctl:66:191 semget:64:190 semop:65:193 semtimedop:220:192
sendfile:40:71 sendmmsg:307:269 sendmsg:46:211 sendto:44:206 set_robust_list:273:99
set_tid_address:218:96 setfsgid:123:152 setfsuid:122:151 setgid:106:144 setgroups:116:159
setitimer:38:103 setpgid:109:154 setpriority:141:140 setregid:114:143 setresgid:119:149
setresuid:117:147 setreuid:113:145 setrlimit:160:164 setsid:112:157 setsockopt:54:208
setuid:105:146 setxattr:188:5 shmat:30:196 shmctl:31:195 shmdt:67:197 shmget:29:194
shutdown:48:210 sigaltstack:131:132 signalfd:282: signalfd4:289:74 socket:41:198
socketpair:53:199 splice:275:76 stat:4: statfs:137:43 statx:332:291 symlink:88: symlinkat:266:36
sync:162:81 sync_file_range:277:84 syncfs:306:267 sysinfo:99:179 tee:276:77 tgkill:234:131
time:201: timer_create:222:107 timer_delete:226:111 timer_getoverrun:225:109
timer_gettime:224:108 timer_settime:223:110 timerfd_create:283:85 timerfd_gettime:287:87
timerfd_settime:286:86 times:100:153 tkill:200:130 truncate:76:45 umask:95:166 uname:63:160
unlink:87: unlinkat:263:35 utime:132: utimensat:280:88 utimes:235: vfork:58: vmsplice:278:75
wait4:61:260 waitid:247:95 write:1:64 writev:20:66
"""
"""Each with its number on x86_64 and on aarch64, which lacks the oldest."""


@dataclass(frozen=True, slots=True)
class Machine:
    audit: int
    column: int
    clone3: int = 435
    openat2: int = 437


MACHINES = {"x86_64": Machine(0xC000003E, 1), "aarch64": Machine(0xC00000B7, 2)}


def allowed(machine: str | None = None) -> dict[str, int]:
    """By name; nothing for a machine that is not known."""
    known = MACHINES.get(machine or platform.machine())
    if known is None:
        return {}
    rows = (entry.split(":") for entry in _CALLS.split())
    return {row[0]: int(row[known.column]) for row in rows if row[known.column]}


def filter_for(machine: str | None = None) -> bytes | None:
    """The program, or None for a machine whose numbers we do not know."""
    known = MACHINES.get(machine or platform.machine())
    if known is None:
        return None
    return b"".join(_program(known, allowed(machine)))


def _program(machine: Machine, calls: dict[str, int]) -> Iterator[bytes]:
    yield _line(_LOAD, 0, 0, _ARCHITECTURE)
    yield _line(_EQUAL, 1, 0, machine.audit)
    yield _line(_RETURN, 0, 0, UNKNOWN)
    yield _line(_LOAD, 0, 0, _NUMBER)
    yield from _from(_X32, UNKNOWN)
    # Their flags and modes are behind a pointer, where no filter sees them; without them programs
    # use `clone` and `openat`.
    for number in (machine.clone3, machine.openat2):
        yield from (_line(_EQUAL, 0, 1, number), _line(_RETURN, 0, 0, UNKNOWN))
    yield from _no_set_id(calls)
    yield from _values(calls["socket"], 0, _FAMILIES, hit=ALLOW, miss=REFUSE)
    yield from _values(calls["ioctl"], 1, (_TIOCSTI, _TIOCLINUX), hit=REFUSE, miss=ALLOW)
    yield from _values(calls["personality"], 0, _PERSONALITIES, hit=ALLOW, miss=REFUSE)
    yield from _values(calls["clone"], 0, (_NAMESPACES,), hit=REFUSE, miss=ALLOW, test=_ANY_BIT)
    # The rest by their numbers alone, from the highest down: each step begins a stretch.
    yield from _from(_NEWEST, UNKNOWN)
    for start, action in reversed(_stretches(sorted(calls.values()))):
        yield from _from(start, action)
    yield _line(_RETURN, 0, 0, REFUSE)


def _no_set_id(calls: dict[str, int]) -> Iterator[bytes]:
    for name, position in _MODES.items():
        if name in calls:
            number = calls[name]
            yield from _values(number, position, (_SET_ID,), hit=REFUSE, miss=ALLOW, test=_ANY_BIT)
    for name, (flags, mode) in _OPENING.items():
        if name in calls:
            inside = (
                _line(_LOAD, 0, 0, _ARGUMENTS + 8 * flags),
                _line(_ANY_BIT, 0, 2, _MAKING),
                _line(_LOAD, 0, 0, _ARGUMENTS + 8 * mode),
                _line(_ANY_BIT, 1, 0, _SET_ID),
                _line(_RETURN, 0, 0, ALLOW),
                _line(_RETURN, 0, 0, REFUSE),
            )
            yield from (_line(_EQUAL, 0, len(inside), calls[name]), *inside)


def modes_filter(machine: str | None = None) -> bytes | None:
    """Only what no file may be made: for a sandbox that has a filter of its own, and answers
    `openat2` itself."""
    known = MACHINES.get(machine or platform.machine())
    if known is None:
        return None
    lines = [
        _line(_LOAD, 0, 0, _ARCHITECTURE),
        _line(_EQUAL, 1, 0, known.audit),
        _line(_RETURN, 0, 0, UNKNOWN),
        _line(_LOAD, 0, 0, _NUMBER),
        *_from(_X32, UNKNOWN),
        *_no_set_id(allowed(machine)),
        _line(_RETURN, 0, 0, ALLOW),
    ]
    return b"".join(lines)


def _stretches(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Where a run of allowed numbers begins, and where the next one that is not."""
    steps: list[tuple[int, int]] = []
    for number in numbers:
        if steps and steps[-1] == (number, REFUSE):
            steps[-1] = (number + 1, REFUSE)
        else:
            steps += [(number, ALLOW), (number + 1, REFUSE)]
    return steps


def _from(number: int, action: int) -> Iterator[bytes]:
    yield _line(_AT_LEAST, 0, 1, number)
    yield _line(_RETURN, 0, 0, action)


def _values(
    call: int, position: int, values: Sequence[int], *, hit: int, miss: int, test: int = _EQUAL
) -> Iterator[bytes]:
    """A call that is decided by an argument's low 32 bits, all that the kernel takes of these."""
    count = len(values)
    inside = [_line(_LOAD, 0, 0, _ARGUMENTS + 8 * position)]
    # A hit jumps to the second of the two returns below.
    inside += [_line(test, count - at, 0, value) for at, value in enumerate(values)]
    inside += [_line(_RETURN, 0, 0, miss), _line(_RETURN, 0, 0, hit)]
    yield from (_line(_EQUAL, 0, len(inside), call), *inside)


def _line(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
