"""Measure inline markup by a model that was trained with it, beside `bench/markup.py`.

    python bench/trained_tags.py --marked lohelp-tags/de --plain lohelp/de --pair en-de
        [--minutes 5 | --config FILE --updates N] [--threads 2] [--lines 1000] [--output FILE]

What other toolkits advise: tags are words of the training text. Each element has a number, as in
`<t1>`, `</t1>` and `<t2/>`, counted in the source of each line, so that few words are needed. The
training data is the plain text and the marked text together; subwords never split a tag. The test
set is that of the marked folder, and the figures those of `bench/markup.py`: lines with all their
markup, elements around the reference's words, and sacreBLEU and chrF of the text without markup.
`WORK/restored` has the translations.
"""

import argparse
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from corpus import Text
from markup import SIGNS, name_in, rows_of
from timing import (
    NMTKIT,
    check_settings,
    exit_with,
    machine,
    positive,
    run_command,
    table,
    write_lines,
    write_report,
)

from nmtkit.io.lines import read_lines, read_parallel

TAG = re.compile(r"<[^<>]*>")
NUMBERED = re.compile(r"<(/?)t(\d+)(/?)>")
GLOSSARY = "</?t[0-9]+/?>"

Pair = tuple[str, str]


def numbered(
    line: str, number_of: Callable[[str], int] | None = None
) -> tuple[str, dict[int, str]]:
    """Put numbers in place of the tags of a line.

    :param number_of: returns the number of an opening tag; None: counts from 1.
    :return: the line, and the opening tag of each number.
    """
    count = itertools.count(1)
    opening: dict[int, str] = {}
    open_elements: list[int] = []

    def put(found: re.Match[str]) -> str:
        tag = found[0]
        if tag.startswith("</"):
            return f"</t{open_elements.pop() if open_elements else 0}>"
        number = number_of(tag) if number_of else next(count)
        opening[number] = tag
        if tag.endswith("/>"):
            return f"<t{number}/>"
        open_elements.append(number)
        return f"<t{number}>"

    return TAG.sub(put, line), opening


def numbered_pair(src: str, tgt: str) -> Pair:
    """Return a pair with numbers in place of tags; those of the target are the source's."""
    source, opening = numbered(src)
    unused = defaultdict(list)
    for number, tag in opening.items():
        unused[name_in(tag)].append(number)

    def number_of(tag: str) -> int:
        numbers = unused[name_in(tag)]
        return numbers.pop(0) if numbers else 0

    return source, numbered(tgt, number_of)[0]


def restored(output: str, source: str) -> str:
    """Return a translation with the tags of its source; tags that it lacks are left out."""
    _, opening = numbered(source)

    def put(found: re.Match[str]) -> str:
        tag = opening.get(int(found[2]), "")
        return f"</{name_in(tag)}>" if tag and found[1] else tag

    return NUMBERED.sub(put, output)


def texts_of(folder: Path, split: str, pair: Sequence[str]) -> Iterator[Pair]:
    """Yield the pairs of a split."""
    src_language, tgt_language = pair
    text = Text(src_language, tgt_language, folder)
    files = (str(text.file(split, side)) for side in pair)
    yield from ((src, tgt) for src, tgt in read_parallel(*files))


def write_texts(options: argparse.Namespace) -> list[str | Path]:
    """Write the training text and the dev set; return the options of `prepare` for them."""
    pair = options.pair.split("-")
    files: list[str | Path] = []
    for split, option in (("train", "--train"), ("val", "--dev")):
        pairs = [numbered_pair(*both) for both in texts_of(options.marked, split, pair)]
        pairs += texts_of(options.plain, split, pair)
        paths = [options.work / f"{split}.{side}" for side in pair]
        for path, column in zip(paths, zip(*pairs, strict=True), strict=True):
            write_lines(path, column)
        files += [option, *paths]
    return files


def train(options: argparse.Namespace) -> Path:
    """Prepare and train; return the model folder."""
    work: Path = options.work
    src, tgt = options.pair.split("-")
    prepared, model = work / "prepared", work / "model"
    if not (prepared / "vocab.tgt").exists():
        languages = ["-s", src, "-t", tgt, "--subword", "bpe", "--subword-size", "8000"]
        command = [*NMTKIT, "prepare", *write_texts(options), *languages, "--glossary", GLOSSARY]
        run_command([*command, "-o", prepared, "--force"], work / "prepare.log")
        run_command([*NMTKIT, "shortlist", prepared], work / "shortlist.log")
    if not (model / "params.best.safetensors").exists():
        limit = ["--time", f"{options.minutes:g}m"]
        if options.config:
            limit = ["--config", options.config, "--updates", str(options.updates)]
        command = [*NMTKIT, "train", prepared, "-o", model, "--threads", str(options.threads)]
        run_command([*command, *limit, "--force"], work / "train.log")
    return model


def main(arguments: Sequence[str]) -> int:
    """Train, translate and report."""
    options = options_of(arguments)
    length = "updates" if options.config else "minutes"
    names = ("marked", "plain", "pair", "config", length)
    check_settings(options.work, {name: getattr(options, name) for name in names})
    model = train(options)
    pair = options.pair.split("-")
    lines = list(islice(texts_of(options.marked, "test", pair), options.lines))
    source, output = options.work / "test", options.work / "output"
    write_lines(source, (numbered(src)[0] for src, _ in lines))
    command = [*NMTKIT, "translate", "-m", model, source, "-o", output, "--force", "--beam", "5"]
    run_command([*command, "--threads", str(options.threads)], options.work / "translate.log")
    sources = [src for src, _ in lines]
    outputs = [restored(*both) for both in zip(read_lines(output), sources, strict=True)]
    write_lines(options.work / "restored", outputs)
    rows = rows_of(outputs, lines, pair[1])
    signs = sum(len(SIGNS.findall(src)) for src in sources)
    heading = f"{machine()}; {model}, {len(lines)} lines, {signs} tags and entities"
    write_report(options.output, f"{heading}\n\n{table(['what', 'share'], rows)}", rows)
    return 0


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--marked", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--plain", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--pair", required=True, metavar="SRC-TGT")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--config", help="settings of another model, to train it for --updates")
    parser.add_argument("--updates", type=positive)
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--lines", type=positive, default=1000)
    parser.add_argument("--work", type=Path, default=Path("build/bench/trained-tags"))
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    if (options.config is None) != (options.updates is None):
        parser.error("--config and --updates go together")
    if options.pair.count("-") != 1:
        parser.error(f"--pair {options.pair}: expected SRC-TGT")
    return options


if __name__ == "__main__":
    exit_with(main)
