"""Errors that the user can correct: mistakes in files, settings and outputs.

Every message says what is wrong, where (file, line) and what to do. The command line prints it on
one line of stderr and exits with status 1.
"""

MAX_MESSAGE_LENGTH = 1000
"""Maximum length of a message in characters: it may quote a line of a megabyte."""


NAME_ERRORS = "backslashreplace"
"""How outputs write names of files that are not UTF-8: the byte 0xFF as `\\udcff`.

This is what Python's stderr does, too. In JSON it is an escape, from which the name comes back.
"""


def counted(number: int, noun: str) -> str:
    """Return a number with a noun: "1 thread", "2,000 threads", "3 hypotheses"."""
    plural = f"{noun[:-2]}es" if noun.endswith("is") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


class NmtkitError(Exception):
    """A mistake in data, settings, models or outputs that the user can correct."""

    def __init__(self, message: str) -> None:
        """Store the message; a long one is cut in the middle.

        The beginning names the file, and the end says what to do.
        """
        if len(message) > MAX_MESSAGE_LENGTH:
            message = (
                f"{message[: MAX_MESSAGE_LENGTH // 2]} … {message[-MAX_MESSAGE_LENGTH // 4 :]}"
            )
        super().__init__(message)


class DataError(NmtkitError):
    """A text, vocabulary, BPE or alignment file that cannot be used as it is."""


class ConfigError(NmtkitError):
    """A setting that does not exist, has the wrong type, or contradicts another."""


class ModelError(NmtkitError):
    """A model folder or checkpoint that is missing, damaged or unfit for its use."""


class TrainingInterrupted(Exception):
    """Training stopped because of a signal, after everything was saved.

    signal: number of the signal.
    """

    def __init__(self, signal: int) -> None:
        """Store the number of the signal."""
        super().__init__(f"ended by signal {signal}")
        self.signal = signal

    def __reduce__(self) -> tuple[type["TrainingInterrupted"], tuple[int]]:
        """Return what a copy in another process is made of."""
        return type(self), (self.signal,)


class OutputError(NmtkitError):
    """An output that exists already or cannot be written."""


def worker_killed(remedy: str, pid: int | None = None) -> NmtkitError:
    """Return the error for a process that ended without a result.

    :param remedy: what to do.
    :param pid: of the process, if it is known.
    """
    name = "a worker process" if pid is None else f"a worker process ({pid})"
    return NmtkitError(f"{name} was killed, perhaps because memory ran out; {remedy}")


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error is a lack of memory, in Python or in torch on any device.

    It may be that torch itself does not fit. Torch is not imported.
    """
    class_names = {cls.__name__ for cls in type(error).__mro__}
    if class_names & {"MemoryError", "OutOfMemoryError"}:
        return True
    # the last two are those of oneDNN and of a Mac's GPU
    signs = ("allocate memory", "could not create a primitive", "MPS backend out of memory")
    if isinstance(error, ImportError):  # by the dynamic linker
        signs = ("failed to map segment", "cannot allocate memory", "Cannot allocate memory")
    return isinstance(error, RuntimeError | ImportError) and any(s in str(error) for s in signs)


def refuse_other(value: object, wanted: type, parameter: str) -> None:
    """Raise TypeError if a value is of another type than is expected, a mistake in a program."""
    if not isinstance(value, wanted):
        raise TypeError(
            f"{parameter} must be {wanted.__name__}, not {type(value).__name__}; convert it first"
        )


def refuse_string(value: object, parameter: str) -> None:
    """Raise TypeError if a string stands where a list of strings is expected.

    A string is also an iterable of strings: without this check its characters would be taken for
    lines. This is a mistake in a program, not in a user's data, and hence not an `NmtkitError`.
    """
    if isinstance(value, str | bytes):
        raise TypeError(
            f"{parameter} must be a list of strings, not one string; put it into a list"
        )
