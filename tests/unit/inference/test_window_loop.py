"""Windows one after the other: cores share them, and results come before all lines are read."""

import sys

import pytest
import torch

from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.translator import Translator
from nmtkit.inference.window_loop import MIN_LINES_PER_CORE
from nmtkit.parallel import fork
from nmtkit.search.beam import search_batches
from tests.unit.inference.random_lines import random_lines


@pytest.mark.parametrize("forks", [True, False])
@pytest.mark.parametrize("quantize", [False, True])
def test_translations_do_not_depend_on_the_number_of_cores(
    make_model, monkeypatch, quantize, forks
):
    if forks and sys.platform != "linux":
        pytest.skip("forks are for Linux")
    monkeypatch.setattr(fork, "can_fork", lambda: forks)
    lines = random_lines(3 * MIN_LINES_PER_CORE + 3)
    ensemble = Ensemble((make_model(1), make_model(2)))
    results = []
    for cores in (1, 3, 2):
        torch.set_num_threads(cores)
        translator = Translator(ensemble, batch_size=4, quantize=quantize)
        results.append(list(translator.translate(lines, n_best=2, alignments=True)))
        samples = translator.sample(lines, n=2)
        results[-1] += list(samples)
        assert torch.get_num_threads() == cores
    for expected, *other_results in zip(*results, strict=True):
        for actual in other_results:
            assert [t.text for t in actual] == [t.text for t in expected]
            assert [t.score for t in actual] == pytest.approx([t.score for t in expected], abs=1e-5)
            for t, expected_translation in zip(actual, expected, strict=True):
                assert (t.alignment is None) == (expected_translation.alignment is None)
                if t.alignment is not None:
                    torch.testing.assert_close(t.alignment, expected_translation.alignment)


def test_results_come_before_all_lines_are_read(translator):
    def lines():
        yield from ["a b"] * translator.window
        raise AssertionError("read too far")

    results = translator.translate(lines())
    assert all(next(results)[0].text for _ in range(translator.window))


def test_a_line_that_comes_alone_is_searched_with_one_thread(translator, monkeypatch):
    threads: list[int] = []

    def counted(*arguments):
        threads.append(torch.get_num_threads())
        return search_batches(*arguments)

    monkeypatch.setattr("nmtkit.inference.window_search.search_batches", counted)
    torch.set_num_threads(2)
    for lines in (["a b"], ["a b", "b c"]):
        list(translator.translate(lines))
    assert threads == [1, 2]
