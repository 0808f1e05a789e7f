#!/usr/bin/env python3
"""Show translations of some sentences by several systems as Markdown.

    samples.py text/long --system RNNenc-50 rnnenc.hyp --system RNNsearch-50 rnnsearch.hyp
    samples.py text/some --system whole a.hyp --system segments b.seg --segments b.segments \\
        --worst segments whole

As table 3 of Bahdanau et al. 2015, tables 3 and 4 of Pouget-Abadie et al. 2014, table 2 of Cho et
al. 2014b, and table 3 of Sutskever et al. 2014. SET.src and SET.tgt have the sentences, SET.lines,
if it exists, their numbers in the test set. `--worst A B` shows only the sentence whose translation
by A is the furthest below that by B, by chrF of the sentence, of those with several segments. Text
is shown as words, without Moses's escapes.
"""

import argparse
import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """A sentence and its translations.

    number: its line in the test set; empty if unknown.
    segments: its segments; empty if it was not segmented.
    translations: by system.
    """

    number: str
    source: str
    reference: str
    segments: Sequence[str] = ()
    translations: Mapping[str, str] = field(default_factory=dict)

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield what the table shows of the sentence: names and Markdown."""
        yield "Source", escape(self.source)
        if self.segments:
            yield "Segments", " ".join(f"\\[{escape(segment)}\\]" for segment in self.segments)
        yield "Reference", escape(self.reference)
        yield from ((escape(name), escape(text)) for name, text in self.translations.items())


def lines_of(path: Path) -> list[str]:
    """Return the lines of a text file, which only newlines end."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def escape(text: str) -> str:
    """Return text as Markdown shows it, with Moses's escapes undone."""
    plain = html.unescape(text).replace("\\", "\\\\")
    marked = re.sub(r"([*_`\[\]#~])", r"\\\1", html.escape(plain, quote=False))
    return marked.replace("|", "&#124;")


def read_samples(name: str, systems: Mapping[str, Path], segments: Path | None) -> list[Sample]:
    """Return the sentences of a set with their translations.

    :raises ValueError: The files differ in their number of lines.
    """
    sources, references = (lines_of(Path(f"{name}.{side}")) for side in ("src", "tgt"))
    numbered = Path(f"{name}.lines")
    numbers = lines_of(numbered) if numbered.exists() else [""] * len(sources)
    segmented = [
        [segment["source"] for segment in json.loads(line)] for line in lines_of(segments)
    ] if segments else [[]] * len(sources)  # fmt: skip
    outputs = [lines_of(path) for path in systems.values()]
    return [
        Sample(number, source, reference, parts, dict(zip(systems, texts, strict=True)))
        for number, source, reference, parts, *texts in zip(
            numbers, sources, references, segmented, *outputs, strict=True
        )
    ]


def worst(samples: Sequence[Sample], name: str, other: str) -> list[Sample]:
    """Return the sample whose translation by one system is the furthest below that by another.

    :param samples: those of a single segment are passed over.
    :return: none if no translation is worse.
    """
    from sacrebleu.metrics.chrf import CHRF

    score = CHRF().sentence_score

    def difference(sample: Sample) -> float:
        one, two = (
            score(html.unescape(sample.translations[system]), [html.unescape(sample.reference)])
            for system in (name, other)
        )
        return float(one.score - two.score)

    candidates = [sample for sample in samples if len(sample.segments) != 1]
    differences = [difference(sample) for sample in candidates]
    if not differences or min(differences) >= 0:
        return []
    return [candidates[differences.index(min(differences))]]


def markdown(samples: Sequence[Sample]) -> str:
    """Return a table for each sample."""
    if not samples:
        return "No such sentence.\n"
    parts = []
    for sample in samples:
        title = f"Sentence {sample.number}".strip()
        rows = [(title, f"{len(sample.source.split())} words"), ("---", "---"), *sample.rows()]
        parts.append("".join(f"| {name} | {text} |\n" for name, text in rows))
    return "\n".join(parts)


def main(arguments: list[str] | None = None) -> None:
    """Run the program.

    :param arguments: Command line; None: sys.argv.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("set", metavar="SET", help="path without .src and .tgt")
    parser.add_argument(
        "--system", nargs=2, action="append", required=True, metavar=("NAME", "FILE")
    )
    parser.add_argument("--segments", type=Path, metavar="FILE")
    parser.add_argument("--worst", nargs=2, metavar=("A", "B"))
    options = parser.parse_args(arguments)
    systems = {name: Path(path) for name, path in options.system}
    samples = read_samples(options.set, systems, options.segments)
    print(markdown(worst(samples, *options.worst) if options.worst else samples), end="")


if __name__ == "__main__":
    main()
