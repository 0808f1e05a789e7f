"""The socket that the server listens on."""

import socket

import pytest

from nmtkit.errors import ConfigError
from nmtkit.serve.server import listen


def test_connections_send_at_once() -> None:
    """Without TCP_NODELAY an answer to a kept connection takes 40 ms longer."""
    with listen("127.0.0.1", 0) as listener:
        listener.setblocking(True)
        with socket.create_connection(listener.getsockname()[:2]):
            connection, _ = listener.accept()
            with connection:
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_that_is_taken_is_named() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ConfigError, match=f"127.0.0.1 port {port}: cannot listen there"):
            listen("127.0.0.1", port)
