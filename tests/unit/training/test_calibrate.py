"""The calibration of a model is for the parameters that `translate` gives it and its reverse."""

import shutil
from pathlib import Path

import pytest

from nmtkit.errors import ConfigError
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.translator import Translator
from nmtkit.io.parameters import read_parameters, write_parameters
from nmtkit.training.calibrate import calibrate

MODEL = Path(__file__).parents[2] / "data" / "0.2.0" / "rnnsearch"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a model folder with other parameters of the last validation than of the best."""
    folder = Path(shutil.copytree(MODEL, tmp_path / "model"))
    parameters = read_parameters(folder / "params.best.safetensors")
    last = {name: 0.9 * values for name, values in parameters.items()}
    write_parameters(folder / "params.last.safetensors", last, 1)
    return folder


@pytest.fixture
def dev(tmp_path: Path) -> tuple[Path, Path]:
    """Return the files of a dev set."""
    files = tmp_path / "dev.en", tmp_path / "dev.fr"
    files[0].write_text("one two\nthree four five\nseven eight\nzero\n")
    files[1].write_text("un deux\ntrois quatre cinq\nsept huit\nzéro\n")
    return files


def test_the_reverse_model_has_the_parameters_that_it_will_have(
    folder: Path, dev: tuple[Path, Path]
) -> None:
    calibrate([folder], dev, reverse_models=[folder], device="cpu", params="last")
    translator = Translator.load(folder, device="cpu", params="last")
    reverse = Scorer.load(folder, device="cpu", params="last")
    (translation,) = next(translator.with_confidence(reverse).translate(["one two"]))
    assert translation.confidence is not None


def test_a_file_of_parameters_is_not_for_two_models(folder: Path, dev: tuple[Path, Path]) -> None:
    file = folder / "params.last.safetensors"
    with pytest.raises(ConfigError, match="there are several; give best or last"):
        calibrate([folder], dev, reverse_models=[folder], device="cpu", params=file)
