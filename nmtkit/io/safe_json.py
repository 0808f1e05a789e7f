"""What is read from files that anyone may have made: numbers and JSON, without surprises.

Python's own readers have two: a whole number of more than 4,300 digits is an error of its own kind,
and brackets within brackets end, some thousands deep, in an error that is none of the file's.
"""

import json
import re
from typing import Any

_WHOLE = re.compile(r"[0-9]{1,18}")


def whole_number(text: str) -> int | None:
    """The number that ASCII digits say, below 10^18; None where they say none."""
    return int(text) if _WHOLE.fullmatch(text) else None


def parse_json(text: str) -> Any:
    """The value that a JSON text says.

    :raises ValueError: it is none, or is nested too deep to be read.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("brackets within brackets, too deep to be read") from None
