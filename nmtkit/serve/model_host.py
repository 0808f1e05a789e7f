"""The host of a model: a process that loads it once, and forks workers that share its memory.

It is a new Python with one thread, so that it can be forked whenever the server asks for a worker.
On a device that forks cannot share, threads of the host do the work. It ends when its socket ends,
thus also when the server is killed.
"""

import array
import functools
import gc
import json
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from socket import CMSG_SPACE, SCM_RIGHTS, SOL_SOCKET, socket
from typing import Any

from nmtkit.errors import ModelError, NmtkitError
from nmtkit.parallel.fork_start import STOP_SIGNALS

WARM_UP = ("1 2 3", "A line, to warm up.")
"""Lines that are translated before the model is ready, to fill its caches."""

MAX_COMMAND = 1 << 16
"""Bytes that are received at once."""

MAX_ANCILLARY = 64
"""Bytes of the descriptors that are received at once."""


def main(descriptor: int) -> None:
    """Load the model that the first command describes, and obey commands until the socket ends.

    A line of JSON on stdout says that the model is ready, or why it cannot be loaded.

    :param descriptor: of the socket of commands.
    """
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # the server ends its hosts
    with socket(fileno=descriptor) as connection:
        _obey(Commands(connection))


def _obey(commands: "Commands") -> None:
    settings = commands.next()
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


class Commands:
    """The commands of the server: a line of JSON each, and a descriptor with those that start.

    :param connection: the socket; lines may arrive together, and in parts.
    """

    def __init__(self, connection: socket) -> None:
        self._connection = connection
        self._pending = b""
        self._descriptors: deque[int] = deque()

    def next(self) -> dict[str, Any] | None:
        """Wait for a command; return None if the socket has ended."""
        while b"\n" not in self._pending:
            data, ancillary, _, _ = self._connection.recvmsg(MAX_COMMAND, CMSG_SPACE(MAX_ANCILLARY))
            if not data:
                return None
            self._pending += data
            for level, kind, content in ancillary:
                if (level, kind) == (SOL_SOCKET, SCM_RIGHTS):
                    numbers = array.array("i")
                    numbers.frombytes(
                        content[: len(content) // numbers.itemsize * numbers.itemsize]
                    )
                    self._descriptors.extend(numbers)
        line, _, self._pending = self._pending.partition(b"\n")
        command: dict[str, Any] = json.loads(line)
        return command

    def descriptor(self) -> int:
        """Return the descriptor that came with a command that starts a worker."""
        return self._descriptors.popleft()

    def close(self) -> None:
        """Close the socket, and stdout, in a fork, so that the server sees when the host ends."""
        self._connection.close()
        os.dup2(2, 1)


class ModelHost:
    """A loaded model and its workers.

    :param settings: `folders`, `glossaries` (name -> file), `device`, `fast`, `params`, and the
        `languages` of the models that were loaded from these folders before, or None.
    :param commands: those of the server.
    :raises NmtkitError: the model or a glossary cannot be loaded, or the model is of another pair.
    """

    def __init__(self, settings: Mapping[str, Any], commands: Commands) -> None:
        import torch

        torch.set_num_threads(1)  # forks have no other threads; each worker is one core
        from nmtkit.inference.ensemble import Ensemble
        from nmtkit.inference.translator import Translator
        from nmtkit.serve.document import prepare_for_files
        from nmtkit.serve.piece import PieceTranslator

        started = time.perf_counter()
        folders: Sequence[str] = settings["folders"]
        ensemble = Ensemble.load(folders, settings["device"], settings["params"])
        texts = [member.config.text for member in ensemble.members]
        self._languages = [[text.src_language, text.tgt_language] for text in texts]
        check_languages(folders, self._languages, settings["languages"])
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
        prepare_for_files(translator)
        gc.collect()
        gc.freeze()  # what is there now stays shared: collections in forks do not touch it
        self._forks = all(member.device.type == "cpu" for member in ensemble.members)
        self._ensemble, self._commands = ensemble, commands
        self._seconds = time.perf_counter() - started
        self._workers: list[BaseProcess] = []

    def facts(self) -> dict[str, Any]:
        """Return facts on the model for the server."""
        models: list[Any] = [member.model for member in self._ensemble.members]
        return {
            "parameters": sum(p.numel() for model in models for p in model.parameters()),
            "seconds": round(self._seconds, 3),
            "forks": self._forks,
            "languages": self._languages,
        }

    def run(self) -> None:
        """Obey commands until the socket ends; then the workers end, too."""
        try:
            while (command := self._commands.next()) is not None:
                self._workers = [worker for worker in self._workers if worker.is_alive()]
                if command.get("start"):
                    self._start(socket(fileno=self._commands.descriptor()))
                for worker in self._workers:
                    if worker.pid == command.get("kill"):
                        worker.kill()
        finally:
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


def check_languages(
    folders: Sequence[str],
    languages: Sequence[Sequence[str]],
    earlier: Sequence[Sequence[str]] | None,
) -> None:
    """Refuse models that have taken the place of models of other languages.

    :param folders: of the models.
    :param languages: source and target language of each; "" where a model does not name it.
    :param earlier: those of the models that were there before; None: there were none.
    :raises ModelError: a model is of another pair than the one before.
    """
    for folder, new, old in zip(folders, languages, earlier or languages, strict=True):
        if new != old and all(new) and all(old):
            raise ModelError(
                f"{folder}: translates {new[0]} into {new[1]}, but is served for {old[0]} into"
                f" {old[1]}; put a model of this pair there, or start the server again"
            )


def _read_glossaries(files: Mapping[str, str], ensemble: Any) -> dict[str, Any]:
    from nmtkit.text.glossary_file import read_glossary

    text = ensemble.first.config.text
    languages = (text.src_language, text.tgt_language)
    return {name: read_glossary(Path(file), languages) for name, file in files.items()}


if __name__ == "__main__":
    main(int(sys.argv[1]))
