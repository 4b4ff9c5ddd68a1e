"""Git repositories in the workspace: what tools may change in them, and what git would run.

Git runs programs that a repository names: hooks, and whatever its settings say
(`core.fsmonitor`, filters, includes of further settings). Whoever plants one has it run at the
user's next `git status`, outside any sandbox. So file tools write nothing of it, and a command
works on a copy of what git itself writes (`Guard`): refs, logs, the index and the like. When the
command is over, what of that changed is put in place, file by file and by name; `objects` alone
is written directly. What a command made anew (a repository of its own) is looked through, and
what git would run of it is put aside.

Everything is opened from a folder that is held, step by step and through no link: names may be
swapped at any moment. What cannot be looked through is not taken for harmless.
"""

from vivavoce.tools.repositories.guard import Guard as Guard
from vivavoce.tools.repositories.judging import may_write as may_write
