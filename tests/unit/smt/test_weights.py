"""Weights in moses.ini and in files that nmtkit writes."""

import pytest

from nmtkit.errors import DataError
from nmtkit.smt.weights import Weights, read_weights

INI = """# MERT optimized configuration
[feature]
KENLM name=LM0 factor=0 path=lm.bin order=5
LM0= this is no weight

# dense weights
[weight] # of the tuning

LexicalReordering0= 0.105278 -0.0393396 1e-05 # and more
LM0= 0.0840635
  # UnknownWordPenalty0= 7
UnknownWordPenalty0= 1
[distortion-limit]
6
"""


def write(tmp_path, text):
    path = tmp_path / "weights"
    path.write_text(text)
    return path


def test_a_moses_ini_is_read(tmp_path):
    path = write(tmp_path, INI)
    assert read_weights(path) == Weights(
        {
            "LexicalReordering0": (0.105278, -0.0393396, 1e-05),
            "LM0": (0.0840635,),
            "UnknownWordPenalty0": (1.0,),
        },
        path=str(path),
    )


@pytest.mark.parametrize("original", [None, {"LM0": (0.1,)}, {}])
def test_written_weights_are_read_back(tmp_path, original):
    weights = Weights({"A": (0.1, 1 / 3, -1e-300), "Rest0": (2.0,), "B": (1e22,)}, original)
    read = read_weights(write(tmp_path, weights.text))
    assert (read.values, read.original) == (weights.values, weights.original)


def test_features_without_values_have_no_line(tmp_path):
    weights = Weights({"A": (), "B": (1.0,)}, {"A": ()})
    read = read_weights(write(tmp_path, weights.text))
    assert (read.values, read.original) == ({"B": (1.0,)}, {})


def test_an_old_section_beside_the_new_one_is_ignored(tmp_path):
    assert read_weights(write(tmp_path, "[weight-l]\n0.5\n[weight]\nA= 1\n")).values == {
        "A": (1.0,)
    }


def test_an_empty_section_is_valid(tmp_path):
    assert read_weights(write(tmp_path, "[weight]\n")).values == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[weight-l]\n0.5\n", r"no section \[weight\] but \[weight-l\], as older versions of"),
        ("[weight-file]\nx\n", r"has no section \[weight\]; give a moses.ini"),
        ("", r"weights: has no section \[weight\]; give a moses.ini"),
        ("LM0= 1\n", r"has no section \[weight\]"),
        ("[weight]\nLM0 0.5\n", "weights:2: 'LM0 0.5' is not a line of weights such as"),
        ("[weight]\nLM0=\n", ":2: 'LM0=' is not a line"),
        ("[weight]\n= 1\n", ":2: '= 1' is not a line"),
        ("[weight]\nLM0= 1 x\n", ":2: the weight 'x' is not a number"),
        ("[weight]\nLM0= nan\n", "the weight 'nan' is not a number"),
        ("[weight]\nLM0= inf\n", "the weight 'inf' is not a number"),
        ("[weight]\nA= 1\nA= 2\n", ":3: 'A' has weights twice"),
        ("[weight]\n[original-weight]\nA= x\n", ":3: the weight 'x'"),
    ],
)
def test_malformed_files_are_reported(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_weights(write(tmp_path, text))
