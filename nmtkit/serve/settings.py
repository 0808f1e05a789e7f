"""Settings of the server, as the command line gives them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from nmtkit.serve.public_url import PublicUrl
from nmtkit.serve.routes import Pair, Route, routes_of


@dataclass(frozen=True)
class ModelSettings:
    """How models are loaded.

    folders: of each pair of languages; several are an ensemble.
    glossaries: name -> file. params: which parameters. search: settings that differ from the
    model's. fast: as `nmtkit translate --fast`. cores: workers of all models that work at a time.
    unload_idle: seconds after which an unused model is unloaded; 0: never. watch: seconds between
    looks whether a folder was replaced; 0: never. pivots: languages through which pairs without a
    model are translated.
    """

    folders: Mapping[Pair, tuple[Path, ...]]
    pivots: tuple[str, ...] = ()
    glossaries: Mapping[str, Path] = field(default_factory=dict)
    device: str = "auto"
    params: str = "best"
    search: Mapping[str, Any] = field(default_factory=dict)
    fast: bool = False
    batch_size: int = 64
    cores: int = field(default_factory=lambda: os.cpu_count() or 1)
    unload_idle: float = 0.0
    watch: float = 2.0

    @cached_property
    def routes(self) -> Mapping[Pair, Route]:
        """The models of each pair that can be translated, in turn.

        :raises ConfigError: nothing needs a pivot language.
        """
        return routes_of(self.folders, self.pivots)


@dataclass(frozen=True)
class Limits:
    """What a request may ask for.

    body: bytes of a request. characters, lines: of its text. seconds: until it must be answered.
    queue: characters that may wait for all clients. file, file_seconds: bytes of an uploaded file,
    which counts no characters, and until it must be translated. rate: requests of a key or an
    address per minute; 0: no limit. alternatives: further translations, or continuations of a
    prefix. terms: of a request. connections: open at a time.
    """

    body: int = 2 << 20
    characters: int = 100_000
    lines: int = 2_000
    seconds: float = 60.0
    queue: int = 2_000_000
    file: int = 10 << 20
    file_seconds: float = 600.0
    rate: int = 0
    alternatives: int = 10
    terms: int = 100
    connections: int = 1_000


@dataclass(frozen=True)
class ServerSettings:
    """Where the server listens, whom it serves, and what it writes.

    public_url: address of the server for its clients, if it is another one: that of a proxy.
    origins: of web pages that may use it from other servers. hosts: names by which it may be
    called; empty: any. keys: file of keys, or None: no keys are needed. log_texts: write texts to
    the log. drain: seconds that requests have to finish after SIGTERM.
    """

    models: ModelSettings
    limits: Limits = Limits()
    host: str = "127.0.0.1"
    port: int = 5000
    public_url: PublicUrl | None = None
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    keys: Path | None = None
    log_texts: bool = False
    drain: float = 30.0
