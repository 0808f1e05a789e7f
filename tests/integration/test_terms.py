"""`nmtkit translate --terms` through the real command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from click.testing import Result
from safetensors.torch import load_file

Nmtkit = Callable[..., Result]

LINES = ["one two three", "", "two", "four five two two", "six"]


@pytest.fixture
def glossary(tmp_path: Path) -> Path:
    path = tmp_path / "glossary.tsv"
    path.write_text("two\tquatre|cinq\nfour five\tsix\n")
    return path


@pytest.mark.parametrize("options", [[], ["--beam", 1], ["--n-best", 3], ["--json"]])
def test_every_hypothesis_has_the_terms(
    translate: Nmtkit, glossary: Path, options: list[object]
) -> None:
    rows = translate(LINES, "--terms", glossary, *options).stdout.split("\n")[:-1]
    for number, row in enumerate(rows):
        if "--n-best" in options:
            number, row = int(row.split(" ||| ")[0]), row.split(" ||| ")[1]
        elif "--json" in options:
            found = json.loads(row)["translations"][0]
            assert "missing_terms" not in found
            row = found["text"]
        words = row.split()
        wanted = LINES[number].split().count("two")
        assert words.count("quatre") + words.count("cinq") >= wanted
        assert words.count("six") >= LINES[number].count("four five")


def test_lines_without_terms_are_translated_as_ever(translate: Nmtkit, glossary: Path) -> None:
    with_terms = translate(LINES, "--terms", glossary).stdout.split("\n")
    plain = translate(LINES).stdout.split("\n")
    assert [with_terms[n] for n in (1, 4)] == [plain[n] for n in (1, 4)]


def test_what_is_impossible_is_reported_with_its_line(translate: Nmtkit, tmp_path: Path) -> None:
    path = tmp_path / "g.tsv"
    path.write_text("two\t\u2603\nsix\tun\n\tun\tforbidden\n")
    result = translate(LINES, "--terms", path, "--json")
    assert len(result.stdout.splitlines()) == len(LINES)
    lines = [line.partition("warning: ")[2] for line in result.stderr.splitlines()]
    unwritable = "the model's vocabulary cannot write what the glossary has for 'two'"
    assert f"line 3: no translation of 'two'; {unwritable}; give other words" in lines
    assert "line 5: no translation of 'six'" in lines  # it is forbidden
    assert json.loads(result.stdout.splitlines()[2])["translations"][0]["missing_terms"] == ["two"]


def test_forbidden_words_never_come(translate: Nmtkit, tmp_path: Path) -> None:
    plain = translate(LINES, "--n-best", 3).stdout
    words = {word for row in plain.splitlines() for word in row.split(" ||| ")[1].split()}
    forbidden = sorted(words - {",", "<unk>"})[:2]
    assert forbidden
    path = tmp_path / "g.tsv"
    path.write_text("".join(f"\t{word}\tforbidden\n" for word in forbidden))
    for row in translate(LINES, "--n-best", 3, "--terms", path).stdout.splitlines():
        assert not set(forbidden) & set(row.split(" ||| ")[1].split())


def test_terms_go_with_markup(translate: Nmtkit, glossary: Path) -> None:
    row = translate(["<b>one</b> two"], "--terms", glossary, "--markup", "html").stdout
    assert row.count("<b>") == row.count("</b>") == 1
    assert "quatre" in row or "cinq" in row


def test_a_wrong_line_of_a_glossary_is_named(translate: Nmtkit, tmp_path: Path) -> None:
    path = tmp_path / "g.tsv"
    path.write_text("two deux\n")
    assert "g.tsv:1: 1 field" in translate(LINES, "--terms", path, status=1).stderr


@pytest.mark.parametrize("option", [["--sample", 1], ["--terms-mode", "soft"]])
def test_options_that_do_not_go_together_are_refused(
    translate: Nmtkit, glossary: Path, option: list[object]
) -> None:
    terms = [] if option[0] == "--terms-mode" else ["--terms", glossary]
    assert "--terms" in translate(LINES, *option, *terms, status=2).stderr


@pytest.fixture(scope="module")
def told(
    prepared: Path, small: list[str], nmtkit: Nmtkit, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a model that was trained with annotated terms."""
    folder = tmp_path_factory.mktemp("told") / "model"
    options = ["-r", "toy", "--device", "cpu", "--terms-augment", *small]
    nmtkit("train", prepared, "-o", folder, *options, "--set", "training.guided_alignment=0.1")
    return folder


def test_a_model_that_is_told_its_terms_translates_resumes_and_is_checked(
    told: Path, prepared: Path, glossary: Path, nmtkit: Nmtkit, tmp_path: Path
) -> None:
    text = "".join(f"{line}\n" for line in LINES)
    alignments = ("--alignments", tmp_path / "links", "--force")
    options = ("translate", "-m", told, "--device", "cpu", *alignments)
    rows = nmtkit(*options, "--terms", glossary, input=text).stdout.splitlines()
    assert len(rows) == len(LINES)
    assert "quatre" in rows[2] or "cinq" in rows[2]
    sources = [int(link.split("-")[0]) for link in (tmp_path / "links").read_text().split()]
    assert max(sources) < 5  # words of the line, without annotations
    plain = nmtkit(*options, input=text).stdout.splitlines()
    assert [rows[n] for n in (1, 4)] == [plain[n] for n in (1, 4)]
    nmtkit("check", told)
    more = ("--set", "training.max_updates=3")
    result = nmtkit("train", prepared, "-o", told, "--device", "cpu", *more)
    assert "resuming from update 2" in result.stderr


def test_term_words_have_the_embeddings_of_their_target_words(told: Path) -> None:
    for name in ("best", "last"):
        parameters = load_file(told / f"params.{name}.safetensors")
        assert torch.equal(parameters["E_x"][12:], parameters["E_y"])
        assert not torch.equal(parameters["E_x"][:12], parameters["E_y"])


def test_an_adapted_model_keeps_them_equal(told: Path, nmtkit: Nmtkit, tmp_path: Path) -> None:
    data = tmp_path / "corrections.tsv"
    data.write_text("one two\tdeux un\nsix five\tcinq six\n", encoding="utf-8")
    options = ("--updates", 3, "--allow-loss", 100, "--device", "cpu", "-o", tmp_path / "adapted")
    nmtkit("adapt", told, "--data", data, *options)
    before, after = (load_file(f / "params.best.safetensors") for f in (told, tmp_path / "adapted"))
    assert not torch.equal(before["E_y"], after["E_y"])
    assert torch.equal(after["E_x"][12:], after["E_y"])


def test_a_resumed_training_keeps_annotating(told: Path, prepared: Path, nmtkit: Nmtkit) -> None:
    off = ("--set", "data.terms_augment=0")
    result = nmtkit("train", prepared, "-o", told, "--device", "cpu", *off, status=1)
    assert "data.terms_augment = 0.3, now it is 0" in result.stderr


def test_starting_from_a_model_asks_for_the_same_annotation(
    told: Path, model: Path, prepared: Path, small: list[str], nmtkit: Nmtkit, tmp_path: Path
) -> None:
    options = ("train", prepared, "-r", "toy", "--device", "cpu", *small, "-o", tmp_path / "new")
    result = nmtkit(*options, "--from", told, status=1)
    assert f"{told}: was trained with --terms-augment" in result.stderr
    result = nmtkit(*options, "--from", model, "--terms-augment", status=1)
    assert f"{model}: was not trained with --terms-augment" in result.stderr
    nmtkit(*options, "--from", told, "--terms-augment")
    assert len((tmp_path / "new" / "vocab.src").read_text().splitlines()) == 12 + 12


def test_languages_swapped_and_a_language_model(
    prepared: Path, small: list[str], nmtkit: Nmtkit, tmp_path: Path
) -> None:
    options = ("train", prepared, "--device", "cpu", "--terms-augment")
    nmtkit(*options, "-r", "toy", *small, "--reverse", "-o", tmp_path / "reverse")
    words = (tmp_path / "reverse" / "vocab.src").read_text().splitlines()
    assert words[2].split("\t")[0] in "zéro un deux trois quatre cinq six sept huit neuf".split()
    result = nmtkit(*options, "-r", "cslm", "-o", tmp_path / "lm", status=1)
    assert "data.terms_augment: a language model reads no source" in result.stderr
    assert not (tmp_path / "lm").exists()
