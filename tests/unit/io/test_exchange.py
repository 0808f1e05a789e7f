"""Two names are exchanged in one step, or nothing changes."""

import ctypes

import pytest

from nmtkit.io.exchange import exchange


def test_two_folders_exchange_their_names(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert exchange(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a" / "b").exists() and (tmp_path / "b" / "a").exists()


def test_a_missing_name_is_an_error(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(FileNotFoundError, match="b"):
        exchange(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a").exists()


def test_a_system_without_the_call_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    assert not exchange(tmp_path / "a", tmp_path / "b")
