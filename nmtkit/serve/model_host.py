"""The host of a model: a process that loads it once, and forks workers that share its memory.

It is a new Python with one thread, so that it can be forked whenever the server asks for a worker.
On a device that forks cannot share, threads of the host do the work. It ends when its socket ends,
thus also when the server is killed.
"""

import array
import functools
import gc
import json
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from socket import SCM_RIGHTS, SOL_SOCKET, socket
from typing import Any

from nmtkit.errors import NmtkitError
from nmtkit.serve.messages import LENGTH

WARM_UP = ("1 2 3", "A line, to warm up.")
"""Lines that are translated before the model is ready, to fill its caches."""

MAX_COMMAND = 1 << 16
"""Bytes of a command."""


def main(descriptor: int) -> None:
    """Load the model that the first command describes, and obey commands until the socket ends.

    A line of JSON on stdout says that the model is ready, or why it cannot be loaded.

    :param descriptor: of the socket of commands.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the server ends its hosts
    commands = socket(fileno=descriptor)
    settings, _ = receive_command(commands)
    if settings is None:
        return
    try:
        host = ModelHost(settings, commands)
    except Exception as error:
        from nmtkit.errors import is_out_of_memory

        message = str(error) if isinstance(error, NmtkitError | OSError) else repr(error)
        message = "not enough memory for the model" if is_out_of_memory(error) else message
        _say({"error": message})
        return
    _say({"ready": host.facts()})
    host.run()


def _say(message: Mapping[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def receive_command(commands: socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Wait for a command and the descriptors that come with it.

    :return: None if the socket has ended.
    """
    descriptors = array.array("i")
    data, ancillary, _, _ = commands.recvmsg(MAX_COMMAND, 4 * LENGTH.size + 64)
    for level, kind, content in ancillary:
        if (level, kind) == (SOL_SOCKET, SCM_RIGHTS):
            descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
    return (json.loads(data) if data else None), list(descriptors)


class ModelHost:
    """A loaded model and its workers.

    :param settings: `folders`, `glossaries` (name -> file), `device`, `fast`, `params`.
    :param commands: socket of commands.
    :raises NmtkitError: the model or a glossary cannot be loaded.
    """

    def __init__(self, settings: Mapping[str, Any], commands: socket) -> None:
        import torch

        torch.set_num_threads(1)  # forks have no other threads; each worker is one core
        from nmtkit.inference.ensemble import Ensemble
        from nmtkit.inference.translator import Translator
        from nmtkit.serve.piece import PieceTranslator

        started = time.perf_counter()
        folders: Sequence[str] = settings["folders"]
        ensemble = Ensemble.load(folders, settings["device"], settings["params"])
        if settings["fast"]:
            from nmtkit.inference.fast import fast_translator

            translator = fast_translator(ensemble, folders, settings["batch_size"])
        else:
            translator = Translator(ensemble, batch_size=settings["batch_size"])
        if settings["search"]:
            translator = translator.with_search(**settings["search"])
        glossaries = _read_glossaries(settings["glossaries"], ensemble)
        self._translator = PieceTranslator(translator, glossaries)
        list(translator.translate(WARM_UP))
        gc.collect()
        gc.freeze()  # what is there now stays shared: collections in forks do not touch it
        self._forks = all(member.device.type == "cpu" for member in ensemble.members)
        self._ensemble, self._commands = ensemble, commands
        self._seconds = time.perf_counter() - started
        self._workers: list[BaseProcess] = []

    def facts(self) -> dict[str, Any]:
        """Return facts on the model for the server."""
        from nmtkit.serve.document import document_endings

        models: list[Any] = [member.model for member in self._ensemble.members]
        return {
            "parameters": sum(p.numel() for model in models for p in model.parameters()),
            "seconds": round(self._seconds, 3),
            "forks": self._forks,
            "endings": document_endings(),
        }

    def run(self) -> None:
        """Obey commands until the socket ends; then the workers end, too."""
        while True:
            command, descriptors = receive_command(self._commands)
            if command is None:
                break
            self._workers = [worker for worker in self._workers if worker.is_alive()]
            if "kill" in command:
                for worker in self._workers:
                    if worker.pid == command["kill"]:
                        worker.kill()
            for descriptor in descriptors:
                self._start(socket(fileno=descriptor))
        for worker in self._workers:
            worker.kill()

    def _start(self, connection: socket) -> None:
        from nmtkit.serve.worker import run_worker

        if self._forks:
            from nmtkit.parallel.fork import start_fork

            self._workers.append(
                start_fork(run_worker, self._translator, connection, self._commands.close)
            )
            connection.close()
        else:
            run = functools.partial(run_worker, self._translator, connection, lambda: None)
            threading.Thread(target=run, daemon=True).start()


def _read_glossaries(files: Mapping[str, str], ensemble: Any) -> dict[str, Any]:
    from nmtkit.text.glossary_file import read_glossary

    text = ensemble.first.config.text
    languages = (text.src_language, text.tgt_language)
    return {name: read_glossary(Path(file), languages) for name, file in files.items()}


if __name__ == "__main__":
    main(int(sys.argv[1]))
