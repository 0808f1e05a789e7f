"""Durations on the command line and in messages: "30m", "1h30m"."""

import re

SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
"""Seconds of each unit, largest first."""

_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_DURATION = re.compile("".join(rf"(?:{_NUMBER}{unit})?" for unit in SECONDS), re.ASCII)


def parse_duration(text: str) -> float:
    """Return the seconds of a duration such as "90s", "30m", "1h30m" or "2d".

    :raises ValueError: it has another form; the message says which it should have.
    """
    found = _DURATION.fullmatch(text.strip().lower().replace(" ", ""))
    numbers = found.groups() if found else ()
    if not any(numbers):
        raise ValueError(f"{text!r} is no time; write it as 90s, 30m, 1h30m or 2d")
    parts = zip(numbers, SECONDS.values(), strict=True)
    return sum(float(number) * seconds for number, seconds in parts if number)


def format_duration(seconds: float) -> str:
    """Return a duration in at most two units, such as "1h 30m", "5m 20s", "42s"."""
    rest = max(round(seconds), 0)
    parts = []
    for unit, size in SECONDS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
        if len(parts) == 2:
            break
    return " ".join(parts) or "0s"


def write_duration(seconds: float) -> str:
    """Return a duration as the command line takes it, to the millisecond: "1d2h3m", "1m30.5s"."""
    rest = max(round(seconds * 1000), 1)
    parts = []
    for unit, size in SECONDS.items():
        count, rest = divmod(rest, 1000 * size) if size > 1 else (rest / 1000, 0)
        if count:
            parts.append(f"{count:.10g}{unit}")
    return "".join(parts)
