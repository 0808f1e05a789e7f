"""A report holds the models' results; incompatible inputs are refused."""

import dataclasses
import logging
import shlex

import pytest
import torch

from nmtkit.errors import ConfigError, DataError
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.translator import Translator
from nmtkit.io.parameters import parameters_of, write_parameters
from nmtkit.model_folder import load_model
from nmtkit.models.rnnenc import RNNencConfig
from nmtkit.new_model_folder import new_model_folder
from nmtkit.report.model_card import NOT_RECORDED, describe_model
from nmtkit.report.model_report import ReportSettings, build_report, evaluation_commands
from nmtkit.report.page import render_page
from nmtkit.report.sentences import pack_sentences
from nmtkit.text.subword.bpe import BPE
from nmtkit.training.provenance import provenance_of

SOURCES = ["a b c d", "e", "", "c c a unknown", "b a."]
REFERENCES = ["v w", "x y z", "v", "w w", ""]
MERGES = BPE.learn({"ab": 9, "cd": 5, "vw": 9}, 3)
FEW = ReportSettings(samples=20, device="cpu")


@pytest.fixture
def saved(make_model, tmp_path):
    """`saved("name", seed, origin=None, text={}, **options)` writes a small model folder."""

    def save(name, seed=1, origin=None, text=None, bpe=None, **options):
        loaded = make_model(seed, bpe=bpe, **options)
        prepared = tmp_path / f"prepared-{name.replace('/', '-')}"
        prepared.mkdir()
        for side, vocabulary in (("src", loaded.src_vocab), ("tgt", loaded.tgt_vocab)):
            with open(prepared / f"vocab.{side}", "w") as file:
                vocabulary.write(file)
            if bpe:
                bpe.save(prepared / f"bpe.{side}")
        config = dataclasses.replace(
            loaded.config, text=dataclasses.replace(loaded.config.text, **(text or {}))
        )
        folder = tmp_path / name
        with new_model_folder(folder, config, prepared, origin):
            pass
        write_parameters(folder / "params.best.safetensors", parameters_of(loaded.model))
        return folder

    return save


@pytest.fixture
def test_set(tmp_path):
    """Write the files of a test set."""
    paths = tmp_path / "test.en", tmp_path / "test.fr"
    for path, lines in zip(paths, (SOURCES, REFERENCES), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    return paths


def test_outputs_equal_the_translators(saved, test_set):
    folder = saved("model")
    report = build_report([folder], test_set, FEW)
    translator = Translator.load(folder, device="cpu")
    expected = list(translator.translate(SOURCES, 4, alignments=True))  # a beam of 4
    assert list(report.outputs) == ["model"]
    for output, (best, *alternatives) in zip(report.outputs["model"], expected, strict=True):
        assert output.best and output.alignment and best.word_alignment
        assert output.line.text == best.text and output.line.words == best.tokens
        assert output.best.score == pytest.approx(best.score, rel=1e-5)
        assert output.best.word_scores == pytest.approx(best.word_scores, rel=1e-4, abs=1e-5)
        assert output.alignment.columns == best.word_alignment.columns
        assert torch.allclose(output.alignment.matrix, best.word_alignment.matrix, atol=1e-5)
        assert [o.tokens for o in output.alternatives] == [o.tokens for o in alternatives]
        assert all(o.alignment is None for o in output.alternatives)
    assert [line.words for line in report.sources][4] == ["b", "a", "."]
    assert report.model_cards[0].aligns


def test_a_report_with_an_unaligned_model_and_a_file(saved, test_set, tmp_path):
    sizes = RNNencConfig(embedding=6, hidden=8, maxout=4)
    enc, search = saved("enc", sizes=sizes), saved("search")
    (tmp_path / "other").write_text("".join(f"{line}\n" for line in REFERENCES))
    settings = dataclasses.replace(FEW, systems=(("Other", str(tmp_path / "other")),))
    report = build_report([enc, search], test_set, settings)
    assert [card.aligns for card in report.model_cards] == [False, True, False]
    assert all(output.alignment is None for output in report.outputs["enc"])
    assert [output.line.text for output in report.outputs["Other"]] == REFERENCES
    assert report.sentence_scores["Other"][:2] == [100.0, 100.0]
    result = report.comparison.whole
    assert result.figures["TER"]["Other"].value == 0.0
    assert (
        report.by_bucket.whole.figures["BLEU (multi-bleu)"] == result.figures["BLEU (multi-bleu)"]
    )
    assert (
        len(evaluation_commands(report)) == 4
        and "--system Other Other.hyp" in evaluation_commands(report)[0]
    )
    assert render_page(report, evaluation_commands(report)) == render_page(
        report, evaluation_commands(report)
    )


def test_subwords_are_joined(saved, test_set, tmp_path):
    src = "a b c d e a@@ b@@ c@@ d@@ ab cd </w>"
    folder = saved("bpe", bpe=MERGES, src=src, tgt="v w x v@@ w@@ x@@ vw")
    report = build_report([folder], test_set, FEW)
    for output in report.outputs["bpe"]:
        assert output.best and output.alignment
        words = " ".join(output.best.tokens).replace("@@ ", "").removesuffix("@@").split(" ")
        assert output.line.words == [word for word in words if word]
        assert len(output.alignment.tgt_words) == len(output.line.words)
    assert {level.bucketing.by for level in report.by_bucket.buckets} == {"length"}
    assert (
        "the shortlist holds subwords" in report.left_out[0]
        and len(evaluation_commands(report)) == 2
    )
    assert report.left_out[0] in render_page(report, [])


def test_each_model_uses_its_own_subwords(saved, test_set):
    """The first model has no subwords, the second has."""
    src, tgt = "a b c d e a@@ b@@ c@@ d@@ ab cd </w>", "v w x v@@ w@@ x@@ vw"
    report = build_report(
        [saved("words"), saved("bpe", bpe=MERGES, src=src, tgt=tgt)], test_set, FEW
    )
    best = [output.best for output in report.outputs["bpe"] if output.best]
    pieces = [token for translation in best for token in translation.tokens]
    assert any(token.endswith("@@") for token in pieces)
    words = [word for output in report.outputs["bpe"] for word in output.line.words]
    assert words and not any(word.endswith("@@") for word in words)


def test_escaped_words_are_shown_unescaped(saved, tmp_path):
    vocabulary = "&apos;d &quot; & l d"
    folder = saved("escaped", text={"escape": True}, src=vocabulary, tgt=vocabulary)
    for name in ("src", "ref"):
        (tmp_path / name).write_text('l\'d "l"\n')
    report = build_report([folder], (tmp_path / "src", tmp_path / "ref"), FEW)
    assert report.sources[0].words == ["l", "'d", '"', "l", '"']
    assert "&apos;" not in pack_sentences(report, 5_000_000).text and "escape" in report.left_out[0]


def test_words_in_another_case_are_not_looked_up(saved, test_set):
    report = build_report([saved("markers", text={"case": "markers"})], test_set, FEW)
    assert "another case" in report.left_out[0]
    assert {level.bucketing.by for level in report.by_bucket.buckets} == {"length"}


@pytest.mark.parametrize(
    ("text", "key"),
    [({"tgt_language": "de"}, "tgt_language"), ({"tokenized": True}, "tokenized")],
)
def test_models_with_different_text_settings_are_refused(saved, test_set, text, key):
    folders = [saved("one"), saved("two", text=text)]
    with pytest.raises(ConfigError, match=f"one has text.{key} = .*, two has"):
        build_report(folders, test_set, FEW)


def test_models_are_named_after_their_folders(saved, test_set):
    folders = [saved("a/model"), saved("b/model")]
    report = build_report(folders, test_set, FEW)
    assert [card.name for card in report.model_cards] == [str(folder) for folder in folders]
    names = [shlex.split(evaluation_commands(report)[0])[n] for n in (2, 8)]
    assert names == [f"{str(folder).replace('/', '_')}.hyp" for folder in folders]
    with pytest.raises(ConfigError, match="two systems are called 'model'"):
        systems = (("model", str(test_set[1])),)
        build_report(folders[:1], test_set, dataclasses.replace(FEW, systems=systems))
    with pytest.raises(ConfigError, match="name a model folder"):
        build_report([], test_set, FEW)


def test_search_settings_apply_to_all_models(saved, test_set):
    report = build_report([saved("model")], test_set, dataclasses.replace(FEW, search={"beam": 2}))
    assert all(len(output.alternatives) <= 1 for output in report.outputs["model"])
    assert report.model_cards[0].facts["Search"].startswith("beam 2, ")
    fewer = build_report(
        [report.model_cards[0].source], test_set, dataclasses.replace(FEW, n_best=1)
    )
    assert not any(output.alternatives for output in fewer.outputs["model"])


def test_unexpected_tokenised_text_is_logged(saved, tmp_path, caplog):
    for name in ("src", "ref"):
        (tmp_path / name).write_text("a b .\n" * 6)
    folder, both = saved("model"), (tmp_path / "src", tmp_path / "ref")
    with caplog.at_level(logging.WARNING, "nmtkit"):
        build_report([folder], both, FEW)
        assert "add --tokenized" in caplog.text
        caplog.clear()
        report = build_report([folder], both, dataclasses.replace(FEW, tokenized=True))
        assert caplog.text == ""
    assert (
        report.references[0].text == "a b ."
        and "--tokenized -t fr" in evaluation_commands(report)[0]
    )


def test_a_system_in_another_form_than_the_reference_is_a_caution(saved, tmp_path, caplog):
    """As `evaluate` warns: the verdict on such a file is worth little."""
    (tmp_path / "src").write_text("a b.\n" * 6)
    (tmp_path / "ref").write_text("l'v w.\n" * 6)
    (tmp_path / "moses.fr").write_text("l &apos;v w .\n" * 6)
    system = ("Moses", str(tmp_path / "moses.fr"))
    report = build_report(
        [saved("model")],
        (tmp_path / "src", tmp_path / "ref"),
        dataclasses.replace(FEW, systems=(system,)),
    )
    escaped, tokenised = report.cautions
    assert "moses.fr looks escaped" in escaped and "moses.fr looks tokenised" in tokenised
    assert all(caution in caplog.text for caution in report.cautions)
    page = render_page(report, [])
    assert page.index("<dt>Caution</dt>") < page.index(tokenised) < page.index("<dt>How sure?")


def test_an_empty_test_set_is_an_error(saved, tmp_path):
    (tmp_path / "none").write_text("")
    with pytest.raises(DataError, match="is empty"):
        build_report([saved("model")], (tmp_path / "none", tmp_path / "none"), FEW)


def test_a_model_card_names_the_subword_method(saved, make_model, tmp_path):
    folder = saved("bpe", bpe=MERGES)
    model = Ensemble((load_model(folder, "cpu"),)).first
    facts = describe_model("name", folder, model, model.config.search, True).facts
    assert facts["Shortlists"].endswith("subwords (BPE)")
    assert facts["Text"] == "tokenised by Moses's rules"
    (folder / "bpe.src").rename(folder / "sentencepiece.src")
    text = dataclasses.replace(model.config.text, raw=True)
    raw = dataclasses.replace(model, config=dataclasses.replace(model.config, text=text))
    facts = describe_model("name", folder, raw, model.config.search, True).facts
    assert facts["Shortlists"].endswith("subwords (SentencePiece)")
    assert facts["Text"] == "not tokenised"


MANIFEST = {"splits": {"train": {"pairs": 29000}}, "inputs": {"-": None}, "outputs": {}}


def test_a_model_card_has_recorded_facts_and_names_missing_ones(saved):
    old, new = (
        saved("old"),
        saved("new", origin=provenance_of("nmtkit train x", MANIFEST, {}, "cpu")),
    )
    model_cards = []
    for folder in (old, new):
        model = Ensemble((load_model(folder, "cpu"),)).first
        model_cards.append(describe_model("name", folder, model, model.config.search, True))
    assert model_cards[0].facts["Provenance"] == NOT_RECORDED
    assert "Provenance" not in model_cards[1].facts
    assert model_cards[1].facts["Command"] == "nmtkit train x"
    assert model_cards[1].facts["Data"] == "29,000 train pairs"
    assert model_cards[1].checksums["-"] == "read from stdin"
    assert len(model_cards[1].checksums["params.best.safetensors"]) == 64
    assert model_cards[0].curve is None and "metrics.jsonl" in model_cards[0].facts["Training"]
    metrics = (
        '{"kind": "validation", "update": 1500, "epoch": 2.5, "seconds": 8000, "best": true,'
        ' "dev_cost_per_token": 1.5, "dev_cost_per_sentence": 9.0, "dev_bleu": 30.125}\n'
    )
    (old / "metrics.jsonl").write_text(metrics)
    facts = describe_model("name", old, model, model.config.search, True).facts
    assert facts["Training"] == "1,500 updates, 2.50 epochs, 2.2 hours"
    assert facts["Best validation"] == "update 1,500: dev cost 1.5000 per token, dev BLEU 30.12"
