"""Errors that a client gets as an answer: a status of HTTP and a sentence."""


class RequestError(Exception):
    """A request that cannot be answered as it is.

    status: of HTTP. message: what is wrong and what to do. retry_after: seconds after which the
    same request may succeed; None if it never will.
    """

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after


def stopping() -> RequestError:
    """Return the answer to requests that come, or are not answered yet, when the server stops."""
    return RequestError(503, "the server is stopping; try again soon", 5)


class JobCancelled(Exception):
    """The work was cancelled by its client."""
