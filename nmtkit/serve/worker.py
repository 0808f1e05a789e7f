"""A worker: a fork of a model's host that translates pieces until its socket ends."""

import contextlib
import os
import time
import traceback
from collections.abc import Callable
from socket import socket
from typing import Any

from nmtkit.errors import NmtkitError
from nmtkit.serve.messages import encode_message, receive_message
from nmtkit.serve.piece import PieceTranslator
from nmtkit.serve.task import Task


def run_worker(
    translator: PieceTranslator, connection: socket, close_others: Callable[[], None]
) -> None:
    """Answer pieces; the fork's main function.

    :param close_others: closes what belongs to the host.
    """
    close_others()
    with contextlib.suppress(EOFError, OSError):
        connection.sendall(encode_message({"pid": os.getpid()}))
        while True:
            answer = answer_piece(translator, receive_message(connection))
            connection.sendall(encode_message(answer))


def answer_piece(translator: PieceTranslator, message: Any) -> dict[str, Any]:
    """Return the results of a piece and its processor time, or the error that it ended with."""
    started = time.thread_time()
    try:
        task = Task.from_message(message["task"])
        if "files" in message:
            return translator.translate_files(message["files"], task)
        results = translator.translate(message["lines"], message["prefixes"], task)
    except NmtkitError as error:
        # without the files of the model, which concern no client (`Ensemble.error_context`)
        inner = error.__cause__ if isinstance(error.__cause__, NmtkitError) else error
        return {"error": str(inner), "is_bug": False}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}", "is_bug": True,
                "traceback": traceback.format_exc()}  # fmt: skip
    return {"results": results, "seconds": time.thread_time() - started}
