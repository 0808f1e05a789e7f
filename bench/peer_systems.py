"""The peer toolkits: how each trains the model of `systems.py` and translates.

bench/NOTEBOOK.md lists the differences between their models.
"""

import re
from pathlib import Path
from typing import Any

from operations import joeynmt, marian, opennmt
from systems import POOL, Command, Data, Rate, System, Task, code_calling, write_settings
from timing import BenchError, cpu_environment, report_progress, run_command


def opennmt_data(data: Data) -> dict[str, Any]:
    """Return the corpus and vocabulary settings of OpenNMT-py and eole."""
    sides = ("src", "tgt")
    return {
        "data": {"corpus": {f"path_{side}": str(data.text("train", side)) for side in sides}},
        **{f"{side}_vocab": str(data.words / side) for side in sides},
        **{f"{side}_vocab_size": 1_000_000 for side in sides},
    }


def _opennmt_training(task: Task) -> dict[str, Any]:
    """Return the training settings of OpenNMT-py and eole."""
    return {
        "dropout": [0.0],
        "attention_dropout": [0.0],
        "optim": "adam",
        "learning_rate": task.learning_rate,
        "max_grad_norm": 1,
        "batch_type": "sents",
        "normalization": "sents",
        "batch_size": task.batch,
        "bucket_size": task.batch * POOL,
        "num_workers": 0,
        "train_steps": task.updates,
        "save_checkpoint_steps": task.updates,
        "valid_steps": 1_000_000,
    }


class OpenNMT(System):
    """OpenNMT-py 3.5.1."""

    name = "OpenNMT-py 3.5.1"
    module = "onmt.bin.train:main"
    products = staticmethod(opennmt)

    def environment(self, threads: int) -> dict[str, str]:
        """Let torch load its checkpoints, which hold more than tensors."""
        return {**cpu_environment(threads), "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}

    def write_training(self, task: Task) -> list[str]:
        """Write one YAML file. Its `hidden_size` is that of both encoder directions together."""
        sizes, data = task.sizes, task.data
        settings = {
            **opennmt_data(data),
            "save_model": str(task.folder / "model"),
            "encoder_type": "brnn",
            "decoder_type": "rnn",
            "rnn_type": "GRU",
            "global_attention": "mlp",
            "layers": 1,
            "word_vec_size": sizes.embedding,
            "hidden_size": sizes.hidden,
            **_opennmt_training(task),
            "report_every": 50,
            "model_dtype": "fp32",
        }
        return ["-config", str(write_settings(task.folder / "train.yaml", settings))]

    def model(self, task: Task) -> Path:
        """Return the checkpoint of the last update."""
        return task.folder / f"model_step_{task.updates}.pt"

    def translate(self, task: Task, source: Path, output: Path, beam: int) -> Command:
        """Return the `onmt_translate` command."""
        files: Command = ["-model", self.model(task), "-src", source, "-output", output]
        search = ["-beam_size", str(beam), "-batch_size", str(self.batch(beam))]
        start: Command = [self.python, "-c", code_calling("onmt.bin.translate:main")]
        return [*start, *files, *search, "-max_length", str(task.max_length)]


class Eole(System):
    """eole 0.6.4."""

    name = "eole 0.6.4"
    module = "eole.bin.main:main"
    products = staticmethod(opennmt)

    def write_training(self, task: Task) -> list[str]:
        """Write one YAML file, similar to OpenNMT-py's."""
        sizes, data = task.sizes, task.data
        unit = {"layers": 1, "hidden_size": sizes.hidden, "rnn_type": "GRU", "bridge": False}
        settings = {
            **opennmt_data(data),
            "report_every": 50,
            "model": {
                "architecture": "custom",
                "layers": 1,
                "hidden_size": sizes.hidden,
                "word_vec_size": sizes.embedding,
                "embeddings": {"word_vec_size": sizes.embedding, "position_encoding_type": None},
                "encoder": {"encoder_type": "brnn", **unit},
                "decoder": {"decoder_type": "rnn", "global_attention": "mlp", **unit},
            },
            "training": {
                "model_path": str(task.folder / "model"),
                "compute_dtype": "fp32",
                **_opennmt_training(task),
            },
        }
        return ["train", "--config", str(write_settings(task.folder / "train.yaml", settings))]

    def model(self, task: Task) -> Path:
        """Return the folder with a copy of the last parameters."""
        return task.folder / "model"

    def translate(self, task: Task, source: Path, output: Path, beam: int) -> Command:
        """Return the `eole predict` command."""
        files: Command = ["--model_path", self.model(task), "--src", source, "--output", output]
        search = ["--beam_size", str(beam), "--batch_size", str(self.batch(beam))]
        start: Command = [self.python, "-c", code_calling(self.module), "predict"]
        return [*start, *files, *search, "--max_length", str(task.max_length)]


class JoeyNMT(System):
    """JoeyNMT 2.3.0."""

    name = "JoeyNMT 2.3.0"
    module = "joeynmt.__main__:main"
    products = staticmethod(joeynmt)

    def settings(self, task: Task) -> dict[str, dict[str, Any]]:
        """Return the settings of the training and of the model.

        JoeyNMT requires a learning-rate schedule; its default passes an argument that torch no
        longer accepts, so this sets one that keeps the rate constant.
        """
        sizes = task.sizes
        embeddings = {"embedding_dim": sizes.embedding, "dropout": 0.0}
        unit = {"rnn_type": "gru", "hidden_size": sizes.hidden, "num_layers": 1, "dropout": 0.0}
        return {
            "training": {
                "overwrite": True,
                "optimizer": "adam",
                "learning_rate": task.learning_rate,
                "scheduling": "exponential",
                "decrease_factor": 1.0,
                "clip_grad_norm": 1.0,
                "batch_size": task.batch,
                "batch_type": "sentence",
                "epochs": 1000,
                "updates": task.updates,
                "validation_freq": 1_000_000,
                "logging_freq": 50,
                "early_stopping_metric": "loss",
                "loss": "crossentropy",
            },
            "model": {
                "initializer": "xavier_uniform",
                "tied_embeddings": False,
                "tied_softmax": False,
                "encoder": {
                    "type": "recurrent",
                    "bidirectional": True,
                    "embeddings": embeddings,
                    **unit,
                },
                "decoder": {
                    "type": "recurrent",
                    "embeddings": embeddings,
                    "hidden_dropout": 0.0,
                    "init_hidden": "bridge",
                    "input_feeding": True,
                    "attention": "bahdanau",
                    **unit,
                },
            },
        }

    def write_training(self, task: Task, search: dict[str, Any] | None = None) -> list[str]:
        """Write one YAML file; `search` is for translating."""
        data = task.data
        side = {"level": "word", "lowercase": False, "max_length": task.max_length}
        settings = {
            "name": "bench",
            "model_dir": str(task.folder / "model"),
            "use_cuda": False,
            "num_workers": 0,
            "normalization": "batch",
            "random_seed": 1,
            "data": {
                "train": str(data.prepared / "train"),
                "dev": str(data.prepared / "dev"),
                "dataset_type": "plain",
                "src": {"lang": "src", "voc_file": str(data.words / "src"), **side},
                "trg": {"lang": "tgt", "voc_file": str(data.words / "tgt"), **side},
            },
            "testing": {"max_output_length": task.max_length, **(search or {})},
            **self.settings(task),
        }
        name = "train.yaml" if search is None else f"translate-{search['beam_size']}.yaml"
        mode = ["train"] if search is None else ["translate"]
        skip = ["--skip-test"] if search is None else []
        return [*mode, str(write_settings(task.folder / name, settings)), *skip]

    def model(self, task: Task) -> Path:
        """Return the checkpoint of the last update."""
        return task.folder / "model" / f"{task.updates}.ckpt"

    def translate(self, task: Task, source: Path, output: Path, beam: int) -> Command:
        """Return the command, which reads lines from stdin and prints translations to stdout."""
        search = {
            "beam_size": beam,
            "beam_alpha": 1.0,
            "batch_size": self.batch(beam),
            "batch_type": "sentence",
            "load_model": str(self.model(task)),
        }
        return [self.python, "-c", code_calling(self.module), *self.write_training(task, search)]

    def streams(self, source: Path, output: Path) -> dict[str, Path]:
        """Use both stdin and stdout."""
        return {"stdin": source, "stdout": output}


REPORTED = 5
"""Updates between two progress lines of Marian."""

MARIAN_LONGEST = 10_000
"""Most tokens of a line that Marian translates: behind a longer one it writes no more lines."""

REPORT = re.compile(r"Up\. ([\d,]+) .*: Time ([\d.]+)s : ([\d.,]+) words/s")
"""Marian's progress line: updates so far, seconds since the previous line, and target words per
second including `</s>`."""


class Marian(System):
    """Marian, from a binary that the user names or the one inside the package pymarian 1.12.42."""

    name = "Marian"
    products = staticmethod(marian)

    def __init__(
        self, python: Path, binary: Path | None = None, shortlist: Path | None = None
    ) -> None:
        """Choose how to start Marian.

        :param binary: `marian`; without it, pymarian in the environment of `python`.
        :param shortlist: table of word translations for its translations.
        """
        super().__init__(python)
        self.shortlist = shortlist
        call = "import _pymarian, sys; sys.exit(_pymarian.main(sys.argv[1:]))"
        self.start: Command = [python, "-c", call] if binary is None else [binary]

    def environment(self, threads: int) -> dict[str, str]:
        """Use one thread per product: Marian starts its own threads."""
        return cpu_environment(1)

    def settings(self, task: Task) -> dict[str, Any]:
        """Return the options of the model and of its optimizer."""
        return {
            "type": "s2s",
            "dim-emb": task.sizes.embedding,
            "dim-rnn": task.sizes.hidden,
            "mini-batch": task.batch,
            "learn-rate": task.learning_rate,
            "cost-type": "ce-mean",
        }

    def write_training(self, task: Task) -> list[str]:
        """Return options; vocabularies contain Marian's own special words."""
        data = task.data
        task.folder.mkdir(parents=True, exist_ok=True)
        for side in ("src", "tgt"):
            words = (data.words / side).read_text(encoding="utf-8")
            (task.folder / f"{side}.txt").write_text("</s>\n<unk>\n" + words, encoding="utf-8")
        options = {
            "train-sets": [data.text("train", "src"), data.text("train", "tgt")],
            "vocabs": self._vocabularies(task),
            "model": self.model(task),
            "maxi-batch": POOL,
            "max-length": task.max_length,
            "cpu-threads": task.threads,
            "optimizer": "adam",
            "clip-norm": 1,
            **self.settings(task),
            "after": f"{task.updates}u",
            "save-freq": f"{task.updates}u",
            "disp-freq": f"{REPORTED}u",
        }
        return ["train", "--sync-sgd", "--overwrite", *_options(options)]

    def _vocabularies(self, task: Task) -> list[Path]:
        return [task.folder / "src.txt", task.folder / "tgt.txt"]

    def train(self, task: Task) -> Command:
        """Return the `marian train` command."""
        return [*self.start, *self.write_training(task)]

    def time_training(self, task: Task, warmup: int) -> Rate:
        """Measure the rate by Marian's log, which reports words and seconds every fifth update.

        The processor time is that of the whole run.
        """
        for old in task.folder.glob("model.npz*"):
            old.unlink()  # otherwise Marian would resume it
        log = task.folder / "log"
        cost = run_command(self.train(task), log, self.environment(task.threads))
        reports = marian_reports(log.read_text(encoding="utf-8"))
        steady = [(seconds, words) for update, seconds, words in reports if update > warmup]
        if not steady:
            raise BenchError(f"{log}: no report on updates after {warmup}")
        seconds = sum(item[0] for item in steady)
        words = sum(item[1] for item in steady)
        by_cpu = sum(item[2] for item in reports) / cost.cpu
        return Rate(words / seconds, by_cpu, cost.peak)

    def seconds_per_update(self, task: Task, warmup: int) -> float:
        """Measure the time of an update by Marian's log."""
        self.time_training(task, warmup)
        reports = marian_reports((task.folder / "log").read_text(encoding="utf-8"))
        steady = [seconds for update, seconds, _ in reports if update > warmup]
        return sum(steady) / (len(steady) * REPORTED)

    def model(self, task: Task) -> Path:
        """Return the model file."""
        return task.folder / "model.npz"

    def translate(self, task: Task, source: Path, output: Path, beam: int) -> Command:
        """Return the `marian decode` command."""
        options = {
            "models": self.model(task),
            "vocabs": self._vocabularies(task),
            "input": source,
            "output": output,
            "beam-size": beam,
            "normalize": 1,
            "mini-batch": self.batch(beam),
            "maxi-batch": 1000,
            "maxi-batch-sort": "src",
            "max-length": MARIAN_LONGEST,
            "cpu-threads": task.threads,
            **({"shortlist": [self.shortlist, 100, 50, 0]} if self.shortlist else {}),
        }
        return [*self.start, "decode", "--quiet-translation", *_options(options)]


def _options(options: dict[str, Any]) -> list[str]:
    """Return settings as `--name value value`."""
    words: list[str] = []
    for name, value in options.items():
        values = value if isinstance(value, list) else [value]
        words += [f"--{name}", *map(str, values)]
    return words


def marian_reports(log: str) -> list[tuple[int, float, float]]:
    """Return progress from Marian's log: updates, seconds and words since the last line.

    The number of words is as precise as the logged rate.
    """
    reports = []
    for line in REPORT.finditer(log):
        updates, seconds, rate = (float(group.replace(",", "")) for group in line.groups())
        reports.append((int(updates), seconds, seconds * rate))
    return reports


PEERS = {"opennmt": OpenNMT, "eole": Eole, "joeynmt": JoeyNMT, "marian": Marian}
"""Peers by the folder of their environment, as `bench/peers/build.sh` names it."""


def peers(folder: Path | None, marian: Path | None = None) -> list[System]:
    """Return the installed peers, and log those that are missing.

    :param folder: Where `bench/peers/build.sh` put their environments.
    :param marian: A Marian binary to use instead of the package's.
    """
    systems: list[System] = []
    for name, cls in PEERS.items():
        python = (folder or Path("nowhere")).absolute() / name / "bin" / "python"
        if cls is Marian and marian is not None:
            systems.append(Marian(python, marian.absolute()))
        elif python.is_file():
            systems.append(cls(python))
        else:
            report_progress(f"{cls.name} is skipped: it is not installed; see bench/peers/build.sh")
    return systems
