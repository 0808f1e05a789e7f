"""Names of other toolkits' options and commands, and the command lines that mean the same here.

Marian, OpenNMT, Sockeye, JoeyNMT, CTranslate2, LibreTranslate, sacreBLEU and Moses. Messages about
an unknown name look here before they look for a similar one, which may mean something else.
"""

from collections.abc import Sequence

import click

COMMANDS = {
    "average": "train -S training.average_checkpoints=N",
    "bleu": "evaluate",
    "clean": "prepare",
    "decode": "translate",
    "ensemble": "translate -m A -m B",
    "fine-tune": "adapt",
    "finetune": "adapt",
    "learn-bpe": "prepare",
    "mert": "nbest tune",
    "quantize": "optimize",
    "test": "evaluate",
    "version": "--version",
    "vocab": "shortlist",
}
"""Name of a command -> what to give after `nmtkit`."""

OPTIONS: dict[str, tuple[str, ...]] = {
    "-m": ("--measure NAME",),
    "-p": ("--port N",),
    "--after": ("--updates N",),
    "--after-batches": ("--updates N",),
    "--after-epochs": ("-S training.max_epochs=N",),
    "--alpha": ("--length-penalty A",),
    "--batch-size": ("-S data.batch_size=N",),
    "--beam-size": ("--beam K",),
    "--block-ngram-repeat": ("--no-repeat-ngram N",),
    "--constraints": ("--terms FILE",),
    "--cpu-threads": ("--threads N",),
    "--devices": ("--device NAME",),
    "--dropout": ("-S model.dropout=P",),
    "--early-stopping": ("-S training.patience=N",),
    "--epochs": ("-S training.max_epochs=N",),
    "--force-decode": ("--prefix FILE",),
    "--fp16": ("--precision bfloat16", "-S training.precision=bfloat16"),
    "--glossary": ("--terms FILE",),
    "--gpu": ("--device cuda",),
    "--int8": ("--quantize",),
    "--label-smoothing": ("-S training.label_smoothing=P",),
    "--learn-rate": ("-S training.learning_rate=R",),
    "--learning-rate": ("-S training.learning_rate=R",),
    "--load-only": ("--pair SRC-TGT=MODEL",),
    "--max-epochs": ("-S training.max_epochs=N",),
    "--metrics": ("--measure NAME",),
    "--mini-batch": ("--batch-size N", "-S data.batch_size=N"),
    "--models": ("-m A -m B",),
    "--no-repeat-ngram-size": ("--no-repeat-ngram N",),
    "--normalize": ("--length-penalty A",),
    "--optimizer": ("-S training.optimizer=NAME",),
    "--paired-bs": ("--system NAME HYP",),
    "--pretrained-model": ("--from MODEL",),
    "--req-limit": ("--rate N",),
    "--seed": ("-S training.seed=N",),
    "--shortlist": ("--candidates FILE",),
    "--source": ("--train SRC TGT",),
    "--target": ("--train SRC TGT",),
    "--tied-embeddings": ("-S model.tied=true",),
    "--train-from": ("--from MODEL",),
    "--train-steps": ("--updates N",),
    "--valid": ("--dev SRC TGT",),
    "--valid-freq": ("-S training.validate_every=N",),
    "--vocab-size": ("--subword-size N",),
    "--word-scores": ("--per-word", "--json"),
}
"""Name of an option -> what to give; the first counts that the command has."""

VALUES = {
    "--device": {"gpu": "cuda", "0": "cuda:0", "1": "cuda:1"},
    "--subword": {"spm": "sentencepiece", "unigram": "sentencepiece"},
}
"""Option -> value -> its name here."""

SPLIT_VALUES = {
    "--candidates": "give the file alone, without {}",
    "--weights": "give the numbers with commas, as in 1,2",
}
"""Option that takes numbers behind its value in Marian -> what to do; {} is the first number."""


def our_option(name: str, command: click.Command) -> str | None:
    """Return what to give instead of another toolkit's option, or None if that is not known.

    :param name: the option, with `_` or `-` between its words.
    :param command: the command to which it was given.
    """
    answers = OPTIONS.get(name.replace("_", "-"), ())
    return next((answer for answer in answers if _takes(command, answer.split())), None)


def _takes(command: click.Command, words: Sequence[str]) -> bool:
    """Return whether a command has an option, as often as it stands in `words`."""
    option = next((p for p in command.params if words[0] in p.opts), None)
    return isinstance(option, click.Option) and (option.multiple or words.count(words[0]) == 1)
