"""OpenNMT-py's models as one would set them for a short training.

The learning rate falls at the end, and grows with the root of the batch.
"""

import math
from typing import Any

from peer_systems import OpenNMT, opennmt_data
from systems import Task, write_settings

COOLDOWN = 0.4
"""Share of the updates at the end over which the learning rate falls, in all systems."""


class OpenNMTRecurrent(OpenNMT):
    """OpenNMT-py's LSTM with input feeding and attention by an MLP (Luong et al. 2015)."""

    name = "OpenNMT-py 3.5.1, RNN"

    def settings(self, task: Task) -> dict[str, Any]:
        """Return the settings of the model and of its optimizer."""
        start = round((1 - COOLDOWN) * task.updates)
        return {
            "encoder_type": "brnn",
            "decoder_type": "rnn",
            "rnn_type": "LSTM",
            "global_attention": "mlp",
            "layers": 1,
            "word_vec_size": task.sizes.embedding,
            "hidden_size": 2 * task.sizes.hidden,
            "dropout": [0.1],
            "learning_rate": recurrent_rate(task),
            "learning_rate_decay": 0.6,
            "start_decay_steps": start,
            "decay_steps": max(1, (task.updates - start) // 8),
            "batch_size": task.batch_tokens,
        }

    def write_training(self, task: Task) -> list[str]:
        """Write one YAML file."""
        corpus = opennmt_data(task.data)
        corpus["data"]["corpus"]["transforms"] = ["filtertoolong"]
        settings = {
            **corpus,
            "src_seq_length": task.max_length,
            "tgt_seq_length": task.max_length,
            "save_model": str(task.folder / "model"),
            "attention_dropout": [0.0],
            "label_smoothing": 0.1,
            "optim": "adam",
            "max_grad_norm": 1,
            "batch_type": "tokens",
            "normalization": "tokens",
            "bucket_size": 4096,
            "num_workers": 0,
            "train_steps": task.updates,
            "save_checkpoint_steps": task.updates,
            "valid_steps": 1_000_000,
            "report_every": 50,
            "model_dtype": "fp32",
            "seed": 1,
            **self.settings(task),
        }
        return ["-config", str(write_settings(task.folder / "train.yaml", settings))]


class OpenNMTWithoutInputFeeding(OpenNMTRecurrent):
    """The recurrent model without input feeding, whose decoder reads a sentence in one call."""

    name = "OpenNMT-py 3.5.1, RNN without input feeding"

    def settings(self, task: Task) -> dict[str, Any]:
        """Return the settings of the model and of its optimizer."""
        return {**super().settings(task), "input_feed": 0}


TRANSFORMER_RATE = 0.0015
"""Highest learning rate of Transformers, when the warm-up ends. Vaswani et al. 2017 have 0.0007,
with 512 units and larger batches; after so short a warm-up their formula would give 0.007."""


class OpenNMTTransformer(OpenNMTRecurrent):
    """OpenNMT-py's Transformer with three layers (Vaswani et al. 2017)."""

    name = "OpenNMT-py 3.5.1, Transformer"

    def settings(self, task: Task) -> dict[str, Any]:
        """Return the settings of the model and of its optimizer."""
        warmup = warmup_of(task)
        peak_rate = task.rate_factor * TRANSFORMER_RATE
        return {
            "share_decoder_embeddings": True,
            "encoder_type": "transformer",
            "decoder_type": "transformer",
            "position_encoding": True,
            "layers": 3,
            "heads": 4,
            "word_vec_size": task.sizes.embedding,
            "hidden_size": task.sizes.hidden,
            "transformer_ff": 4 * task.sizes.hidden,
            "dropout": [0.1],
            "attention_dropout": [0.1],
            "max_grad_norm": 0,
            "adam_beta2": 0.998,
            "param_init": 0,
            "param_init_glorot": True,
            "decay_method": "noam",
            "learning_rate": peak_rate * math.sqrt(task.sizes.hidden * warmup),
            "warmup_steps": warmup,
            "batch_size": 2 * task.batch_tokens,
        }


def recurrent_rate(task: Task) -> float:
    """Return the learning rate of the recurrent models: 0.002 at 400 tokens, then by the root."""
    return task.rate_factor * 0.002 * math.sqrt(task.batch_tokens / 400)


def warmup_of(task: Task) -> int:
    """Return over how many updates the learning rate rises, from which on it falls."""
    return max(1, round(0.15 * task.updates))
