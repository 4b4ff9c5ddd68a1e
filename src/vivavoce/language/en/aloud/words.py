"""What is written short and said long: data only."""

from __future__ import annotations

from vivavoce.language.en.times import lexicon
from vivavoce.language.en.times.lexicon import DAY_NAMES, MONTH_NAMES

SHORT_MONTHS = {short.title(): MONTH_NAMES[n - 1] for short, n in lexicon.SHORT_MONTHS.items()}
SHORT_DAYS = {
    short.title(): DAY_NAMES[n] for short, n in lexicon.SHORT_DAYS.items() if short != "weds"
}

MONEY = {
    "$": ("dollar", "cent"),
    "€": ("euro", "cent"),
    "£": ("pound", "penny"),
    "¥": ("yen", "sen"),
    "USD": ("dollar", "cent"),
    "EUR": ("euro", "cent"),
    "GBP": ("pound", "penny"),
    "CHF": ("franc", "cent"),
}

SCALES = {
    "k": "thousand",
    "K": "thousand",
    "m": "million",
    "M": "million",
    "bn": "billion",
    "B": "billion",
    "T": "trillion",
}

_ALIKE = ("yen", "sen", "hertz", "kilohertz", "megahertz", "gigahertz")
PLURALS = {"penny": "pence", "foot": "feet", "inch": "inches"} | {word: word for word in _ALIKE}

UNITS = {
    "mm": "millimeter", "cm": "centimeter", "m": "meter", "km": "kilometer", "ft": "foot",
    "mi": "mile", "yd": "yard", "px": "pixel",
    "mg": "milligram", "g": "gram", "kg": "kilogram", "lb": "pound", "lbs": "pound",
    "oz": "ounce", "ml": "milliliter", "mL": "milliliter", "l": "liter", "L": "liter",
    "tsp": "teaspoon", "tbsp": "tablespoon",
    "ns": "nanosecond", "μs": "microsecond", "ms": "millisecond", "s": "second",
    "sec": "second", "secs": "second", "min": "minute", "mins": "minute", "h": "hour",
    "hr": "hour", "hrs": "hour",
    "KB": "kilobyte", "kB": "kilobyte", "MB": "megabyte", "GB": "gigabyte", "TB": "terabyte",
    "KiB": "kibibyte", "MiB": "mebibyte", "GiB": "gibibyte", "Mb": "megabit", "Gb": "gigabit",
    "kbps": "kilobit per second", "Mbps": "megabit per second", "Gbps": "gigabit per second",
    "fps": "frame per second", "rpm": "revolution per minute", "mph": "mile per hour",
    "Hz": "hertz", "kHz": "kilohertz", "MHz": "megahertz", "GHz": "gigahertz",
    "dB": "decibel", "V": "volt", "mV": "millivolt", "W": "watt", "kW": "kilowatt",
    "MW": "megawatt", "kWh": "kilowatt-hour", "mA": "milliamp", "mAh": "milliamp-hour",
    "m2": "square meter", "km2": "square kilometer", "cm2": "square centimeter",
    "m3": "cubic meter", "sq ft": "square foot",
    "°C": "degree Celsius", "°F": "degree Fahrenheit", "°": "degree",
}  # fmt: skip

PER = {
    "s": "second", "sec": "second", "second": "second", "min": "minute", "minute": "minute",
    "h": "hour", "hr": "hour", "hour": "hour", "day": "day", "d": "day", "week": "week",
    "wk": "week", "month": "month", "mo": "month", "year": "year", "yr": "year",
    "user": "user", "person": "person", "seat": "seat", "night": "night", "kg": "kilogram",
    "lb": "pound", "GB": "gigabyte", "km": "kilometer", "mile": "mile", "token": "token",
}  # fmt: skip

TITLES = {
    "Dr": "Doctor", "Mr": "Mister", "Mrs": "Missus", "Ms": "Miz", "Prof": "Professor",
    "Gen": "General", "Sen": "Senator", "Rep": "Representative", "Gov": "Governor",
    "Capt": "Captain", "Sgt": "Sergeant", "Lt": "Lieutenant", "Col": "Colonel",
    "Rev": "Reverend", "Hon": "Honorable", "St": "Saint", "Mt": "Mount", "Ft": "Fort",
}  # fmt: skip
"""In front of a name. With the dot, or without it where nothing else is meant."""

SHORT = {
    "e.g.": "for example,", "i.e.": "that is,", "etc.": "et cetera", "etc": "et cetera",
    "vs.": "versus", "vs": "versus", "approx.": "approximately", "ca.": "about",
    "cf.": "compare", "et al.": "and others", "w/o": "without", "w/": "with",
    "inc.": "Incorporated", "ltd.": "Limited", "corp.": "Corporation", "co.": "Company",
    "dept.": "department", "ave.": "Avenue", "blvd.": "Boulevard", "rd.": "Road",
    "jr.": "Junior", "sr.": "Senior", "fig.": "figure", "vol.": "volume", "est.": "estimated",
    "max.": "maximum", "min.": "minimum", "avg.": "average", "incl.": "including",
    "ext.": "extension", "tel.": "telephone", "asap": "A-S-A-P", "a.k.a.": "A-K-A",
    "aka": "A-K-A", "ph.d.": "P-H-D",
    "u.s.": "U-S", "u.k.": "U-K", "at&t": "A-T and T", "am/pm": "A-M or P-M",
    "n/a": "not applicable",
}  # fmt: skip

HOUSE_NUMBERS = {"St": "Street", "Dr": "Drive", "Ave": "Avenue", "Blvd": "Boulevard", "Rd": "Road"}

SAID = {
    # acronyms that are words, and words the pronouncing dictionary has not
    "json": "Jason", "yaml": "yammel", "toml": "tommel", "gui": "gooey", "readme": "read me",
    "todo": "to do", "sql": "sequel", "mysql": "my sequel", "sqlite": "sequel light",
    "nosql": "no sequel", "postgresql": "post gress", "postgres": "post gress",
    "aws": "A-W-S", "onnx": "onyx", "oauth": "oh-auth",
    "nginx": "engine X", "kubectl": "cube control", "kubernetes": "koober netties",
    "k8s": "koober netties", "redis": "reddis", "pypi": "pie P-I", "mypy": "my pie",
    "pytest": "pie test", "numpy": "num pie", "stdin": "standard in", "stdout": "standard out",
    "stderr": "standard error", "async": "ay sync", "asyncio": "ay sync I-O", "enum": "ee num",
    "kwargs": "keyword args", "chmod": "change mod", "mkdir": "make dir", "vivavoce":
    "viva vo chay", "ollama": "oh llama", "latex": "lay tech", "wifi": "why fie",
    "wi-fi": "why fie", "ctrl": "control", "cmd": "command", "btw": "by the way",
    "sha256": "shah two fifty-six", "siobhan": "shivawn", "nguyen": "win", "ios": "I-O-S",
    "timeout": "time out", "timeouts": "time outs", "localhost": "local host",
    "ipv": "I-P-V", "wwii": "World War Two", "wwi": "World War One",
}  # fmt: skip
"""Wherever the word stands; keys are lower case."""

IN_NAMES = {
    "src": "source", "etc": "et cetera", "tmp": "temp", "usr": "user", "lib": "lib",
    "py": "pie", "md": "M-D", "js": "J-S", "ts": "T-S", "tsx": "T-S-X", "jsx": "J-S-X",
    "txt": "text", "cfg": "config", "conf": "conf", "yml": "Y-M-L", "sh": "S-H",
    "cpp": "C-P-P", "gz": "G-Z", "rs": "R-S", "exe": "E-X-E", "png": "P-N-G", "jpg": "J-peg",
    "jpeg": "J-peg", "pdf": "P-D-F", "csv": "C-S-V", "xml": "X-M-L", "html": "H-T-M-L",
    "css": "C-S-S", "wav": "wave", "gguf": "G-G-U-F", "db": "D-B", "os": "O-S",
    "io": "I-O", "ai": "A-I",
    "id": "I-D", "ids": "IDs", "api": "A-P-I", "url": "U-R-L", "urls": "URLs", "uri": "U-R-I",
    "http": "H-T-T-P", "https": "H-T-T-P-S", "ip": "I-P", "cpu": "C-P-U", "gpu": "G-P-U",
    "ui": "U-I", "cli": "C-L-I", "ssh": "S-S-H", "tcp": "T-C-P", "udp": "U-D-P", "dns": "D-N-S",
    "uuid": "U-U-I-D", "utf": "U-T-F", "ci": "C-I", "msg": "message", "btn": "button",
    "num": "num", "ctx": "context", "cfgs": "configs", "pkg": "package", "pkgs": "packages",
    "dir": "dir", "dirs": "dirs", "str": "string", "int": "int", "fn": "function",
    "impl": "impl", "req": "request", "res": "response", "env": "env", "ini": "I-N-I",
    "rc": "R-C", "vad": "V-A-D", "llm": "L-L-M", "tts": "T-T-S", "pcm": "P-C-M", "rtp": "R-T-P",
    "rtc": "R-T-C", "ws": "W-S", "sdk": "S-D-K", "qa": "Q-A", "pr": "P-R", "ok": "OK",
    "init": "init", "args": "args", "var": "var", "dev": "dev", "a": "ay",
}  # fmt: skip
"""In file names, identifiers and addresses only."""

VERSIONED = (
    "Python|Node|Node.js|Java|Go|Rust|Ruby|PHP|Ubuntu|Debian|Fedora|macOS|iOS|Android|Windows|"
    "Postgres|PostgreSQL|MySQL|SQLite|React|Django|Flask|Kubernetes|Docker|Chrome|Firefox|"
    "version|release|ver.|versions"
)

NUMBERED = "port|ISO|RFC|error|status|code|HTTP|room|flight|highway|route|area code|extension|gate"
"""What comes after is a name, not a quantity: error four oh four."""

ROMAN = {
    "II": "two", "III": "three", "IV": "four", "VI": "six", "VII": "seven", "VIII": "eight",
    "IX": "nine", "XI": "eleven", "XII": "twelve",
}  # fmt: skip

COUNTED_IN_ROMAN = "Chapter|Part|Section|Phase|Level|Act|Volume|Type|Stage|World War"
