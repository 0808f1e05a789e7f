"""JoeyNMT and Marian as one would set them for a short training: the peers of `race.py`.

Batches are counted in tokens, labels are smoothed, there is dropout, and the learning rate falls
with the inverse square root of the updates, which both systems offer and recommend. OpenNMT-py's
models are in `opennmt_systems.py`.
"""

from pathlib import Path
from typing import Any

from opennmt_systems import (
    OpenNMTRecurrent,
    OpenNMTTransformer,
    OpenNMTWithoutInputFeeding,
    recurrent_rate,
    warmup_of,
)
from peer_systems import JoeyNMT, Marian
from systems import System, Task
from timing import report_progress

TRANSFORMER_LAYERS = 3


def _transformer_rate(task: Task) -> float:
    return task.rate_factor * 2e-3


class JoeyNMTRecurrent(JoeyNMT):
    """JoeyNMT's GRU with input feeding and attention by an MLP."""

    name = "JoeyNMT 2.3.0, RNN"

    def settings(self, task: Task) -> dict[str, dict[str, Any]]:
        """Return the settings of the training and of the model."""
        settings = super().settings(task)
        settings["training"] |= _joeynmt_training(
            task.batch_tokens, recurrent_rate(task), warmup_of(task)
        )
        model = settings["model"]
        model["tied_softmax"] = True
        for side in ("encoder", "decoder"):
            model[side]["embeddings"]["dropout"] = 0.1
        model["decoder"]["hidden_dropout"] = 0.1
        return settings


class JoeyNMTTransformer(JoeyNMT):
    """JoeyNMT's Transformer with three layers."""

    name = "JoeyNMT 2.3.0, Transformer"

    def settings(self, task: Task) -> dict[str, dict[str, Any]]:
        """Return the settings of the training and of the model."""
        settings = super().settings(task)
        rate, warmup = _transformer_rate(task), warmup_of(task)
        settings["training"] |= _joeynmt_training(2 * task.batch_tokens, rate, warmup)
        settings["training"] |= {"adam_betas": [0.9, 0.98]}
        n = task.sizes.hidden
        side = {
            "type": "transformer",
            "num_layers": TRANSFORMER_LAYERS,
            "num_heads": 4,
            "embeddings": {"embedding_dim": n, "scale": True, "dropout": 0.0},
            "hidden_size": n,
            "ff_size": 4 * n,
            "dropout": 0.1,
            "layer_norm": "pre",
        }
        settings["model"] = {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "tied_embeddings": False,
            "tied_softmax": True,
            "encoder": side,
            "decoder": side,
        }
        return settings


def _joeynmt_training(tokens: int, rate: float, warmup: int) -> dict[str, Any]:
    return {
        "batch_type": "token",
        "batch_size": tokens,
        "normalization": "tokens",
        "label_smoothing": 0.1,
        "scheduling": "warmupinversesquareroot",
        "learning_rate": rate,
        "learning_rate_warmup": warmup,
    }


class MarianRecurrent(Marian):
    """Marian's `s2s`, with the conditional unit of Nematus."""

    name = "Marian, RNN"

    def settings(self, task: Task) -> dict[str, Any]:
        """Return the options of the model and of its optimizer."""
        return {
            "type": "s2s",
            "dim-emb": task.sizes.embedding,
            "dim-rnn": task.sizes.hidden,
            "dropout-rnn": 0.1,
            **_marian_training(task.batch_tokens, recurrent_rate(task), warmup_of(task)),
        }


class MarianTransformer(Marian):
    """Marian's Transformer with three layers."""

    name = "Marian, Transformer"

    def settings(self, task: Task) -> dict[str, Any]:
        """Return the options of the model and of its optimizer."""
        return {
            "type": "transformer",
            "dim-emb": task.sizes.hidden,
            "transformer-dim-ffn": 4 * task.sizes.hidden,
            "transformer-heads": 4,
            "enc-depth": TRANSFORMER_LAYERS,
            "dec-depth": TRANSFORMER_LAYERS,
            "transformer-dropout": 0.1,
            "optimizer-params": [0.9, 0.98, 1e-9],
            **_marian_training(2 * task.batch_tokens, _transformer_rate(task), warmup_of(task)),
        }


def _marian_training(tokens: int, rate: float, warmup: int) -> dict[str, Any]:
    return {
        "mini-batch": 1000,
        "mini-batch-words": tokens,
        "label-smoothing": 0.1,
        "tied-embeddings": "true",
        "learn-rate": rate,
        "lr-warmup": f"{warmup}u",
        "lr-decay-inv-sqrt": f"{warmup}u",
        "cost-type": "ce-mean-words",
    }


FOLDERS: dict[str, list[type[System]]] = {
    "opennmt": [OpenNMTRecurrent, OpenNMTWithoutInputFeeding, OpenNMTTransformer],
    "joeynmt": [JoeyNMTRecurrent, JoeyNMTTransformer],
    "marian": [MarianRecurrent, MarianTransformer],
}
"""Systems by the folder of their environment, as `bench/peers/build.sh` names it."""


def peers(folder: Path | None, marian: Path | None = None) -> list[System]:
    """Return the systems that are installed, and log those that are missing.

    :param folder: where `bench/peers/build.sh` put their environments.
    :param marian: a Marian binary to use instead of the package's.
    """
    systems: list[System] = []
    for name, classes in FOLDERS.items():
        python = (folder or Path("nowhere")).absolute() / name / "bin" / "python"
        if name == "marian" and marian is not None:
            systems += [MarianRecurrent(python, marian.absolute())]
            systems += [MarianTransformer(python, marian.absolute())]
        elif python.is_file():
            systems += [cls(python) for cls in classes]
        else:
            names = " and ".join(cls.name for cls in classes)
            report_progress(f"{names} are skipped: see bench/peers/build.sh")
    return systems
