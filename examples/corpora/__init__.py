"""A corpus from the network to plain text: fetched, checked, unpacked, in one form.

Python's own library is all that is used, so that it can be run before anything is installed.
"""

import sys
from collections.abc import Callable, Sequence


class CorpusError(Exception):
    """What the user can mend, in one sentence."""


def status_of(
    name: str, run: Callable[[Sequence[str] | None], None], arguments: Sequence[str] | None
) -> int:
    """Run a program; what was not in order is one sentence on stderr.

    :param name: of the program.
    :param run: gets the arguments.
    :return: its exit status.
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
        print(f"{name}: interrupted; run it again to go on", file=sys.stderr)
        return 130
    return 0
