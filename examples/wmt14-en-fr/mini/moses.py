"""Make up the output of Moses for a small run, so that no table or figure needs Moses.

    moses.py work/smoke/rnn/prepared --output work/smoke/smt/moses

PREPARED has the sets dev and test and the training text. The folder gets what MOSES_OUTPUT would
have: the tokens of both sets, n-best lists, weights, and a phrase table. Hypotheses are references
with words that are left out, doubled or exchanged; the features are drawn at random, and a total is
their weighted sum. Phrase pairs are neighbouring words at about the same place on both sides. All
of it has the form of Moses's files and no other meaning.

The same text gives the same bytes.
"""

import argparse
import gzip
import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

WEIGHTS = {"LM0": 0.5, "WordPenalty0": -0.2}
HYPOTHESES = 20
"""Hypotheses of each sentence, equal ones counted once."""

SENTENCES = 60
"""Training pairs that the phrases come from."""

LONGEST_PHRASE = 5

Pair = tuple[str, str]


def pairs_of(prepared: Path, name: str) -> list[Pair]:
    """Return the pairs of a set, with subwords joined; only newlines end a line."""
    texts = [
        (prepared / f"{name}.{side}").read_bytes().decode("utf-8").replace("@@ ", "").split("\n")
        for side in ("src", "tgt")
    ]
    return list(zip(*(text[:-1] for text in texts), strict=True))


def hypothesis(reference: Sequence[str], rng: random.Random) -> str:
    """Return a reference with up to three mistakes; it is never empty."""
    words = list(reference) or ["…"]
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(words))
        kind = rng.randrange(3)
        if kind == 0 and len(words) > 1:
            del words[at]
        elif kind == 1:
            words.insert(at, words[at])
        else:
            other = rng.randrange(len(words))
            words[at], words[other] = words[other], words[at]
    return " ".join(words)


def list_lines(references: Sequence[str], rng: random.Random) -> Iterator[str]:
    """Yield the lines of an n-best list, best first for each sentence."""
    for number, reference in enumerate(references):
        drawn = {hypothesis(reference.split(), rng): None for _ in range(HYPOTHESES)}
        entries = []
        for text in drawn:
            length = len(text.split())
            values = {"LM0": round(-2 * length - rng.uniform(0, 4), 3), "WordPenalty0": -length}
            total = sum(weight * values[name] for name, weight in WEIGHTS.items())
            features = " ".join(f"{name}= {value}" for name, value in values.items())
            entries.append((-total, f"{number} ||| {text}  ||| {features} ||| {total:.6f}\n"))
        yield from (line for _, line in sorted(entries))


def phrases(pairs: Sequence[Pair], rng: random.Random) -> Counter[Pair]:
    """Count pairs of phrases, whose places on both sides are equal or next to each other."""
    counts: Counter[Pair] = Counter()
    for src, tgt in rng.sample(pairs, min(SENTENCES, len(pairs))):
        source, target = src.split(), tgt.split()
        for start in range(len(source)):
            for length in range(1, min(LONGEST_PHRASE, len(source) - start) + 1):
                for begin in range(max(start - 1, 0), start + 2):
                    phrase = target[begin : begin + length]
                    if len(phrase) == length:
                        counts[" ".join(source[start : start + length]), " ".join(phrase)] += 1
    return counts


def table_lines(counts: Counter[Pair]) -> Iterator[str]:
    """Yield the lines of a phrase table, those of a source phrase together."""
    sources, targets = Counter[str](), Counter[str]()
    for (src, tgt), count in counts.items():
        sources[src] += count
        targets[tgt] += count
    for (src, tgt), count in sorted(counts.items()):
        backward, forward = count / targets[tgt], count / sources[src]
        scores = f"{backward:.6g} {backward:.6g} {forward:.6g} {forward:.6g}"
        links = " ".join(f"{at}-{at}" for at in range(len(src.split())))
        yield f"{src} ||| {tgt} ||| {scores} ||| {links} ||| {targets[tgt]} {sources[src]} {count}"


def write(path: Path, text: str) -> None:
    """Write a file, compressed if it is called so, completely or not at all."""
    part = path.with_name(f"{path.name}.part")
    content = text.encode("utf-8")
    part.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    os.replace(part, path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program.

    :param arguments: command line; None: sys.argv.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("prepared", type=Path, metavar="PREPARED")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    rng = random.Random(1)
    table = phrases(pairs_of(options.prepared, "train"), rng)
    write(options.output / "phrase-table.gz", "".join(f"{line}\n" for line in table_lines(table)))
    for name in ("dev", "test"):
        pairs = pairs_of(options.prepared, name)
        for at, side in enumerate(("en", "fr")):
            text = "".join(f"{pair[at]}\n" for pair in pairs)
            write(options.output / f"{name}.tok.{side}", text)
        lines = list_lines([tgt for _, tgt in pairs], rng)
        write(options.output / f"{name}.1000best.gz", "".join(lines))
    weights = "".join(f"{name}= {weight}\n" for name, weight in WEIGHTS.items())
    write(options.output / "moses.tuned.ini", f"[weight]\n{weights}")


if __name__ == "__main__":
    main()
