"""Several CPU cores for work that falls into independent parts.

Torch divides single operations between cores, which gains little where they are as small as those
of search. Where there are parts enough, each core gets parts of its own instead.
"""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

Result = TypeVar("Result")


def in_threads(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """Do tasks at the same time, each in a thread that keeps to one core; one alone has them all.

    The first is done by the calling thread, so that Ctrl-C is heard; of errors that of the first
    task that has one is raised, after all have ended.
    """
    if len(tasks) == 1:
        return [tasks[0]()]
    results: dict[int, Result] = {}
    errors: dict[int, BaseException] = {}

    def do(number: int) -> None:
        try:
            torch.set_num_threads(1)  # holds for the thread that says so
            results[number] = tasks[number]()
        except Exception as error:
            errors[number] = error

    cores = torch.get_num_threads()
    others = [
        threading.Thread(target=do, args=(number,), daemon=True) for number in range(1, len(tasks))
    ]
    try:
        for thread in others:
            thread.start()
        do(0)
        for thread in others:
            thread.join()
    finally:
        torch.set_num_threads(cores)
    if errors:
        raise errors[min(errors)]
    return [results[number] for number in range(len(tasks))]
