"""Files of vectors round-trip, and malformed lines are reported."""

import io

import numpy as np
import pytest

from nmtkit.errors import DataError
from nmtkit.io.vectors import read_vectors, write_vectors


def written(*vectors):
    file = io.StringIO()
    count = write_vectors(file, vectors)
    assert count == len(vectors)
    return file.getvalue()


def test_a_line_is_a_text_and_its_numbers_with_tabs_between():
    assert written(("a b", [1.0, -0.25]), ("", [1e-9, 3e20])) == "a b\t1\t-0.25\n\t1e-09\t3e+20\n"


def test_every_float32_round_trips(tmp_path):
    numbers = np.random.default_rng(0).standard_normal((50, 7)).astype(np.float32)
    texts = [f"été {n}\u2028\r" for n in range(50)]
    path = tmp_path / "vectors.tsv"
    path.write_text(written(*zip(texts, numbers.tolist(), strict=True)), "utf-8", newline="\n")
    found_texts, actual = read_vectors(path)
    assert found_texts == texts and actual.dtype == np.float64
    np.testing.assert_allclose(actual, numbers, rtol=1e-6)


def test_a_tab_in_a_text_becomes_a_blank():
    assert written(("a\tb", [1.0])) == "a b\t1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "v.tsv: has no vectors; 'nmtkit embed' writes them"),
        ("a\t1\nb\n", "v.tsv:2: no numbers"),
        ("a\t1\t2\nb\t1\n", "v.tsv:2: a vector of 1 numbers, but the first has 2"),
        ("a\t1\tx\n", "v.tsv:1: could not convert string to float: 'x'"),
        ("2 2\na 1 2\n", "v.tsv:1: no numbers"),
        ("a\t1\nb\tnan\n", "v.tsv:2: a number that is not finite"),
        ("a\t1\nb\t-1e308\n", "v.tsv:2: a number that is not finite, or above 1e+15"),
        ("a\t1\t\n", "v.tsv:1: could not convert string to float: ''"),
    ],
)
def test_an_invalid_vector_file_is_reported_with_its_line(tmp_path, text, message):
    (tmp_path / "v.tsv").write_text(text)
    with pytest.raises(DataError) as error:
        read_vectors(tmp_path / "v.tsv")
    assert message in str(error.value)
