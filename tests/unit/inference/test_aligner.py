"""Alignments of pairs by a model, and the links that are learned from all of them."""

import io
from collections import Counter

import pytest
import torch

from nmtkit.inference import link_learning
from nmtkit.inference.aligner import Aligner, symmetric_links
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.symmetrization import Symmetrization
from nmtkit.text.lexicon import LinkCounts
from nmtkit.text.names import Names
from nmtkit.text.subword.bpe import BPE


def test_a_tag_is_the_first_word_of_each_source(make_model):
    model = make_model(1, src="<x> a b c d e", tags=("<x>",))
    aligner = Aligner(Scorer(Ensemble((model,))))
    (tagged,) = aligner.with_tag("<x>").align([("a b", "v w")])
    (expected,) = aligner.align([("<x> a b", "v w")])
    assert tagged.src_words == ["<x>", "a", "b"]
    assert torch.allclose(tagged.matrix, expected.matrix)


def test_aligned_words_are_the_names_themselves(make_model):
    model = make_model(1, src="a ❶ ❷", tgt="v ❶ ❷", names=Names({}))
    (alignment,) = Aligner(Scorer(Ensemble((model,)))).align([("a GI 77", "77 v")])
    assert (alignment.src_words, alignment.tgt_words) == (["a", "GI", "77"], ["77", "v"])


@pytest.mark.parametrize("bpe", [None, BPE([("a", "b</w>")])])
def test_rows_of_real_alignments_add_up(make_model, bpe):
    model = make_model(1, src="ab a b a@@ b@@ c", tgt="x y x@@ y@@", bpe=bpe)
    aligner = Aligner(Scorer(Ensemble((model,))))
    pairs = [("ab cab a", "xy y"), ("", "x"), ("abc", ""), ("", ""), ("a " * 40, "x y " * 30)]
    alignments = list(aligner.align(pairs))
    for (source, target), alignment in zip(pairs, alignments, strict=True):
        assert alignment.src_words == source.split() and alignment.tgt_words == target.split()
        rows, columns = len(target.split()) + 1, len(source.split()) + 1
        assert alignment.matrix.shape == (rows, columns)
        assert torch.allclose(alignment.matrix.sum(1), torch.ones(rows))
        expected = range(rows - 1) if source.split() else []
        assert [j for _, j in alignment.links()] == list(expected)


@pytest.mark.parametrize("bpe", [None, BPE([("a", "b</w>")])])
def test_links_are_counted_between_the_models_tokens(make_model, bpe):
    model = make_model(1, src="ab a b a@@ b@@ c", tgt="x y x@@ y@@", bpe=bpe)
    scorer = Scorer(Ensemble((model,)))
    pairs = [("ab cab a", "xy y"), ("", "x"), ("abc", ""), ("ab b", "x x")]
    expected: Counter[tuple[str, str]] = Counter()
    for score in scorer.score(pairs, alignments=True):
        if score.src_tokens and score.alignment is not None:
            for token, row in zip(score.tgt_tokens, score.alignment, strict=False):
                expected[score.src_tokens[int(row[:-1].argmax())], token] += 1
    counts, output = LinkCounts(), io.StringIO()
    assert len(list(Aligner(scorer).align(pairs, counts=counts, rounds=0))) == len(pairs)
    assert counts.write(output) == len(expected) > 1
    totals: Counter[str] = Counter()
    for (source, _), number in expected.items():
        totals[source] += number
    for line in output.getvalue().splitlines():
        target, source, share = line.split(" ")
        assert float(share) == pytest.approx(expected[source, target] / totals[source], abs=1e-6)


def test_pairs_whose_links_are_not_learned_have_none_in_the_other_direction(
    make_model, monkeypatch
):
    monkeypatch.setattr(link_learning, "MAX_SIDE_TOKENS", 3)
    aligner = Aligner(Scorer(Ensemble((make_model(1),))))
    pairs = [("a b c d", "v w x y"), ("a b", "v w")]
    union, _ = symmetric_links(aligner, None, pairs, Symmetrization.UNION)
    forward, _ = aligner.align(pairs)
    linked = [link for link in forward.links() if forward.is_linked(link[1])]
    assert union.links == sorted(linked)
