"""Train a small Transformer, and make of it a package with which LibreTranslate translates.

    python bench/argos.py --text en-fr=MULTI30K --peers build/bench/peers --work build/bench/argos

OpenNMT-py trains it on pieces of SentencePiece, and CTranslate2's converter writes it, in float32:
ARGOS_COMPUTE_TYPE=int8 quantizes it when it is loaded. With two layers of 256 units it has about
as many parameters as nmtkit's model of 256 units. WORK/packages is the folder of packages for
`bench/serve_peers.py --argos`; the package in it needs nothing from a network.
"""

import argparse
import json
import shutil
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from corpus import Text
from ctranslate2_system import CTranslate2
from operations import SMALL
from systems import Data, Task
from timing import BenchError, exit_with, positive, report_progress, run_command

from nmtkit.io.lines import read_lines

SPLITTER = Path(__file__).resolve().parent / "peers" / "splitter.py"
LANGUAGES = {"de": "German", "en": "English", "fr": "French"}


class SmallTransformer(CTranslate2):
    """A Transformer of two layers whose three matrices of pieces are one."""

    def settings(self, task: Task) -> dict[str, Any]:
        """Return settings of the Transformer; both sides have the same pieces."""
        shared = {"share_vocab": True, "share_embeddings": True}
        return super().settings(task) | shared | {"layers": 2}


def learn_pieces(text: Text, folder: Path, size: int) -> Path:
    """Learn the pieces of both sides together, as Argos Translate wants them; return the model.

    :raises BenchError: the text is too small for so many pieces.
    """
    import sentencepiece

    folder.mkdir(parents=True, exist_ok=True)
    files = [text.file("train", side) for side in (text.src, text.tgt)]
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=chain.from_iterable(map(read_lines, files)),
            model_prefix=str(folder / "sentencepiece"),
            vocab_size=size,
            character_coverage=1.0,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise BenchError(f"{files[0]}: {str(error).splitlines()[-1]}") from error
    return folder / "sentencepiece.model"


def split_text(text: Text, pieces: Path, work: Path) -> Data:
    """Write the training text in pieces, and all pieces as the vocabulary of each side."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=str(pieces))
    lines, counts = {}, Counter[str]()
    for side, language in (("src", text.src), ("tgt", text.tgt)):
        raw = list(read_lines(text.file("train", language)))
        lines[side] = processor.encode(raw, out_type=str)
        counts.update(piece for line in lines[side] for piece in line)
    for side, split in lines.items():
        content = "".join(" ".join(line) + "\n" for line in split)
        (work / f"train.{side}").write_text(content, encoding="utf-8")
        entries = "".join(f"{piece}\t{count}\n" for piece, count in counts.most_common())
        (work / f"vocab.{side}").write_text(entries, encoding="utf-8")
    return Data.open(work, work)


def write_package(text: Text, pieces: Path, model: Path, python: Path, packages: Path) -> Path:
    """Write the package of a converted model; return its folder."""
    package = packages / f"{text.src}_{text.tgt}"
    shutil.rmtree(packages, ignore_errors=True)
    shutil.copytree(model, package / "model")
    shutil.copy(pieces, package / "sentencepiece.model")
    (package / "minisbd").mkdir()
    command = [python, SPLITTER, package / "minisbd" / "none.onnx"]
    run_command(command, packages.parent / "splitter.log")
    write_metadata(package, text.src, text.tgt)
    second = packages / f"{text.tgt}_{text.src}"
    shutil.copytree(package, second, copy_function=shutil.copy)
    write_metadata(second, text.tgt, text.src)
    return package


def write_metadata(package: Path, src: str, tgt: str) -> None:
    """Write the languages of a package."""
    names = {"from_name": LANGUAGES.get(src, src), "to_name": LANGUAGES.get(tgt, tgt)}
    content = {"package_version": "1.0", "from_code": src, "to_code": tgt, **names}
    (package / "metadata.json").write_text(json.dumps(content), encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Learn pieces, train, convert, and write the package."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--text", type=Text.parse, required=True, metavar="SRC-TGT=FOLDER")
    parser.add_argument("--peers", type=Path, default=Path("build/bench/peers"), metavar="DIR")
    parser.add_argument("--work", type=Path, default=Path("build/bench/argos"), metavar="DIR")
    parser.add_argument("--pieces", type=positive, default=8000)
    parser.add_argument("--updates", type=positive, default=1200)
    parser.add_argument("--threads", type=positive, default=1)
    options = parser.parse_args(arguments)
    work, peers = options.work.absolute(), options.peers.absolute()
    pieces = learn_pieces(options.text, work, options.pieces)
    data = split_text(options.text, pieces, work)
    system = SmallTransformer(peers / "opennmt" / "bin" / "python")
    task = Task(data, work / "model", SMALL, options.updates, options.threads)
    report_progress(f"training {options.updates} updates; see {task.folder / 'log'}")
    run_command(system.train(task), task.folder / "log", system.environment(task.threads))
    python = peers / "libretranslate" / "bin" / "python"
    model = system.model(task).parent
    package = write_package(options.text, pieces, model, python, work / "packages")
    report_progress(str(package))
    return 0


if __name__ == "__main__":
    exit_with(main)
