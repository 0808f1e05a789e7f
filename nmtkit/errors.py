"""What can go wrong through no fault of the program: one sentence each, for the user.

Every message names what is wrong, where (file, line) and what to do about it. The command
line prints it on one line of stderr and exits with status 1; from Python it is an exception.
"""

LONGEST = 1000
"""Characters of a message. It may quote a line of a file, which may be a megabyte long."""


class NmtkitError(Exception):
    """A mistake in data, settings, models or outputs that the user can mend.

    :param message: of one that is too long, the middle is left out: the file is named at its
        beginning, and what to do stands at its end.
    """

    def __init__(self, message: str) -> None:
        if len(message) > LONGEST:
            message = f"{message[: LONGEST // 2]} … {message[-LONGEST // 4 :]}"
        super().__init__(message)


class DataError(NmtkitError):
    """A text, vocabulary, BPE or alignment file that cannot be used as it is."""


class ConfigError(NmtkitError):
    """A setting that does not exist, has a wrong type, or contradicts another."""


class ModelError(NmtkitError):
    """A model folder or checkpoint that is missing, damaged or does not fit its use."""


class Interrupted(Exception):
    """The user or the system has asked by a signal to end, and what was to be saved is saved.

    :param signal: its number.
    """

    def __init__(self, signal: int) -> None:
        super().__init__(f"ended by signal {signal}")
        self.signal = signal


class OutputError(NmtkitError):
    """An output that exists already or cannot be written."""


def is_out_of_memory(error: BaseException) -> bool:
    """Python's, or torch's on whatever device, known without importing torch."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if kinds & {"MemoryError", "OutOfMemoryError"}:
        return True
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)


def refuse_string(value: object, parameter: str) -> None:
    """Raise TypeError if a string stands where a list of strings is expected.

    A string is an iterable of strings, too: without this check its characters would be taken for
    lines. It is a mistake in a program, not in a user's data, so it is no `NmtkitError`.
    """
    if isinstance(value, str | bytes):
        raise TypeError(
            f"{parameter} must be a list of strings, not one string; put it into a list"
        )
