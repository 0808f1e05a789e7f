"""Models of text with another case repeat it for raw input, and undo it in their output."""

import re

import pytest


@pytest.mark.parametrize("case", ["truecase", "markers"])
def test_case_is_repeated_and_undone(capitals, small, nmtkit, case):
    data, folder = capitals / "prepared", capitals / "model"
    files = [capitals / f"{split}.{side}" for split in ("train", "dev") for side in ("en", "fr")]
    languages = ["-s", "en", "-t", "fr", "--subword", "none", "--case", case]
    nmtkit("prepare", "--train", *files[:2], "--dev", *files[2:], *languages, "-o", data)
    text = (data / "train.src").read_text(encoding="utf-8")
    assert text == text.lower() and ("⇧" in text) == (case == "markers")
    nmtkit("shortlist", data)
    nmtkit("train", data, "-o", folder, "--recipe", "toy", *small)
    for checked in (data, folder):
        nmtkit("check", checked)
    out = nmtkit("translate", "-m", folder, input="One two.\n").stdout
    assert not re.search("[⇧⇪￭␣]", out)
    scores = nmtkit("score", "-m", folder, files[2], files[3]).stdout
    assert len(scores.splitlines()) == len(files[2].read_text(encoding="utf-8").splitlines())
    if case == "truecase":
        assert (folder / "truecase.tgt").read_bytes() == (data / "truecase.tgt").read_bytes()
        assert not re.search(r"^[a-z]|\. [a-z]", out)
        (folder / "truecase.src").write_text("one\n", encoding="utf-8")
        assert "truecase.src" in nmtkit("translate", "-m", folder, input="a\n", status=1).stderr
        assert "truecase.src" in nmtkit("check", folder, status=1).stdout


@pytest.mark.parametrize("given", ["--tokenized", "--bpe-codes"])
def test_case_of_given_words_is_left_alone(capitals, nmtkit, given):
    options = [given] if given == "--tokenized" else [given, capitals / "train.en"]
    files = [capitals / "train.en", capitals / "train.fr", "-o", capitals / "out"]
    result = nmtkit(
        "prepare",
        "-s",
        "en",
        "-t",
        "fr",
        *options,
        "--case",
        "truecase",
        "--train",
        *files,
        status=2,
    )
    assert "--case truecase" in result.stderr and not (capitals / "out").exists()
