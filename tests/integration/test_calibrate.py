"""`nmtkit calibrate` leaves what `translate --confidence`, `check` and `report` use."""

import json
import shutil
from dataclasses import replace

import pytest

from nmtkit.io.calibration_record import read_calibration, write_calibration
from nmtkit.io.folder_files import CALIBRATION_FILE
from nmtkit.io.parameters import read_parameters, write_parameters

LINES = ["one two", "", "three four five", "zero", "seven seven eight"]
TEXT = "".join(f"{line}\n" for line in LINES)


@pytest.fixture(scope="module")
def calibrated(model, corpus, nmtkit, tmp_path_factory):
    """Return a calibrated model folder; tests must not change it."""
    folder = shutil.copytree(model, tmp_path_factory.mktemp("calibrated") / "model")
    nmtkit("calibrate", folder, "--dev", corpus / "train.en", corpus / "train.fr")
    return folder


@pytest.fixture
def folder(calibrated, tmp_path):
    return shutil.copytree(calibrated, tmp_path / "model")


def test_the_file_is_small_and_its_figures_are_said(folder, corpus, nmtkit):
    files = corpus / "train.en", corpus / "train.fr"
    result = nmtkit("calibrate", folder, "--dev", *files, "--good", "chrF>=5", "--beam", 2)
    assert "good: chrF of at least 5; sentences: calibration error 0." in result.stdout
    assert "20 lines are few for a calibration" in result.stderr
    again = json.loads(nmtkit("calibrate", folder, "--dev", *files, "--json").stdout)
    assert again["is_median"] and again["pairs"] == 20 and again["beam"] > 2
    assert set(again["figures"]) >= {"sentence_ece", "sentence_auc", "word_ece", "word_auc"}
    assert (folder / CALIBRATION_FILE).stat().st_size < 10_000
    assert nmtkit("check", folder).stdout.endswith(" checked, no errors\n")


def test_overlong_lines_change_nothing_and_are_reported(folder, corpus, nmtkit, tmp_path):
    files = corpus / "train.en", corpus / "train.fr"
    nmtkit("calibrate", folder, "--dev", *files)
    expected = read_calibration(folder)
    longer = []
    for file in files:
        longer.append(tmp_path / file.name)
        longer[-1].write_text("one " * 1251 + "\n" + file.read_text())
    result = nmtkit("calibrate", folder, "--dev", *longer)
    assert "train.en: 1 line of more than 5,000 characters left out" in result.stderr
    assert read_calibration(folder) == expected


def test_swapped_sides_are_refused(model, corpus, nmtkit, tmp_path):
    folder = shutil.copytree(model, tmp_path / "swapped")
    files = corpus / "train.fr", corpus / "train.en"
    assert "look swapped" in nmtkit("calibrate", folder, "--dev", *files, status=1).stderr
    assert not (folder / CALIBRATION_FILE).exists()


def test_confidences_stand_before_translations(calibrated, nmtkit):
    plain = nmtkit("translate", "-m", calibrated, input=TEXT).stdout.splitlines()
    both = nmtkit("translate", "-m", calibrated, "--confidence", "--scores", input=TEXT).stdout
    rows = [line.split("\t") for line in both.splitlines()]
    rated = nmtkit("translate", "-m", calibrated, "--confidence", input=TEXT).stdout.splitlines()
    assert len(rows) == len(plain) == len(rated) == len(LINES)
    for line, text, (score, confidence, scored_text, *_) in zip(rated, plain, rows, strict=True):
        assert line == f"{confidence}\t{text}" and scored_text == text
        assert 0 <= float(confidence) <= 1 and float(score) <= 0
    assert rated[1] == "1.0000\t"
    listed = nmtkit("translate", "-m", calibrated, "--confidence", "--n-best", 2, input=TEXT)
    assert all(" confidence= " in line for line in listed.stdout.splitlines())


def test_json_has_a_confidence_for_each_word(calibrated, nmtkit):
    result = nmtkit("translate", "-m", calibrated, "--confidence", "--json", input=TEXT)
    for line in result.stdout.splitlines():
        (best,) = json.loads(line)["translations"]
        assert len(best["word_confidences"]) == len(best["tokens"])
        assert all(0 <= p <= 1 for p in (best["confidence"], *best["word_confidences"]))


def test_low_confidence_leaves_the_line_empty_or_marks_it(calibrated, nmtkit):
    def translate(*options, status=0):
        return nmtkit("translate", "-m", calibrated, *options, input=TEXT, status=status)

    all_empty = translate("--min-confidence", 1)
    assert all_empty.stdout == "\n" * len(LINES)
    assert "4 of 5 translations are left empty: confidence is below 1" in all_empty.stderr
    plain = translate().stdout.splitlines()
    assert translate("--min-confidence", 0).stdout.splitlines() == plain
    marked = translate("--min-confidence", 1, "--low-confidence", "mark")
    expected = [f"{text}\tlow confidence" if text else "" for text in plain]
    assert marked.stdout.splitlines() == expected and "4 of 5 translations are marked" in (
        marked.stderr
    )
    as_json = translate("--min-confidence", 1, "--json").stdout.splitlines()
    first = json.loads(as_json[0])["translations"][0]
    assert first["text"] == "" and first["low_confidence"] and first["tokens"]
    assert "--min-confidence" in translate("--low-confidence", "mark", status=2).stderr


def test_a_model_without_a_calibration_says_what_to_do(model, nmtkit):
    result = nmtkit("translate", "-m", model, "--confidence", input="one\n", status=1)
    assert "no calibration.json, which confidences need; run 'nmtkit calibrate'" in result.stderr
    assert result.stdout == ""


def test_other_parameters_make_it_stale(folder, nmtkit):
    record = read_calibration(folder)
    assert record is not None
    write_calibration(folder, replace(record, parameters=("0" * 64,)))
    problem = "the parameters have changed since; run 'nmtkit calibrate' again"
    assert f"warning: {folder}/calibration.json: {problem}" in nmtkit("check", folder).stdout
    result = nmtkit("translate", "-m", folder, "--confidence", input="one\n", status=1)
    assert f"calibration.json: stale: {problem}" in result.stderr and result.stdout == ""
    assert nmtkit("translate", "-m", folder, input="one\n").stderr == ""


def test_the_parameters_that_are_asked_for_are_calibrated(model, corpus, nmtkit, tmp_path):
    folder = shutil.copytree(model, tmp_path / "model")
    last = folder / "params.last.safetensors"
    write_parameters(last, {name: value / 2 for name, value in read_parameters(last).items()})
    files = corpus / "train.en", corpus / "train.fr"
    nmtkit("calibrate", folder, "--dev", *files, "--params", "last")
    command = "translate", "-m", folder, "--confidence", "--params"
    assert nmtkit(*command, "last", input="one\n").stdout.count("\t") == 1
    result = nmtkit(*command, "best", input="one\n", status=1)
    assert "stale: the parameters have changed since" in result.stderr


def test_damage_is_found(folder, nmtkit):
    path = folder / CALIBRATION_FILE
    path.write_bytes(path.read_bytes()[:-100])
    assert f"error: {path}: cannot be read" in nmtkit("check", folder, status=1).stdout
    result = nmtkit("translate", "-m", folder, "--confidence", input="one\n", status=1)
    assert "calibration.json: cannot be read" in result.stderr and result.stdout == ""
    plain = nmtkit("translate", "-m", folder, input="one\n")
    assert "calibration.json: cannot be read" in plain.stderr and plain.stdout.count("\n") == 1


def test_an_ensemble_has_its_own_calibration(folder, model, corpus, nmtkit):
    both = ["-m", folder, "-m", model]
    result = nmtkit("translate", *both, "--confidence", input="one\n", status=1)
    assert "is for 1 model, not for an ensemble of 2" in result.stderr
    nmtkit("calibrate", folder, model, "--dev", corpus / "train.en", corpus / "train.fr")
    assert nmtkit("translate", *both, "--confidence", input="one\n").stdout.count("\t") == 1


def test_the_reverse_model_is_needed_once_it_was_given(folder, model, corpus, nmtkit):
    files = corpus / "train.en", corpus / "train.fr"
    nmtkit("calibrate", folder, "--dev", *files, "--reverse-model", model)
    result = nmtkit("translate", "-m", folder, "--confidence", input="one\n", status=1)
    assert "was fitted with a reverse model; give it: --reverse-model" in result.stderr
    options = "--confidence", "--reverse-model", model
    assert nmtkit("translate", "-m", folder, *options, input="one\n").stdout.count("\t") == 1


def test_foreign_lines_are_reported_once(folder, corpus, nmtkit, monkeypatch):
    monkeypatch.setattr("nmtkit.inference.confidence.familiarity.MAX_CAPITAL", 1e-9)
    result = nmtkit("translate", "-m", folder, input="x\n" * 20)
    assert result.stderr.count("unlike the text that the model was calibrated on") == 1
    assert result.stdout.count("\n") == 20


def test_copies_of_the_model_have_no_calibration(
    calibrated, prepared, corpus, small, nmtkit, tmp_path
):
    texts = "--data", corpus / "test.en", corpus / "test.fr"
    options = "--updates", 1, "--allow-loss", 100, "--device", "cpu", "-o", tmp_path / "adapted"
    nmtkit("adapt", calibrated, *texts, *options)
    further = "--from", calibrated, "--device", "cpu", "-o", tmp_path / "further"
    nmtkit("train", prepared, *further, *small)
    for name in ("adapted", "further"):
        assert (tmp_path / name / "config.toml").exists()
        assert not (tmp_path / name / CALIBRATION_FILE).exists()


def test_the_report_draws_risk_against_coverage(calibrated, model, corpus, nmtkit, tmp_path):
    texts = "--source", corpus / "test.en", "--reference", corpus / "test.fr", "--bootstrap", 2
    for folder, drawn in ((calibrated, True), (model, False)):
        page = tmp_path / f"{folder.parent.name}.html"
        nmtkit("report", folder, *texts, "-o", page)
        text = page.read_text()
        assert ("Risk against coverage" in text) == drawn
        assert ('href="#confidence"' in text) == drawn


@pytest.mark.parametrize("good", ["60", "chrF>=101", "bleu>=3", "chrF>=x"])
def test_a_wrong_threshold_is_refused(folder, corpus, nmtkit, good):
    files = corpus / "train.en", corpus / "train.fr"
    result = nmtkit("calibrate", folder, "--dev", *files, "--good", good, status=1)
    message = f"--good {good}: neither 'median' nor a threshold up to 100 such as 'chrF>=60'"
    assert message in result.stderr


def test_dev_sets_that_teach_nothing_are_refused(folder, corpus, nmtkit, tmp_path):
    files = corpus / "train.en", corpus / "train.fr"
    result = nmtkit("calibrate", folder, "--dev", *files, "--good", "chrF>=0", status=1)
    assert "all of the translations of the dev set have a chrF" in result.stderr
    for name in ("src", "tgt"):
        (tmp_path / name).write_text("\n\none\n")
    empty = tmp_path / "src", tmp_path / "tgt"
    result = nmtkit("calibrate", folder, "--dev", *empty, status=1)
    assert "1 line with words; a calibration needs 2" in result.stderr
