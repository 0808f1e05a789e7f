"""CTranslate2, which translates with a Transformer that OpenNMT-py has trained.

It has no recurrent models. Compare it at equal BLEU: `bench/translate.py` reports that of each row.
"""

import shlex
from pathlib import Path
from typing import Any

from opennmt_systems import OpenNMTTransformer
from systems import Command, Task, code_calling

SCRIPT = Path(__file__).resolve().parent / "peers" / "ctranslate.py"


class CTranslate2(OpenNMTTransformer):
    """CTranslate2 4.8.5, in float32 or with 8-bit products."""

    def __init__(self, python: Path, compute_type: str = "float32") -> None:
        """Choose the products.

        :param python: of OpenNMT-py's environment, which has CTranslate2, too.
        :param compute_type: its name for them, such as "int8".
        """
        super().__init__(python)
        self.compute_type = compute_type
        self.name = f"CTranslate2 4.8.5, Transformer, {compute_type}"

    def settings(self, task: Task) -> dict[str, Any]:
        """Return settings of the Transformer, in batches of twice as many tokens.

        The converter knows only one name of the attention; OpenNMT-py's own computes the same.
        """
        return super().settings(task) | {"batch_size": 1600, "self_attn_type": "scaled-dot"}

    def train(self, task: Task) -> Command:
        """Return a command that trains and converts."""
        converter = code_calling("ctranslate2.converters.opennmt_py:main")
        files: Command = ["--model_path", super().model(task), "--output_dir"]
        files += [self.model(task).parent, "--force", "--unsafe_deserialization"]
        commands: list[Command] = [super().train(task), [self.python, "-c", converter, *files]]
        return ["sh", "-c", " && ".join(shlex.join(map(str, words)) for words in commands)]

    def model(self, task: Task) -> Path:
        """Return the converted parameters."""
        return task.folder / "converted" / "model.bin"

    def translate(self, task: Task, source: Path, output: Path, beam: int) -> Command:
        """Return the command, which reads lines from stdin and prints translations to stdout."""
        folder, threads = self.model(task).parent, str(task.threads)
        search = [str(beam), str(self.batch(beam)), str(task.max_length)]
        return [self.python, SCRIPT, folder, self.compute_type, threads, *search]

    def streams(self, source: Path, output: Path) -> dict[str, Path]:
        """Use both stdin and stdout."""
        return {"stdin": source, "stdout": output}
