"""What is gathered for a report is what the model gives; what does not go together is told."""

import dataclasses
import logging
import shlex

import pytest
import torch

from nmtkit.errors import ConfigError, DataError
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.translator import Translator
from nmtkit.io.parameters import parameters_of, write_parameters
from nmtkit.model_folder import create_model_folder, load_model
from nmtkit.models.rnnenc import RNNencConfig
from nmtkit.report.model_card import NOT_RECORDED, card_of_model
from nmtkit.report.model_report import Settings, commands_of, gather
from nmtkit.report.page import page
from nmtkit.report.sentences import pack
from nmtkit.text.subword.bpe import BPE
from nmtkit.training.provenance import provenance_of

SOURCES = ["a b c d", "e", "", "c c a unknown", "b a."]
REFERENCES = ["v w", "x y z", "v", "w w", ""]
MERGES = BPE.learn({"ab": 9, "cd": 5, "vw": 9}, 3)
FEW = Settings(samples=20, device="cpu")


@pytest.fixture
def saved(make_model, tmp_path):
    """`saved("name", seed, origin=None, text={}, **options)`: the folder of a small model."""

    def save(name, seed=1, origin=None, text=None, bpe=None, **options):
        made = make_model(seed, bpe=bpe, **options)
        prepared = tmp_path / f"prepared-{name.replace('/', '-')}"
        prepared.mkdir()
        for side, vocabulary in (("src", made.src_vocab), ("tgt", made.tgt_vocab)):
            with open(prepared / f"vocab.{side}", "w") as file:
                vocabulary.write(file)
            if bpe:
                bpe.save(prepared / f"bpe.{side}")
        config = dataclasses.replace(
            made.config, text=dataclasses.replace(made.config.text, **(text or {}))
        )
        folder = tmp_path / name
        create_model_folder(folder, config, prepared, origin)
        write_parameters(folder / "params.best.safetensors", parameters_of(made.model))
        return folder

    return save


@pytest.fixture
def test_set(tmp_path):
    """The files of a test set."""
    paths = tmp_path / "test.en", tmp_path / "test.fr"
    for path, lines in zip(paths, (SOURCES, REFERENCES), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    return paths


def test_outputs_are_those_of_the_translator(saved, test_set):
    folder = saved("model")
    found = gather([folder], test_set, FEW)
    translator = Translator.load(folder, device="cpu")
    expected = list(translator.translate(SOURCES, 4, alignments=True))  # a beam of 4
    assert list(found.outputs) == ["model"]
    for output, (best, *others) in zip(found.outputs["model"], expected, strict=True):
        assert output.best and output.alignment and best.word_alignment
        assert output.line.text == best.text and output.line.words == best.tokens
        assert output.best.score == pytest.approx(best.score, rel=1e-5)
        assert output.best.word_scores == pytest.approx(best.word_scores, rel=1e-4, abs=1e-5)
        assert output.alignment.columns == best.word_alignment.columns
        assert torch.allclose(output.alignment.matrix, best.word_alignment.matrix, atol=1e-5)
        assert [o.tokens for o in output.others] == [o.tokens for o in others]
        assert all(o.alignment is None for o in output.others)
    assert [line.words for line in found.sources][4] == ["b", "a", "."]
    assert found.accounts[0].aligns


def test_a_model_without_alignments_and_a_file(saved, test_set, tmp_path):
    sizes = RNNencConfig(embedding=6, hidden=8, maxout=4)
    enc, search = saved("enc", sizes=sizes), saved("search")
    (tmp_path / "other").write_text("".join(f"{line}\n" for line in REFERENCES))
    settings = dataclasses.replace(FEW, systems=(("Other", str(tmp_path / "other")),))
    found = gather([enc, search], test_set, settings)
    assert [account.aligns for account in found.accounts] == [False, True, False]
    assert all(output.alignment is None for output in found.outputs["enc"])
    assert [output.line.text for output in found.outputs["Other"]] == REFERENCES
    assert found.qualities["Other"][:2] == [100.0, 100.0]
    whole = found.comparison.whole
    assert whole.figures["TER"]["Other"].value == 0.0
    assert found.parts.whole.figures["BLEU (multi-bleu)"] == whole.figures["BLEU (multi-bleu)"]
    assert len(commands_of(found)) == 4 and "--system Other Other.hyp" in commands_of(found)[0]
    assert page(found, commands_of(found)) == page(found, commands_of(found))


def test_pieces_of_words_are_put_together(saved, test_set, tmp_path):
    src = "a b c d e a@@ b@@ c@@ d@@ ab cd </w>"
    folder = saved("bpe", bpe=MERGES, src=src, tgt="v w x v@@ w@@ x@@ vw")
    found = gather([folder], test_set, FEW)
    for output in found.outputs["bpe"]:
        assert output.best and output.alignment
        words = " ".join(output.best.tokens).replace("@@ ", "").removesuffix("@@").split(" ")
        assert output.line.words == [word for word in words if word]
        assert len(output.alignment.tgt_words) == len(output.line.words)
    assert {level.bucketing.by for level in found.parts.buckets} == {"length"}
    assert "pieces of words" in found.left_out[0] and len(commands_of(found)) == 2
    assert found.left_out[0] in page(found, [])


def test_each_model_has_pieces_of_its_own(saved, test_set):
    """Also where the first one has none."""
    src, tgt = "a b c d e a@@ b@@ c@@ d@@ ab cd </w>", "v w x v@@ w@@ x@@ vw"
    found = gather([saved("words"), saved("bpe", bpe=MERGES, src=src, tgt=tgt)], test_set, FEW)
    best = [output.best for output in found.outputs["bpe"] if output.best]
    pieces = [token for translation in best for token in translation.tokens]
    assert any(token.endswith("@@") for token in pieces)
    words = [word for output in found.outputs["bpe"] for word in output.line.words]
    assert words and not any(word.endswith("@@") for word in words)


def test_escaped_words_are_shown_as_characters(saved, tmp_path):
    vocabulary = "&apos;d &quot; & l d"
    folder = saved("escaped", text={"escape": True}, src=vocabulary, tgt=vocabulary)
    for name in ("src", "ref"):
        (tmp_path / name).write_text('l\'d "l"\n')
    found = gather([folder], (tmp_path / "src", tmp_path / "ref"), FEW)
    assert found.sources[0].words == ["l", "'d", '"', "l", '"']
    assert "&apos;" not in pack(found).text and "escape" in found.left_out[0]


@pytest.mark.parametrize(
    ("text", "key"),
    [({"tgt_language": "de"}, "tgt_language"), ({"tokenized": True}, "tokenized")],
)
def test_models_of_other_text_do_not_go_together(saved, test_set, text, key):
    folders = [saved("one"), saved("two", text=text)]
    with pytest.raises(ConfigError, match=f"one has text.{key} = .*, two has"):
        gather(folders, test_set, FEW)


def test_models_are_called_by_their_folders(saved, test_set):
    folders = [saved("a/model"), saved("b/model")]
    found = gather(folders, test_set, FEW)
    assert [account.name for account in found.accounts] == [str(folder) for folder in folders]
    names = [shlex.split(commands_of(found)[0])[n] for n in (2, 8)]
    assert names == [f"{str(folder).replace('/', '_')}.hyp" for folder in folders]
    with pytest.raises(ConfigError, match="two systems are called 'model'"):
        systems = (("model", str(test_set[1])),)
        gather(folders[:1], test_set, dataclasses.replace(FEW, systems=systems))
    with pytest.raises(ConfigError, match="name a model folder"):
        gather([], test_set, FEW)


def test_settings_of_search_hold_for_all(saved, test_set):
    found = gather([saved("model")], test_set, dataclasses.replace(FEW, search={"beam": 2}))
    assert all(len(output.others) <= 1 for output in found.outputs["model"])
    assert found.accounts[0].facts["Search"].startswith("beam 2, ")
    fewer = gather([found.accounts[0].source], test_set, dataclasses.replace(FEW, n_best=1))
    assert not any(output.others for output in fewer.outputs["model"])


def test_tokenised_text_is_told_where_it_is_not_expected(saved, tmp_path, caplog):
    for name in ("src", "ref"):
        (tmp_path / name).write_text("a b .\n" * 6)
    folder, both = saved("model"), (tmp_path / "src", tmp_path / "ref")
    with caplog.at_level(logging.WARNING, "nmtkit"):
        gather([folder], both, FEW)
        assert "add --tokenized" in caplog.text
        caplog.clear()
        found = gather([folder], both, dataclasses.replace(FEW, tokenized=True))
        assert caplog.text == ""
    assert found.references[0].text == "a b ." and "--detokenize fr" in commands_of(found)[0]


def test_an_empty_test_set_is_an_error(saved, tmp_path):
    (tmp_path / "none").write_text("")
    with pytest.raises(DataError, match="is empty"):
        gather([saved("model")], (tmp_path / "none", tmp_path / "none"), FEW)


MANIFEST = {"splits": {"train": {"pairs": 29000}}, "inputs": {"-": None}, "outputs": {}}


def test_an_account_has_what_is_noted_and_says_what_is_not(saved):
    old, new = saved("old"), saved("new", origin=provenance_of("nmtkit train x", MANIFEST, "cpu"))
    accounts = []
    for folder in (old, new):
        model = Ensemble((load_model(folder, "cpu"),)).first
        accounts.append(card_of_model("name", folder, model, model.config.search, True))
    assert accounts[0].facts["Origin"] == NOT_RECORDED
    assert "Origin" not in accounts[1].facts
    assert accounts[1].facts["Command"] == "nmtkit train x"
    assert accounts[1].facts["Data"] == "29,000 train pairs"
    assert accounts[1].checksums["-"] == "read from stdin"
    assert len(accounts[1].checksums["params.best.safetensors"]) == 64
    assert accounts[0].curve is None and "metrics.jsonl" in accounts[0].facts["Training"]
    metrics = (
        '{"kind": "validation", "update": 1500, "epoch": 2.5, "seconds": 8000, "best": true,'
        ' "dev_cost_per_token": 1.5, "dev_cost_per_sentence": 9.0, "dev_bleu": 30.125}\n'
    )
    (old / "metrics.jsonl").write_text(metrics)
    facts = card_of_model("name", old, model, model.config.search, True).facts
    assert facts["Training"] == "1,500 updates, 2.50 epochs, 2.2 hours"
    assert facts["Best validation"] == "update 1,500: dev cost 1.5000 per token, dev BLEU 30.12"
