"""Fixtures of the tests of the server."""

from tests.unit.serve.fake_hosts import hosts as hosts
