"""Results are in the order of the items, with any number of processes."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from nmtkit.errors import DataError, NmtkitError
from nmtkit.parallel.process_pool import ProcessPool
from tests.unit.parallel.worker_ends import assert_worker_ends_with

HOLDER = """
import os, time
from nmtkit.parallel.process_pool import ProcessPool
def own_id(_):
    return os.getpid()
with ProcessPool(2) as pool:
    print(next(pool.imap(own_id, [1, 2])), flush=True)
    time.sleep(60)
"""


def square(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def fail_at_five(number: int) -> int:
    if number == 5:
        raise DataError("five: is bad; choose another")
    return number


def die(number: int) -> int:
    os._exit(number)


@pytest.fixture(scope="module")
def two() -> Iterator[ProcessPool]:
    with ProcessPool(2) as workers:
        yield workers


def test_results_do_not_depend_on_the_number_of_workers(two: ProcessPool) -> None:
    with ProcessPool(1) as one:
        alone = list(one.imap(square, range(40)))
    shared = list(two.imap(square, range(40)))
    assert [value for value, _ in alone] == [value for value, _ in shared]
    assert {process for _, process in alone} == {os.getpid()}
    assert os.getpid() not in {process for _, process in shared}


@pytest.mark.parametrize("count", [0, 1])
def test_no_worker_starts_for_a_single_item(count: int) -> None:
    with ProcessPool(2) as pool:
        assert [process for _, process in pool.imap(square, range(count))] == [os.getpid()] * count


def test_workers_that_run_also_take_a_single_item(two: ProcessPool) -> None:
    list(two.imap(square, range(3)))
    assert [process != os.getpid() for _, process in two.imap(square, range(1))] == [True]


def test_items_are_read_as_they_are_needed(two: ProcessPool) -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    results = two.imap(square, items())
    next(results)
    assert len(taken) < 20
    results.close()


def test_an_error_in_a_worker_is_raised(two: ProcessPool) -> None:
    seen = []
    with pytest.raises(DataError, match="five: is bad"):
        for number in two.imap(fail_at_five, range(100)):
            seen.append(number)
    assert seen == [0, 1, 2, 3, 4]
    assert list(two.imap(fail_at_five, range(5))) == seen


def test_a_killed_worker_is_reported() -> None:
    with ProcessPool(2) as workers, pytest.raises(NmtkitError, match="was killed"):
        list(workers.imap(die, [1, 2, 3]))


@pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux only")
def test_forks_that_wait_for_work_end_with_the_process_that_started_them() -> None:
    assert_worker_ends_with(HOLDER)


STOPPED = """
import os, signal, time
from nmtkit.cli.termination import Terminated, raise_on_termination
from nmtkit.parallel.process_pool import ProcessPool
try:
    with raise_on_termination(), ProcessPool(2) as pool:
        list(pool.imap(abs, [1, 2, 3]))
        os.killpg(0, signal.SIGTERM)
        time.sleep(60)
except Terminated:
    print("terminated")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux only")
def test_a_sigterm_to_the_whole_group_ends_idle_workers_without_a_word() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STOPPED],
        capture_output=True,
        text=True,
        timeout=60,
        start_new_session=True,
    )
    assert (ended.stdout, ended.stderr) == ("terminated\n", "")
