"""A command line for every file that a command reads, on the sample files of `sample_files.py`.

A word `{name}` is an input, which a test may replace with a pipe; a word `[name]` is a folder or an
output. `test_pipes.py` fails if an option or argument that names a file is in no command line.
"""

import re
from collections.abc import Callable
from pathlib import Path

COMMAND_LINES = (
    "prepare -s en -t fr --train {text.src} {text.tgt} --dev {text.tgt} {text.src}"
    " --test news {text.src}"
    " {text.gz} --bpe-codes {codes} --tokenized --workers 1 -o [out]",
    "prepare -s en -t fr --phrase-table {table} --held-out 1 --workers 1 -o [out]",
    "select -s en -t fr --domain {text.src} {text.tgt} --pool {text.tgt} {text.src}"
    " --pool {text.gz} {text.tgt}"
    " --dev {text.src} {text.src} --best-cut --workers 1 -o [out.src] [out.tgt]"
    " --scores-file [scores]",
    "shortlist {text.src} --size 4 -o [out]",
    "train [prepared] -c {settings.toml} -S training.max_updates=1 -S training.dev_bleu=false"
    " --device cpu --page [page] -o [out]",
    "adapt [model] --data {text.src} {text.tgt} --guard {text.src} {text.tgt} --updates 1"
    " --allow-loss 100 --device cpu -o [out]",
    "optimize [model] --train {text.src} {text.tgt} --dev {text.src} {text.tgt} --max-loss 100"
    " -o [out]",
    "calibrate [model] --dev {text.src} {text.tgt} --reverse-model [model] -o [out]",
    "translate -m [model] {text.src}",
    "translate -m [model] {text.gz}",
    "translate -m [model] {text.src} --candidates {lexicon} --replace-unk {lexicon} --n-best 2"
    " --alignments [links] -o [out]",
    "translate -m [model] {text.src} --markup html --protect {patterns} -o [out]",
    "translate -m [model] {text.src} --terms {glossary} -o [out]",
    "translate -m [model] {text.src} --format md --protect {patterns} -o [out]",
    "translate -m [model] {text.src} --prefix {text.tgt} -o [out]",
    "translate -m [model] {text.src} --segment random --segment-lengths {segments}",
    "score -m [model] {text.src} {text.tgt} -o [out]",
    "score -m [lm] {text.src}",
    "nbest score -m [model] {list} {text.src} -o [out]",
    "nbest rerank {list} --weights-file {weights} --original {weights} -o [out] --list [ranked]",
    "nbest rerank {list} --oracle {text.tgt}",
    "nbest tune {list} {text.tgt} --start {weights} --reference {text.gz} -o [out]",
    "phrase-table score -m [model] {table} -o [out]",
    "phrase-table report {table} -m [model] --min-words 1 --top 2 --sample 2 -o [out]",
    "align -m [model] {text.src} {text.tgt} --gold {gold} -o [out]",
    "align -m [model] {text.src} {text.tgt} --lexicon [out]",
    "embed -m [model] {text.src} --tokenized -o [out]",
    "map {vectors} --method none -o [out]",
    "check {list} -o [out]",
    "check {table}",
    "evaluate {text.tgt} {text.src} --system b {text.gz} --measure bleu --by unknown --source"
    " {text.src} --src-vocab {words} --tokenized -o [out]",
    "evaluate {text.tgt} {text.src} --reference {text.gz} --measure chrf --tokenized -o [out]",
    "evaluate {text.tgt} {text.src} --measure bleu --by rank --source {text.src}"
    " --src-vocab {words} --tgt-vocab {words} --tokenized",
    "report -m [model] --source {text.src} --reference {text.tgt} --system b {text.src}"
    " --tokenized -o [out]",
)


def arguments(
    line: str, folder: Path, outputs: Path, make_input: Callable[[Path], str] = str
) -> list[str]:
    """Return the arguments of a command line.

    :param outputs: folder for the paths that the sample files do not have.
    :param make_input: replaces the path of each input.
    """

    def path(match: re.Match[str]) -> str:
        name = match[0][1:-1]
        if match[0][0] == "{":
            return make_input(folder / name)
        return str(folder / name if (folder / name).exists() else outputs / name)

    return [re.sub(r"\{.*\}|\[.*\]", path, word) for word in line.split()]
