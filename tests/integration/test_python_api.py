"""The Python API gives the results of the commands."""

import json
import math
import multiprocessing
import pickle
import subprocess
import sys
from typing import Any, get_type_hints

import numpy as np
import pytest
import torch

import nmtkit
from nmtkit import (
    Aligner,
    Embedder,
    MarkupTranslator,
    Scorer,
    Segmenter,
    Term,
    Translator,
    adapt,
    build_shortlist,
    calibrate,
    evaluate,
    prepare,
    select,
    train,
    translate_document,
)
from nmtkit.config import SearchConfig, SearchSettings
from nmtkit.errors import ConfigError, NmtkitError

LANGUAGES: Any = {"src_language": "en", "tgt_language": "fr"}
LINES = ["one two three", "", "seven"]


@pytest.fixture(scope="module")
def prepared_by_api(corpus, tmp_path_factory):
    """Prepare from Python the folder that `prepared` is made of by commands."""
    folder = tmp_path_factory.mktemp("api") / "prepared"
    files = {
        name: (corpus / f"{name}.en", corpus / f"{name}.fr") for name in ("train", "dev", "test")
    }
    prepare(
        files["train"], folder, files["dev"], {"test": files["test"]}, subword="none", **LANGUAGES
    )
    build_shortlist(folder, 12)
    return folder


@pytest.fixture(scope="module")
def translator(model):
    return Translator.load(model, device="cpu")


def test_prepare_and_build_shortlist_write_what_the_commands_write(prepared_by_api, prepared):
    manifest = json.loads((prepared / "manifest.json").read_text(encoding="utf-8"))
    assert json.loads((prepared_by_api / "manifest.json").read_text(encoding="utf-8")) == manifest
    for name in (*manifest["outputs"], "vocab.src", "vocab.tgt"):
        assert (prepared_by_api / name).read_bytes() == (prepared / name).read_bytes()


def test_train_returns_the_folder_and_its_figures(prepared_by_api, small, tmp_path):
    overrides = [word for word in small if "=" in word]
    settings = {"training.seed": 2, "training.max_updates": 2}
    folder = tmp_path / "model"
    result = train(
        prepared_by_api, folder, "toy", overrides=overrides, settings=settings, device="cpu"
    )
    assert result.folder == tmp_path / "model" and result.updates == 2
    assert result.best_dev_cost is not None and math.isfinite(result.best_dev_cost)
    assert result.dev_bleu is not None and result.seconds > 0
    assert next(Translator.load(result.folder).translate(["one"]))


def test_search_settings_are_given_by_name(translator):
    lists = list(translator.translate(LINES, beam=7, n_best=3))
    same = translator.with_search(beam=7).translate(LINES, n_best=3)
    assert [[t.text for t in n_best] for n_best in lists] == [
        [t.text for t in n_best] for n_best in same
    ]
    assert len(lists[0]) == 3 and translator.search.beam != 7
    sampled = list(translator.sample(LINES, n=4, seed=2, forbid_unk=True))
    assert all("<unk>" not in t.tokens for samples in sampled for t in samples)


def test_an_unknown_search_setting_is_refused_with_a_suggestion(translator):
    with pytest.raises(ConfigError, match="beem.*did you mean 'beam'"):
        translator.translate(LINES, beem=5)
    with pytest.raises(ConfigError, match="search.beam"):
        translator.translate(LINES, beam="wide")
    with pytest.raises(ConfigError, match="beam of 2"):
        translator.translate(LINES, beam=2, n_best=3)


def test_evaluate_gives_the_metrics(corpus):
    lines = (corpus / "test.fr").read_text(encoding="utf-8").splitlines()
    scores = {score.name: score.value for score in evaluate(lines, lines)}
    assert len(scores) > 2 and max(scores.values()) == pytest.approx(100)


def test_select_and_embed(corpus, model, tmp_path):
    bitext = (corpus / "train.en", corpus / "train.fr")
    output = (tmp_path / "selected.en", tmp_path / "selected.fr")
    domain = (corpus / "dev.en", corpus / "dev.fr")
    selection = select([bitext], output, domain, pairs=3, **LANGUAGES)
    assert selection.pairs == 3 and output[0].read_text().count("\n") == 3
    embeddings = list(Embedder.load(model, device="cpu").embed(LINES))
    assert [text for text, _ in embeddings] == LINES
    assert len({len(vector) for _, vector in embeddings}) == 1


def test_a_string_in_place_of_a_list_is_refused(translator, model, tmp_path):
    """The error comes at the call, not when the first result is consumed."""
    scorer = Scorer.load(model, device="cpu")
    line: Any = "one two"
    files = tmp_path / "files"
    for parameter, call in (
        ("lines", lambda: translator.translate(line)),
        ("lines", lambda: translator.sample(line)),
        ("lines", lambda: Segmenter.segment(object.__new__(Segmenter.__subclasses__()[0]), line)),
        ("lines", lambda: Embedder.load(model, device="cpu").embed(line)),
        ("pairs", lambda: scorer.score(line)),
        ("targets", lambda: scorer.score_list(line, line)),
        ("pairs", lambda: Aligner(scorer).align(line)),
        ("hypotheses", lambda: evaluate(line, [line])),
        ("references", lambda: evaluate([line], line)),
        ("train", lambda: prepare(line, files, **LANGUAGES)),
        ("dev", lambda: prepare(("a", "b"), files, dev=line, **LANGUAGES)),
        ("bpe_codes", lambda: prepare(("a", "b"), files, bpe_codes=line, **LANGUAGES)),
        ("glossaries", lambda: prepare(("a", "b"), files, glossaries=line, **LANGUAGES)),
        ("prefixes", lambda: translator.translate(LINES, prefixes=line)),
        ("lines", lambda: MarkupTranslator(translator, "html").translate(line)),
        ("metrics", lambda: evaluate([line], [line], metrics=line)),
        ("folders", lambda: calibrate(line, ("a", "b"))),
        ("overrides", lambda: train(files, files, overrides=line)),
        ("targets", lambda: Term("one", line)),
        ("forbidden", lambda: Term("one", forbidden=line)),
        ("pool", lambda: select(line, ("a", "b"), **LANGUAGES)),
        ("each of pool", lambda: select([line], ("a", "b"), **LANGUAGES)),
    ):
        with pytest.raises(TypeError, match=f"^{parameter} must be a list"):
            call()


def test_wrong_values_are_refused_before_any_work(translator, model, prepared, tmp_path):
    """Each is a ConfigError that names the argument, and nothing is written."""
    wrong: Any = "wrong"
    pair = ("a", "b")
    output = tmp_path / "output"
    scorer = Scorer.load(model, device="cpu")
    for name, call in (
        ("columns", lambda: translate_document(b"", "tsv", translator, columns=(0, 1))),
        ("case", lambda: prepare(pair, output, case=wrong, **LANGUAGES)),
        ("invalid", lambda: prepare(pair, output, invalid=wrong, **LANGUAGES)),
        ("tokenizer", lambda: prepare(pair, output, tokenizer=wrong, **LANGUAGES)),
        ("markup", lambda: prepare(pair, output, markup=wrong, **LANGUAGES)),
        ("workers", lambda: prepare(pair, output, workers=0, **LANGUAGES)),
        ("held_out", lambda: prepare(pair, output, held_out=2.5, **LANGUAGES)),  # type: ignore[arg-type]
        ("side", lambda: select([pair], pair, side=wrong, **LANGUAGES)),
        ("invalid", lambda: select([pair], pair, invalid=wrong, **LANGUAGES)),
        ("updates", lambda: train(prepared, output, updates=2.5)),  # type: ignore[arg-type]
        ("updates", lambda: train(prepared, output, updates=True)),
        ("time", lambda: train(prepared, output, time="soon")),
        ("training.seed", lambda: train(prepared, output, settings={"training.seed": None})),
        ("updates", lambda: adapt(model, pair, output, updates=-1)),
        ("time", lambda: adapt(model, pair, output, time="soon")),
        ("seed", lambda: adapt(model, pair, output, seed=-1)),
        ("precision", lambda: Translator.load(model, precision=wrong)),
        ("batch_size", lambda: Translator.load(model, batch_size=0)),
        ("mode", lambda: translator.with_terms(None, wrong)),
        ("side", lambda: Embedder.load(model, device="cpu").embed_words(wrong)),
        ("max_words", lambda: Segmenter.load(model, None, max_words=0)),
        ("there is no metric 'blue'", lambda: evaluate(["a"], ["a"], metrics=["blue"])),
        ("rounds", lambda: Aligner(scorer).align([], rounds=-1)),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=f"^{name}"):
            call()
    assert not output.exists()


def test_lines_that_are_no_strings_are_refused(model):
    nothing: Any = None
    with pytest.raises(TypeError, match="^each of lines"):
        list(Embedder.load(model, device="cpu").embed([nothing]))
    with pytest.raises(TypeError, match="^each line of pairs"):
        list(Scorer.load(model, device="cpu").score([("one", nothing)]))


def test_numbers_of_numpy_are_numbers(translator, prepared, small, tmp_path):
    """A model folder that was trained with them can be loaded."""
    overrides = [word for word in small if "=" in word]
    settings = {"training.seed": np.int64(2), "training.learning_rate": np.float32(0.5)}
    result = train(
        prepared,
        tmp_path / "model",
        "toy",
        overrides=overrides,
        settings=settings,
        updates=np.int64(1),  # type: ignore[arg-type]
        device="cpu",
    )
    assert result.updates == 1 and next(Translator.load(result.folder).translate(["one"]))
    lists = list(translator.translate(LINES, beam=np.int64(2), n_best=np.int32(2)))
    assert len(lists[0]) == 2


def test_the_callers_random_numbers_stay_as_they_are(prepared, small, tmp_path):
    overrides = [word for word in small if "=" in word]
    torch.manual_seed(7)
    expected = torch.rand(3).tolist()
    torch.manual_seed(7)
    train(prepared, tmp_path / "model", "toy", overrides=overrides, updates=1, device="cpu")
    assert torch.rand(3).tolist() == expected


def test_a_translator_says_that_it_cannot_be_pickled(translator):
    with pytest.raises(TypeError, match="load it in each process"):
        pickle.dumps(translator)


def test_a_worker_of_multiprocessing_translates(model):
    """Such a process may have no child processes of its own."""
    lines = ["one two three"] * 40
    expected = [n_best[0].text for n_best in Translator.load(model, device="cpu").translate(lines)]
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        assert pool.apply(translate_with_two_threads, (model, lines)) == expected


def translate_with_two_threads(model, lines):
    torch.set_num_threads(2)
    return [n_best[0].text for n_best in Translator.load(model, device="cpu").translate(lines)]


@pytest.mark.parametrize("stdin", [False, True])
def test_a_script_that_prepares_with_workers_runs_once(corpus, tmp_path, stdin):
    """Torch is loaded, so that workers are not forks; the script has no guard of `__main__`."""
    files = (str(corpus / "train.en"), str(corpus / "train.fr"))
    options = {"subword": "none", "language_check": False, **LANGUAGES}
    code = f"""
import torch
from nmtkit import prepare
from nmtkit.preprocessing import folder_writer as module

module.BLOCK_LINES = 5
print("the script runs")
prepare({files!r}, {str(tmp_path / "two")!r}, workers=2, **{options!r})
"""
    script = tmp_path / "script.py"
    script.write_text(code, encoding="utf-8")
    completed = subprocess.run(
        [sys.executable, "-" if stdin else str(script)],
        input=code if stdin else None,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.splitlines() == ["the script runs"]
    prepare(files, tmp_path / "one", **options)
    for name in ("train.src", "train.tgt"):
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_a_users_mistake_is_an_nmtkit_error(tmp_path):
    assert issubclass(nmtkit.ConfigError, NmtkitError)
    with pytest.raises(NmtkitError, match="nowhere"):
        Translator.load(tmp_path / "nowhere")


def test_a_markup_that_does_not_exist_is_named(translator):
    with pytest.raises(ConfigError, match="no markup is called 'md'; there are html, xml"):
        MarkupTranslator(translator, markup="md")


def test_other_types_are_named(translator):
    numbers: Any = [5]
    with pytest.raises(TypeError, match="^each of lines must be str, not int"):
        list(translator.translate(numbers))
    text: Any = "<p>one"
    with pytest.raises(TypeError, match="^data must be bytes, not str"):
        translate_document(text, "html", translator)


def test_search_settings_have_the_fields_and_types_of_the_search_config():
    assert list(SearchSettings.__annotations__) == list(SearchConfig.__dataclass_fields__)
    assert get_type_hints(SearchSettings) == get_type_hints(SearchConfig)


def test_the_default_type_of_torch_does_not_matter(model):
    """A program may have set it to float64 before it loads a model."""

    pairs = [(line, line) for line in LINES]

    def results() -> list[Any]:
        translator = Translator.load(model, device="cpu")
        begun = translator.translate(LINES, prefixes=["u", "", "s"], alignments=True)
        return [
            [one.text for (one,) in translator.translate(LINES)],
            [one.text for (one,) in begun],
            [score.log_prob for score in Scorer.load(model, device="cpu").score(pairs)],
        ]

    before = results()
    torch.set_default_dtype(torch.float64)
    try:
        assert results() == before
    finally:
        torch.set_default_dtype(torch.float32)


def test_files_of_merges_are_paths_or_strings(corpus, tmp_path):
    codes = tmp_path / "codes"
    codes.write_text("#version: 0.2\nt h\n", encoding="utf-8")
    files = corpus / "train.en", corpus / "train.fr"
    one, two = (
        prepare(files, tmp_path / name, held_out=2, bpe_codes=[path], **LANGUAGES)
        for name, path in (("one", codes), ("two", str(codes)))
    )
    assert one["outputs"] == two["outputs"]


def test_results_with_alignments_can_be_compared(translator, model):
    one, two = (list(translator.translate(LINES, alignments=True)) for _ in range(2))
    assert one == two and one[0] != one[2]
    scorer = Scorer.load(model, device="cpu")
    score, same = (list(scorer.score([("one", "un")], alignments=True)) for _ in range(2))
    assert score == same
