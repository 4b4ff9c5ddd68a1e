"""What is written short and said long: data only."""

from __future__ import annotations

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

MONEY = {
    "$": ("dollar", "cent"),
    "€": ("euro", "cent"),
    "£": ("pound", "penny"),
    "¥": ("yen", "sen"),
}

PLURALS = {
    "penny": "pence",
    "yen": "yen",
    "sen": "sen",
    "foot": "feet",
    "inch": "inches",
}

UNITS = {
    "mm": "millimeter",
    "cm": "centimeter",
    "m": "meter",
    "km": "kilometer",
    "ft": "foot",
    "mg": "milligram",
    "g": "gram",
    "kg": "kilogram",
    "lb": "pound",
    "lbs": "pound",
    "ml": "milliliter",
    "l": "liter",
    "L": "liter",
    "mi": "mile",
    "oz": "ounce",
    "ms": "millisecond",
    "s": "second",
    "sec": "second",
    "min": "minute",
    "h": "hour",
    "B": "byte",
    "KB": "kilobyte",
    "kB": "kilobyte",
    "MB": "megabyte",
    "GB": "gigabyte",
    "TB": "terabyte",
    "Hz": "hertz",
    "kHz": "kilohertz",
    "MHz": "megahertz",
    "V": "volt",
    "GHz": "gigahertz",
    "W": "watt",
    "kW": "kilowatt",
    "hr": "hour",
    "hrs": "hour",
    "km/h": "kilometer per hour",
    "mph": "mile per hour",
    "m/s": "meter per second",
    "m2": "square meter",
    "°C": "degree Celsius",
    "°F": "degree Fahrenheit",
    "°": "degree",
}

FRACTIONS = {
    "1/2": "one half",
    "1/3": "one third",
    "2/3": "two thirds",
    "1/4": "one quarter",
    "3/4": "three quarters",
}
