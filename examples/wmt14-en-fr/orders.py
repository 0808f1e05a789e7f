"""Compare systems in the orders that the papers report: which is better, and in how many seeds.

`[[orders]]` of published.toml name the better and the worse system by folder and file, as the rows
of its tables do. `low = true` stands for a measure that is better when low.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from cells import PUBLISHED, Choice, domain_file, escaped, evaluated, figures_of, folders_of

SIZES = ("paper", "night")
"""Sizes whose figures mean something."""

SIDES = ("better", "worse")


def read_orders() -> list[dict[str, Any]]:
    """Return the orders of published.toml."""
    orders: list[dict[str, Any]] = tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["orders"]
    return orders


def was_run(order: Mapping[str, Any], choice: Choice) -> bool:
    """Return whether both systems of an order were run."""
    return all(order[side]["system"] in choice.systems for side in SIDES)


def paths_of(side: Mapping[str, Any], choice: Choice) -> list[Path]:
    """Return the files with the figures of a system, one per seed."""
    name = side["result"].replace("{beam}", choice.beam)
    return [folder / name for folder in folders_of(side, choice)]


def files(choice: Choice) -> list[Path]:
    """Return the files of newstest2014 that all orders need."""
    ran = [order for order in read_orders() if was_run(order, choice)]
    return [path for order in ran for side in SIDES for path in paths_of(order[side], choice)]


def verdict(better: Sequence[float], worse: Sequence[float], low: bool) -> str:
    """Say whether the values of one system are better than those of another.

    :param low: lower values are better.
    """
    if not better or not worse:
        return "no sentence"
    gain = (mean(better) - mean(worse)) * (-1 if low else 1)
    apart = max(better) < min(worse) if low else min(better) > max(worse)
    if apart:
        return "holds" if len(better) == len(worse) == 1 else "holds for all seeds"
    return "holds on average" if gain > 0 else "does not hold"


def compared(order: Mapping[str, Any], choice: Choice, domain: bool) -> str:
    """Return both systems' mean and range on a test set, and the verdict."""
    measure, low = order.get("measure", "bleu"), bool(order.get("low"))
    values, counts = [], dict[int, None]()
    for side in SIDES:
        paths = paths_of(order[side], choice)
        found = [path for path in map(domain_file, paths) if path] if domain else paths
        values.append(figures_of(measure, found))
        counts.update((evaluated(path)[1], None) for path in found if path.suffix == ".json")
    counts.pop(0, None)
    texts = [_range(some) for some in values]
    sentences = f" ({' or '.join(map(str, counts))} sentences)" if counts else ""
    return f"{' and '.join(texts)}{sentences}: {verdict(values[0], values[1], low)}"


def _range(values: Sequence[float]) -> str:
    """Return the mean with the lowest and the highest value, if there are several."""
    if not values:
        return "none"
    spread = f" ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else ""
    return f"{mean(values):.2f}{spread}"


def lines(choice: Choice) -> Iterator[str]:
    """Yield the rows of the table."""
    sets = ["domain", "newstest2014"] if choice.domain else ["newstest2014"]
    yield f"| order | of | {' | '.join(sets)} |"
    yield f"| --- | --- |{' --- |' * len(sets)}"
    for order in read_orders():
        if was_run(order, choice):
            cells = [compared(order, choice, name == "domain") for name in sets]
            yield f"| {escaped(order['claim'])} | {order['paper']} | {' | '.join(cells)} |"


def markdown(choice: Choice) -> str:
    """Return the papers' orders with our figures."""
    text = "".join(f"{line}\n" for line in lines(choice))
    return (
        f"## The papers' orders\n\n{text}\nMean of each system, the lowest and the highest seed in "
        "brackets. *Holds for all seeds*: the worst seed of the first is better than the best of "
        "the second. *Holds* alone is of one training each, and says the less the fewer sentences "
        "there are.\n"
    )
