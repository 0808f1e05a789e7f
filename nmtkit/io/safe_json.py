"""Safe parsing of numbers and JSON from untrusted files.

Python's own parsers raise unexpected errors in two cases: integers of more than 4,300 digits, and
thousands of nested brackets.
"""

import json
import re
from typing import Any

_UP_TO_18_DIGITS = re.compile(r"[0-9]{1,18}")


def parse_natural(text: str) -> int | None:
    """Return the number that a text of 1 to 18 ASCII digits gives, or None for other texts."""
    return int(text) if _UP_TO_18_DIGITS.fullmatch(text) else None


def parse_json(text: str) -> Any:
    """Parse a JSON text, which may begin with a byte order mark.

    :raises ValueError: the text is not JSON, has a number of too many digits, or is nested too
        deeply.
    """
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None
    except json.JSONDecodeError:
        raise
    except ValueError:  # its message names a function of Python
        raise ValueError("a number has too many digits") from None
