"""Download corpora, check them, unpack them, and normalise their text.

Only the standard library is used, so that this runs before anything is installed.
"""

import sys
from collections.abc import Callable, Sequence


class CorpusError(Exception):
    """An error that the user can fix; the message is one line."""


def run_program(
    name: str, run: Callable[[Sequence[str] | None], None], arguments: Sequence[str] | None
) -> int:
    """Run a program and report errors in one line on stderr.

    :param name: Name of the program.
    :param run: Called with the arguments.
    :return: The exit status.
    """
    try:
        run(arguments)
    except CorpusError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{name}: {error.filename or 'output'}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{name}: interrupted; run it again to resume", file=sys.stderr)
        return 130
    return 0
