"""What the voice says before a language model is configured: honest, and pleasant to talk to.

A script, so that the first run needs no model. Numbers stay digits: the mouth
knows how to read them.
"""

from __future__ import annotations

from vivavoce.brain.script.script import ANY, Rule, Script, ToolUse

_QUESTION = r"(?:what(?:['’]s| is)|how much is|calculate|compute)"
_OPERATOR = r"(plus|minus|times|multiplied by|divided by|over|x|×|÷|[-+*/])"
_SUM = rf"{_QUESTION}\s+([\w.,]+(?:[ -]\w+)*?)\s+{_OPERATOR}\s+([\w.,]+(?:[ -]\w+)*)$"
_TIME = r"\bwhat(?:['’]s| is)? (?:the )?(?:time|date|day)\b|\btell me the (?:time|date)\b"
_WAIT = r"\bwait (?:for )?(?:about )?([\w-]+(?: \w+)?) seconds?\b"

_DIGIT = "one|two|three|four|five|six|seven|eight|nine|hundred"
_COUNT = rf"\bcount (?:up )?to ([\w-]+(?: (?:{_DIGIT})\b)?)"

_STORY = (
    "Once there was a small lighthouse that was afraid of the dark. Every evening it lit its "
    "lamp, closed its eyes, and hoped for the best. One stormy night a little boat came in, "
    "and its captain called up: thank you, without you we would have been lost. The lighthouse "
    "thought about that for a long time. It is still afraid of the dark, but it no longer "
    "minds, since it knows that somebody out there is a little less afraid. The end."
)
_WHO = (
    "I'm Vivavoce, a voice server that runs on your own machine. Right now I answer from a "
    "small script. Once a language model is configured, we can really talk."
)
_ABILITIES = (
    "Until a language model is configured I know a few things. I can tell the time, do sums, "
    "count as far as you like up to 100, wait for a while, and tell a short story. "
    "Anything else, I repeat. And you can interrupt me at any time."
)

_TOOLS = (
    Rule(when=_TIME, calls=(ToolUse("current_time"),)),
    Rule(
        when=_SUM,
        calls=(ToolUse("calculate", {"expression": "{1:number} {2:operator} {3:number}"}),),
    ),
    Rule(when=_WAIT, say="All right.", calls=(ToolUse("wait", {"seconds": "{1:number}"}),)),
    Rule(when=_TIME, say="I'm sorry, nobody gave me a clock."),
    Rule(
        when=_SUM,
        # Written out, so that the rule fits sums only.
        say="I'd need a calculator for {1:number} {2} {3:number}, and nobody gave me one.",
    ),
)
_RESULTS = (
    Rule(
        result_of=ANY,
        when=r'"success":\s*false',
        say="I'm sorry, that didn't work. {output.error}",
    ),
    Rule(
        result_of="current_time",
        when=r"^(\w+), (\w+ \d+), \d{4}, (\d+:\d+ [AP]M)",
        say="It's {3}, on {1}, {2}.",
    ),
    Rule(result_of="calculate", say="That's {output}."),
    Rule(result_of="wait", say="There. {output}"),
)
_SORRY = "Sorry, I didn't catch that."
_NUDGE = "I'm still here, whenever you are."
_NOTES = (
    Rule(note=True, when=r"could not be understood", say=_SORRY),
    Rule(note=True, when=r"said nothing", say=_NUDGE),
    Rule(note=True, when=r"has finished\. Its result: (.+)", say="By the way, that is done. {1}"),
)
_TALK = (
    Rule(when=_COUNT, say="Here we go. {1:counting}. Done!"),
    Rule(when=r"\bstory\b", say=_STORY),
    Rule(when=r"\b(?:who|what) are you\b|\byour name\b|\blanguage model\b", say=_WHO),
    Rule(when=r"\bwhat can you do\b|^help\b|\bhelp me\b", say=_ABILITIES),
    Rule(when=r"\bhow are you\b", say="I'm well, thank you. How are you?"),
    Rule(when=r"\b(?:thanks|thank you)\b", say="You're welcome."),
    Rule(
        when=r"\b(?:goodbye|bye|good night|see you)\b", say="Goodbye! It was nice talking to you."
    ),
    Rule(
        when=r"^(?:hello|hi|hey|good (?:morning|afternoon|evening))\b[^a-z]*(?:there|vivavoce)?$",
        say="Hello! I'm Vivavoce. Ask me what I can do.",
    ),
)

DEMO = Script(
    rules=(*_RESULTS, *_NOTES, *_TOOLS, *_TALK),
    # Without a pause: a clause of two words would be over before the next one is ready.
    otherwise="I heard you say {text}.",
    silence=_SORRY,
    opening="Hello! I'm Vivavoce. Ask me what I can do.",
    nudge=_NUDGE,
)
