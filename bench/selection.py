"""Measure the benefit and the cost of `nmtkit select`: perplexity, precision, time and memory.

    python bench/selection.py --domain news.en news.fr --test held.en held.fr --pool a.en a.fr
        [--pool b.en b.fr] [--words 100000 200000 400000] [--draws 3] [--times 1 10] [--workers 2]
        [-s en] [-t fr] --work folder --output selection.md
    python bench/selection.py --domain news.en news.fr --hidden more.en more.fr --pool a.en a.fr
        [--domain-pairs 1000 20000] --work folder --output selection.md

For each number of words, that many are selected from the pool, and as many are drawn at random with
several seeds. From each, n-gram models are trained, one per side, with a common vocabulary: words
that the domain has at least twice, and <unk>. The table has their perplexities on the test set. A
second table has the cost of selection, from the pool and from the pool repeated several times.

`--hidden` is text of the domain that is added to the pool. A third table has the share of it among
as many of the best pairs, if the domain is known by its first N pairs (`--domain-pairs`).
"""

import argparse
import dataclasses
import math
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from timing import (
    NMTKIT,
    CommandCost,
    Spread,
    exit_with,
    machine,
    positive,
    report_progress,
    run_command,
    table,
    with_spread,
    write_report,
)

from nmtkit.config import TextConfig
from nmtkit.preprocessing.cross_entropy import (
    SelectSettings,
    read_blocks,
    sample_pairs,
    token_ids,
    tokenize_block,
)
from nmtkit.preprocessing.cross_entropy import repeated_words as vocabulary_of
from nmtkit.preprocessing.ngram_model import NgramModel
from nmtkit.text.vocabulary import Vocabulary

Bitext = tuple[Path, Path]
Texts = tuple[list[str], ...]


def words_of(settings: SelectSettings, bitexts: Iterable[Bitext]) -> Texts:
    """Return the tokens of all pairs with words on both sides, by side."""
    texts: Texts = ([], [])
    for block in read_blocks(bitexts):
        for text, lines in zip(texts, tokenize_block(settings, block)[1], strict=True):
            text += lines
    return texts


def perplexities(
    vocabularies: Sequence[Vocabulary], training: Texts, test: Texts, order: int
) -> list[float]:
    """Return the test set's perplexity on each side under models of the given text."""
    values = []
    for vocabulary, lines, test_lines in zip(vocabularies, training, test, strict=True):
        model = NgramModel.train(token_ids(vocabulary, lines), len(vocabulary), order)
        values.append(math.exp(-model.log_probs(token_ids(vocabulary, test_lines)).mean()))
    return values


@dataclasses.dataclass(frozen=True)
class Job:
    """Data, settings and output folder of a selection."""

    options: argparse.Namespace

    @property
    def settings(self) -> SelectSettings:
        options = self.options
        text = TextConfig(src_language=options.src_language, tgt_language=options.tgt_language)
        return SelectSettings(text=text, order=options.order)

    def select(
        self, pools: Sequence[Bitext], *amount: Any, domain: Bitext | None = None
    ) -> tuple[Bitext, CommandCost]:
        """Run the command; return its output files and its cost.

        :param amount: options such as "--words", 1000.
        """
        options, work = self.options, self.options.work
        output = (work / "selected.src", work / "selected.tgt")
        command: list[Any] = [*NMTKIT, "select", "--domain", *(domain or options.domain), *amount]
        for files in pools:
            command += ["--pool", *files]
        command += ["-s", options.src_language, "-t", options.tgt_language, "--force"]
        command += ["--order", options.order, "--workers", options.workers, "--output", *output]
        return output, run_command(list(map(str, command)), work / "select.log")

    def head(self, bitext: Bitext, pairs: int) -> Bitext:
        """Write the first pairs of a bitext, and return the files."""
        paths = (self.options.work / "head.src", self.options.work / "head.tgt")
        for side, path in enumerate(paths):
            blocks = (block.sides[side].split(b"\n") for block in read_blocks([bitext]))
            lines = islice(chain.from_iterable(blocks), pairs)
            path.write_bytes(b"".join(line + b"\n" for line in lines))
        return paths

    def draw(self, words: int, seed: int) -> Bitext:
        """Draw random pairs of the pool with the given number of source words."""
        output = (self.options.work / "random.src", self.options.work / "random.tgt")
        pairs = sample_pairs(read_blocks(self.options.pool), words, (0,), seed)
        for side, path in enumerate(output):
            path.write_bytes(b"".join(pair[side] + b"\n" for pair in pairs))
        return output

    def write_repeated(self, times: int) -> list[Bitext]:
        """Write the pool `times` times over, and return the files."""
        if times == 1:
            return list(self.options.pool)
        paths = tuple(self.options.work / f"pool-{times}.{side}" for side in ("src", "tgt"))
        for side, path in enumerate(paths):
            with open(path, "wb") as output:
                for _ in range(times):
                    for block in read_blocks(self.options.pool):
                        output.write(block.sides[side] + b"\n")
        return [paths]


def quality(job: Job) -> list[dict[str, Any]]:
    """Return perplexities by size: of selected data, and of several random draws."""
    options = job.options
    domain, test = (words_of(job.settings, [files]) for files in (options.domain, options.test))
    vocabularies = [vocabulary_of(lines) for lines in domain]
    domain_own = perplexities(vocabularies, domain, test, options.order)
    rows = [{"what": "the domain's own text", "selected": domain_own, "random": []}]
    for words in options.words:
        report_progress(f"the best {words:,} words against random ones")
        bitexts = [job.select(options.pool, "--words", words)[0]]
        selected = perplexities(vocabularies, words_of(job.settings, bitexts), test, options.order)
        random = []
        for seed in range(1, options.draws + 1):
            bitexts = [job.draw(words, seed)]
            texts = words_of(job.settings, bitexts)
            random.append(perplexities(vocabularies, texts, test, options.order))
        rows.append({"what": f"{words:,} words", "selected": selected, "random": random})
    return rows


def precision(job: Job) -> list[dict[str, Any]]:
    """Return the share of the hidden pairs among as many of the best, by size of the domain."""
    options, rows = job.options, []
    hidden = sum(block.sides[0].count(b"\n") + 1 for block in read_blocks([options.hidden]))
    scores_file = options.work / "scores"
    for pairs in options.domain_pairs:
        report_progress(f"looking for {hidden:,} pairs of the domain, known by {pairs:,}")
        domain = job.head(options.domain, pairs)
        pools = [*options.pool, options.hidden]
        job.select(pools, "--pairs", hidden, "--scores-file", scores_file, domain=domain)
        known = domain[0].read_bytes().count(b"\n")  # fewer, if the domain has no more
        scores = np.loadtxt(scores_file)
        best = np.argsort(scores, kind="stable")[:hidden]
        share = float((best >= len(scores) - hidden).mean())
        rows.append({"pairs": known, "hidden": hidden, "pool": len(scores), "precision": share})
    return rows


def cost(job: Job) -> list[dict[str, Any]]:
    """Return the cost of selection by size of the pool."""
    rows = []
    for times in job.options.times:
        pools = job.write_repeated(times)
        pairs = sum(block.sides[0].count(b"\n") + 1 for block in read_blocks(pools))
        report_progress(f"selecting from {pairs:,} pairs")
        cost_of_run = job.select(pools, "--words", job.options.words[0])[1]
        rows.append({"pairs": pairs, **dataclasses.asdict(cost_of_run)})
        for files in pools if times > 1 else ():
            for path in files:
                path.unlink()
    return rows


def quality_table(options: argparse.Namespace, qualities: list[Any]) -> str:
    languages = (options.src_language, options.tgt_language)
    header = ["training text"]
    header += [f"{kind}, {language}" for kind in ("selected", "random") for language in languages]
    rows = []
    for row in qualities:
        random = list(zip(*row["random"], strict=True))
        random_cells = [with_spread(Spread.of(values), 1) for values in random] or ["", ""]
        rows.append([row["what"], *(f"{value:,.1f}" for value in row["selected"]), *random_cells])
    return table(header, rows)


def cost_table(costs: list[Any]) -> str:
    rows = [
        [
            f"{row['pairs']:,}",
            f"{row['seconds']:,.0f}",
            f"{row['cpu']:,.0f}",
            f"{row['pairs'] / row['cpu']:,.0f}",
            f"{row['peak'] / 2**20:,.0f}",
        ]
        for row in costs
    ]
    memory = "MiB of the largest process"
    header = ["pairs in the pool", "seconds", "processor s", "pairs per processor s", memory]
    return table(header, rows)


def precision_table(precisions: list[Any]) -> str:
    rows = [[f"{row['pairs']:,}", f"{row['precision']:.3f}"] for row in precisions]
    return table(["pairs of the domain", "precision"], rows)


def report(
    options: argparse.Namespace, qualities: list[Any], costs: list[Any], precisions: list[Any]
) -> str:
    parts = [quality_table(options, qualities), cost_table(costs)] if costs else []
    parts += [precision_table(precisions)] if precisions else []
    return f"{machine()}\n\n" + "\n".join(parts)


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    pair: dict[str, Any] = {"nargs": 2, "type": Path, "required": True, "metavar": ("SRC", "TGT")}
    parser.add_argument("--domain", **pair)
    known = parser.add_mutually_exclusive_group(required=True)
    optional = {**pair, "required": False}
    known.add_argument("--test", **optional)
    known.add_argument("--hidden", **optional)
    parser.add_argument("--domain-pairs", nargs="+", type=positive, default=[1000, 5000, 20_000])
    parser.add_argument("--pool", action="append", **pair)
    parser.add_argument("--words", nargs="+", type=int, default=[100_000, 200_000, 400_000])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--times", nargs="+", type=positive, default=[1])
    parser.add_argument("--order", type=positive, default=4)
    parser.add_argument("--workers", type=positive, default=2)
    parser.add_argument("-s", "--src-language", default="en")
    parser.add_argument("-t", "--tgt-language", default="fr")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--output", type=Path)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    options = options_of(arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    job = Job(options)
    # Costs first: a child's peak memory includes that of this process at its start.
    costs = cost(job) if options.test else []
    qualities = quality(job) if options.test else []
    precisions = precision(job) if options.hidden else []
    figures = {"machine": machine(), "perplexities": qualities, "costs": costs}
    figures["precisions"] = precisions
    write_report(options.output, report(options, qualities, costs, precisions), figures)
    return 0


if __name__ == "__main__":
    exit_with(main)
