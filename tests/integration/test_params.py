"""`--params`: the commands that load a model folder take its best, its last or other parameters."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from nmtkit import Scorer, Segmenter, Translator
from nmtkit.io.parameters import read_parameters, write_parameters

Nmtkit = Callable[..., Result]

BEST, LAST = "params.best.safetensors", "params.last.safetensors"
FEATURES = "0 ||| un deux ||| LM0= -1 ||| -1\n0 ||| deux ||| LM0= -2 ||| -2\n"
PHRASES = "one ||| un ||| 1 1 1 1 ||| 0-0 ||| 1 1 1\none ||| deux ||| 1 1 1 1 ||| 0-0 ||| 1 1 1\n"
COMMANDS = (
    "translate -m MODEL --scores test.en",
    "translate -m MODEL -m MODEL --scores test.en",
    "translate -m MODEL --scores --segment --reverse-model REVERSE test.en",
    "score -m MODEL test.en test.fr",
    "align -m MODEL --soft test.en test.fr",
    "embed -m MODEL test.en",
    "nbest score -m MODEL list test.en",
    "phrase-table score -m MODEL --logs table",
)


@pytest.fixture(scope="module")
def folders(
    model: Path,
    prepared: Path,
    corpus: Path,
    small: list[str],
    nmtkit: Nmtkit,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Return a folder of models and inputs; tests must not change it.

    `model` and `reverse` have other parameters as their last ones, which are the best of `model-2`
    and `reverse-2`.
    """
    folder = tmp_path_factory.mktemp("params")
    shutil.copytree(model, folder / "model")
    options = ["--recipe", "toy", "--device", "cpu", *small]
    nmtkit("train", prepared, "--reverse", "-o", folder / "reverse", *options)
    for name in ("model", "reverse"):
        parameters = read_parameters(folder / name / BEST)
        changed = {key: value.flip(0).contiguous() for key, value in parameters.items()}
        write_parameters(folder / name / LAST, changed, 7)
        shutil.copytree(folder / name, folder / f"{name}-2")
        shutil.copy(folder / name / LAST, folder / f"{name}-2" / BEST)
    for name in ("test.en", "test.fr"):
        shutil.copy(corpus / name, folder / name)
    (folder / "list").write_text(FEATURES)
    (folder / "table").write_text(PHRASES)
    return folder


@pytest.fixture
def output(nmtkit: Nmtkit, folders: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a function that runs a command on `model` or `model-2`, and returns its output."""
    monkeypatch.chdir(folders)

    def run(command: str, suffix: str = "", *options: str) -> str:
        words = command.replace("MODEL", "model" + suffix).replace("REVERSE", "reverse" + suffix)
        return nmtkit(*words.split(), *options, "--device", "cpu").stdout

    return run


@pytest.mark.parametrize("command", COMMANDS)
def test_the_last_parameters_give_what_they_give_as_the_best(
    output: Callable[..., str], command: str
) -> None:
    best, last = output(command), output(command, "", "--params", "last")
    assert last == output(command, "-2") != best
    assert best == output(command, "", "--params", "best")


@pytest.mark.parametrize(
    "command", [c for c in COMMANDS if c.count("MODEL") == 1 and "REV" not in c]
)
def test_a_file_has_the_parameters_of_a_single_model(
    output: Callable[..., str], command: str
) -> None:
    assert output(command, "", "--params", f"model/{LAST}") == output(command, "-2")


@pytest.mark.parametrize(
    "command",
    [
        "translate -m model -m model test.en",
        "translate -m model --segment --reverse-model reverse test.en",
        "align -m model --reverse-model reverse --symmetrize union test.en test.fr",
        "nbest score -m model -m model list test.en",
        "phrase-table score -m model -m model table",
        "report -m model reverse --source test.en --reference test.fr -o page.html",
    ],
)
def test_a_file_is_refused_for_several_models(
    nmtkit: Nmtkit, folders: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(folders)
    result = nmtkit(*command.split(), "--params", f"model/{LAST}", "--device", "cpu", status=1)
    assert result.stderr.startswith(
        f"nmtkit: error: model/{LAST}: a file has the parameters of one"
    )
    assert result.stdout == "" and not (folders / "page.html").exists()


def test_corrections_are_learned_by_the_chosen_parameters(
    nmtkit: Nmtkit, folders: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(folders)
    options = ["--data", "test.en", "test.fr", "--updates", "2", "--allow-loss", "100"]
    runs = {
        "best": ["model"],
        "last": ["model", "--params", "last"],
        "file": ["model", "--params", f"model/{LAST}"],
        "same": ["model-2"],
    }
    adapted = {}
    for name, words in runs.items():
        nmtkit("adapt", *words, *options, "--device", "cpu", "-o", tmp_path / name)
        parameters = read_parameters(tmp_path / name / BEST).values()
        adapted[name] = [value.tolist() for value in parameters]
    assert adapted["last"] == adapted["file"] == adapted["same"] != adapted["best"]
    command = json.loads((tmp_path / "last" / "origin.json").read_text())["command"]
    assert " --params last " in command


def test_both_directions_of_links_have_the_same_choice(
    nmtkit: Nmtkit, folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders)
    words = ["test.en", "test.fr", "--symmetrize", "union", "--rounds", "0"]
    last = nmtkit("align", "-m", "model", "--reverse-model", "reverse", *words, "--params", "last")
    same = nmtkit("align", "-m", "model-2", "--reverse-model", "reverse-2", *words)
    assert last.stdout == same.stdout


def test_a_missing_file_is_named(nmtkit: Nmtkit, folders: Path) -> None:
    words = ["score", "-m", folders / "model", folders / "test.en", folders / "test.fr"]
    result = nmtkit(*words, "--params", "lats", status=1)
    assert "lats: no such file of parameters; give best, last, or a file" in result.stderr


def test_what_was_optimized_is_used_with_the_same_parameters(
    nmtkit: Nmtkit, folders: Path, corpus: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(folders / "model", tmp_path / "model")
    texts = [corpus / f"{name}.{side}" for name in ("train", "dev") for side in ("en", "fr")]
    words = ["--train", *texts[:2], "--dev", *texts[2:], "--max-loss", 100, "--params", "last"]
    nmtkit("optimize", folder, *words)
    fast = ["translate", "-m", folder, "--fast", corpus / "test.en"]
    assert "--fast goes without" not in nmtkit(*fast, "--params", "last").stderr
    assert "stale: the parameters have changed" in nmtkit(*fast, status=1).stderr


def test_reports_say_which_parameters_they_are_of(
    nmtkit: Nmtkit, folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders)
    for params in ("best", "last"):
        page = tmp_path / f"{params}.html"
        words = ["--source", "test.en", "--reference", "test.fr", "--bootstrap", 0, "-o", page]
        nmtkit("report", "model", *words, "--params", params)
        text = page.read_text(encoding="utf-8")
        assert f"<dd>params.{params}.safetensors</dd>" in text
        assert ("params.last" in text) == (params == "last")
    report = ["phrase-table", "report", "table", "-m", "model", "--min-words", 1, "--top", 2]
    found = []
    for params in ("best", "last"):
        nmtkit(*report, "--sample", 2, "--params", params, "-o", tmp_path / params)
        found.append(json.loads((tmp_path / params / "phrases.json").read_text()))
        assert found[-1]["settings"]["params"] == params
    assert found[0]["frequent"] != found[1]["frequent"]


def test_confidences_have_the_same_choice_for_the_reverse_model(
    nmtkit: Nmtkit, folders: Path, corpus: Path, tmp_path: Path
) -> None:
    model = shutil.copytree(folders / "model", tmp_path / "model")
    files = corpus / "train.en", corpus / "train.fr"
    reverse = "--reverse-model", folders / "reverse"
    nmtkit("calibrate", model, "--dev", *files, *reverse, "--params", "last")
    options = "--confidence", *reverse, "--params", "last"
    assert nmtkit("translate", "-m", model, *options, input="one\n").stdout.count("\t") == 1
    result = nmtkit("calibrate", model, "--dev", *files, *reverse, "--params", LAST, status=1)
    assert "there are several; give best or last" in result.stderr


def test_segmenters_load_both_models_with_the_same_choice(folders: Path) -> None:
    lines = ["one two three four", "nine zero"]
    last = Segmenter.load(folders / "model", folders / "reverse", device="cpu", params="last")
    same = Segmenter.load(folders / "model-2", folders / "reverse-2", device="cpu")
    assert list(last.segment(lines)) == list(same.segment(lines))


def test_paths_and_their_names_are_the_same_choice(folders: Path) -> None:
    path = folders / "model" / LAST
    pairs = [("one two", "un deux")]
    scores = [
        next(Scorer.load(folders / "model", device="cpu", params=params).score(pairs)).log_prob
        for params in (path, str(path), "last")
    ]
    assert len(set(scores)) == 1
    for params in (path, "last"):
        [[best]] = Translator.load(folders / "model", device="cpu", params=params).translate(
            ["one"]
        )
        assert best.text
