"""Lines whose terms are annotated, for models that were trained with annotated terms."""

from collections.abc import Callable

import pytest
import torch

from nmtkit.inference.confidence.estimator import FeatureReader
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.term_annotation import annotate, annotated_sources
from nmtkit.inference.terms import TermFinder
from nmtkit.inference.translator import Translator
from nmtkit.model_folder import LoadedModel
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.text.glossary import Glossary, Term
from nmtkit.text.term_words import with_term_words
from nmtkit.text.vocabulary import Vocabulary

MakeModel = Callable[..., LoadedModel]

TARGET = "w W x y z"


@pytest.fixture
def model(make_model: MakeModel) -> LoadedModel:
    """Return an untrained model that knows annotations."""
    tgt = Vocabulary(["</s>", "<unk>", *TARGET.split()])
    src = with_term_words(Vocabulary(["</s>", "<unk>", *"abcd"]), tgt)
    return make_model(1, src=" ".join(src.words[2:]), tgt=TARGET)


def test_translations_stand_in_the_place_of_terms() -> None:
    line = annotate(["a", "b", "c", "d"], [(1, 2), (3,)], [["<term>x"], ["<term>y", "<term>z"]])
    assert line.tokens == ["a", "<term>x", "<term>y", "<term>z"]
    assert line.origins == [0, 1, 3, 3] and line.length == 4
    assert line.positions((1, 2)) == (1,) and line.positions((3,)) == (2, 3)
    longer = annotate(["a", "b", "c"], [(1, 2)], [["<term>x", "<term>y", "<term>z"]])
    assert longer.origins == [0, 1, 1, 2]


def test_terms_that_share_a_token_or_have_none_are_left_out() -> None:
    line = annotate(["a", "b"], [(), (0, 1), (1,)], [["<term>w"], ["<term>x"], ["<term>y"]])
    assert line.tokens == ["<term>x"] and line.origins == [0]


def test_alignments_are_folded_to_the_tokens_of_the_line() -> None:
    line = annotate(["a", "b", "c"], [(1, 2)], [["<term>x", "<term>y", "<term>z"]])
    alignment = torch.tensor([[0.1, 0.2, 0.1, 0.3, 0.3], [1.0, 0, 0, 0, 0]])
    folded = line.on_line(Hypothesis([2, 0], -1.0, [-0.5, -0.5], True, alignment)).alignment
    torch.testing.assert_close(folded, torch.tensor([[0.1, 0.3, 0.3, 0.3], [1.0, 0, 0, 0]]))
    without = Hypothesis([2, 0], -1.0, [-0.5, -0.5], True)
    assert line.on_line(without) is without


def test_a_model_that_knows_annotations_gets_them(model: LoadedModel) -> None:
    finder = TermFinder(Glossary([Term("b c", ("x y", "z"))]), model)
    line = finder.find("a b c d", ["a", "b", "c", "d"])
    assert line.annotated is not None
    assert line.annotated.tokens == ["a", "<term>x", "<term>y", "d"]
    assert line.constraints.spans == ((1, 2),)
    assert finder.find("a d", ["a", "d"]).annotated is None


def test_other_models_read_lines_as_ever(model: LoadedModel, make_model: MakeModel) -> None:
    other = make_model(2, src="a b c d", tgt=TARGET)
    assert TermFinder(Glossary([Term("b", ("x",))]), other).find("b", ["b"]).annotated is None
    line = TermFinder(Glossary([Term("b", ("x",))]), model).find("a b", ["a", "b"])
    tokens = [["a", "b"], ["a", "b"], ["ab"]]
    members = Ensemble((model, other, model))
    assert line.annotated is not None
    assert annotated_sources(members, [tokens, tokens], [line.annotated, None]) == [
        [line.annotated.tokens, ["a", "b"], ["ab"]],
        tokens,
    ]


@pytest.mark.parametrize("n_best", [1, 3])
def test_translations_have_the_terms_and_alignments_with_the_line(
    model: LoadedModel, make_model: MakeModel, n_best: int
) -> None:
    """Ensembles, too, of which one model does not know annotations."""
    glossary = Glossary([Term("b", ("x",)), Term("d", ("y z",))])
    lines = ["a b c", "", "d", "a c"]
    for members in ((model,), (model, make_model(2, src="a b c d", tgt=TARGET))):
        plain = Translator(Ensemble(members))
        translator = plain.with_terms(glossary)
        found = [*translator.translate(lines, n_best=n_best, alignments=True)]
        for line, translations in zip(lines, found, strict=True):
            for translation in translations:
                assert not translation.missing_terms
                assert translation.src_tokens == line.split()
                assert translation.alignment is not None
                rows, columns = translation.alignment.shape
                assert columns == len(line.split()) + 1
                assert rows == len(translation.word_scores)
                torch.testing.assert_close(translation.alignment.sum(1), torch.ones(rows))
        assert "x" in found[0][0].tokens and "y" in found[2][0].tokens
        expected = [one.text for one in next(plain.translate(["a c"], n_best=n_best))]
        assert [one.text for one in found[3]] == expected


def test_scores_are_those_of_the_annotated_line(model: LoadedModel) -> None:
    translator = Translator(Ensemble((model,))).with_terms(Glossary([Term("b", ("x",))]))
    (translation,) = next(translator.translate(["a b c"]))
    ids = model.src_vocab.ids(["a", "<term>x", "c"])
    src = torch.tensor([[*ids, 0]])
    tgt = torch.tensor([[*model.tgt_vocab.ids(translation.tokens), 0]])
    scores = model.model.score(src, torch.ones_like(src).bool(), tgt, torch.ones_like(tgt).bool())
    assert float(scores.log_probs.sum()) == pytest.approx(translation.score, abs=1e-4)


def test_confidences_are_by_the_annotated_line(model: LoadedModel) -> None:
    class Reader(FeatureReader):
        def rate(self, model, lines, found, translations, tokenized):
            self.found = found
            return translations

    reader = Reader()
    translator = Translator(Ensemble((model,))).with_terms(Glossary([Term("b", ("y z",))]))
    (translation,) = next(translator.with_features(reader).translate(["a b c"]))
    values, attention = reader.found[0][0].evidence
    assert values[:, 0].tolist() == pytest.approx(translation.word_scores, abs=1e-5)
    assert attention.shape == (len(values), len(translation.src_tokens) + 1)


def test_soft_terms_and_samples_are_told_to_the_model_too(model: LoadedModel) -> None:
    glossary = Glossary([Term("b", ("x",))])
    soft = Translator(Ensemble((model,))).with_terms(glossary, "soft")
    hard = Translator(Ensemble((model,))).with_terms(glossary)
    assert len([*soft.translate(["a b", "c"])]) == 2
    samples = [*hard.sample(["a b"], n=3)]
    assert len(samples[0]) == 3 and all(one.src_tokens == ["a", "b"] for one in samples[0])
