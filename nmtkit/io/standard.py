"""The name of stdin and stdout on the command line, and in messages."""

STANDARD = "-"
"""stdin as an input, stdout as an output."""


def shown_name(path: object) -> str:
    """Return the name of an input in messages."""
    return "stdin" if str(path) == STANDARD else str(path)
