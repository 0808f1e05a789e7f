"""Messages between the server, the hosts of models and their workers: JSON with its length.

JSON, not pickles: what a worker has read came from a client.
"""

import json
import struct
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from socket import socket
from typing import Any

LENGTH = struct.Struct("!I")
"""Number of bytes before each message."""

MAX_BYTES = 1 << 30
"""Maximum length of a message; a longer one comes from a process that has gone wrong."""


def encode_message(value: object) -> bytes:
    """Return a message with its length."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = data.encode("utf-8", "surrogatepass")
    return LENGTH.pack(len(text)) + text


def receive_message(connection: socket) -> Any:
    """Wait for a message in a worker.

    :raises EOFError: the other end is closed.
    """
    (length,) = LENGTH.unpack(_receive_exactly(connection, LENGTH.size))
    return _decode(_receive_exactly(connection, length))


def _receive_exactly(connection: socket, length: int) -> bytes:
    parts = []
    while length:
        part = connection.recv(min(length, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


async def exchange_message(reader: StreamReader, writer: StreamWriter, value: object) -> Any:
    """Send a message to a worker and wait for its answer.

    :raises EOFError: the worker has ended.
    """
    try:
        writer.write(encode_message(value))
        await writer.drain()
        return await read_message(reader)
    except OSError as error:
        raise EOFError from error


async def read_message(reader: StreamReader) -> Any:
    """Wait for a message in the server.

    :raises EOFError: the other end is closed, or its message cannot be read.
    """
    try:
        (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        if length > MAX_BYTES:
            raise EOFError
        return _decode(await reader.readexactly(length))
    except (IncompleteReadError, OSError, ValueError) as error:
        raise EOFError from error


def _decode(data: bytes) -> Any:
    return json.loads(data.decode("utf-8", "surrogatepass"))
