"""Tasks in threads: results in order, one core each, errors told."""

import functools
import threading

import pytest
import torch

from nmtkit.workers import in_threads


@pytest.fixture
def three_cores():
    cores = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(cores)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_results_are_in_the_order_of_tasks(count):
    assert in_threads([functools.partial(pow, n, 2) for n in range(count)]) == [
        n * n for n in range(count)
    ]


def test_tasks_run_at_the_same_time_each_on_one_core(three_cores):
    together = threading.Barrier(3)

    def task():
        together.wait(timeout=30)
        return threading.get_ident(), torch.get_num_threads()

    found = in_threads([task] * 3)
    assert len({thread for thread, _ in found}) == 3
    assert [cores for _, cores in found] == [1, 1, 1]
    assert torch.get_num_threads() == 3


def test_one_task_has_all_cores(three_cores):
    assert in_threads([torch.get_num_threads]) == [3]


@pytest.mark.parametrize("bad", [0, 1])
def test_an_error_is_raised_after_all_have_ended(three_cores, bad):
    ended = []

    def task(number):
        if number >= bad:
            raise ValueError(number)
        ended.append(number)

    with pytest.raises(ValueError, match=str(bad)):
        in_threads([functools.partial(task, n) for n in range(3)])
    assert ended == list(range(bad))
    assert torch.get_num_threads() == 3
