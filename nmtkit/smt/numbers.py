"""Numbers in Moses's files, small enough to be multiplied and added."""

from nmtkit.errors import DataError

MAX_NUMBER = 1e100
"""Maximum absolute value of a number: sums of products of three such numbers are finite.

Moses's own numbers have single precision, at most 3.4e38.
"""


def parse_number(word: str, subject: str) -> float:
    """Return the number that a word of a file stands for; `inf` and `nan` are numbers, too.

    :param subject: beginning of the message, such as "list:3: the total".
    :raises DataError: the word is not a number, or its absolute value is above `MAX_NUMBER`.
    """
    try:
        value = float(word)
    except ValueError:
        raise DataError(f"{subject} is '{word}', which is not a number") from None
    if abs(value) > MAX_NUMBER and not word.strip("+- ").lower().startswith("inf"):
        raise DataError(
            f"{subject} is '{word}', which is too large; numbers may go up to {MAX_NUMBER:g}"
        )
    return value
