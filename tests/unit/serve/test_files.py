"""Uploaded files: their names, and the language that is detected in them."""

import pytest

from nmtkit.serve.files import _sample


@pytest.mark.parametrize(
    ("name", "head", "encoding"),
    [
        ("a.html", "<meta charset=windows-1251>", "cp1251"),
        ("a.HTM", '<meta http-equiv=x content="text/html; charset=koi8-r">', "koi8-r"),
        ("a.html", "\ufeff", "utf-16-le"),
        ("a.txt", "\ufeff", "utf-16-be"),
        ("a.html", "", "utf-8"),
        ("a.html", "<meta charset=rot13>", "utf-8"),
    ],
)
def test_the_sample_is_in_the_encoding_of_the_file(name: str, head: str, encoding: str) -> None:
    data = f"{head}<p>Это предложение</p>".encode(encoding)
    sample = _sample(name, data)
    assert "Это предложение" in sample
    assert name.endswith(".txt") or "<" not in sample
