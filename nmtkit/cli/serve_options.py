"""Options of `nmtkit serve`, and the settings that they give."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nmtkit.cli.command import FILES, HARDWARE, group, option
from nmtkit.cli.search_options import search_options
from nmtkit.cli.shared_options import (
    FILE,
    Duration,
    batch_size_option,
    device_option,
    output_option,
    params_option,
    threads_option,
)
from nmtkit.errors import ConfigError

if TYPE_CHECKING:
    from nmtkit.serve.settings import ServerSettings

NETWORK = "Network"
LIMITS = "Limits"
NATURAL = click.IntRange(min=0)
POSITIVE = click.IntRange(min=1)


def server_settings(
    models: tuple[str, ...], keys: str | None, values: Mapping[str, Any], search: Mapping[str, Any]
) -> "ServerSettings":
    """Return the settings of the server.

    :param models: folders of models. keys: file of keys, or None.
    :param values: the other options, by the names of their parameters.
    :param search: fields of `SearchConfig`.
    :raises NmtkitError: a folder or an option cannot be used.
    """
    from nmtkit.serve.pairs import models_of_pairs, named_files
    from nmtkit.serve.public_url import parse_origin, parse_public_url
    from nmtkit.serve.settings import Limits, ModelSettings, ServerSettings

    if not values["timeout"] > 0:
        raise ConfigError("--timeout: 0 seconds are too short; give a time above 0, as 60s")
    return ServerSettings(
        models=ModelSettings(
            folders=models_of_pairs(models, values["pairs"]),
            pivots=values["pivots"],
            glossaries=named_files(values["glossaries"]),
            device=values["device"],
            params=values["params"],
            search=search,
            fast=values["fast"],
            batch_size=values["batch_size"],
            cores=values["threads"] or _cores(),
            unload_idle=values["unload_idle"] or 0.0,
        ),
        limits=Limits(
            body=values["max_body"],
            characters=values["max_characters"],
            lines=values["max_lines"],
            seconds=values["timeout"],
            queue=values["max_queue"],
            file=values["max_file"],
            rate=values["rate"],
            connections=values["max_connections"],
        ),
        host=values["host"],
        port=values["port"],
        public_url=parse_public_url(values["public_url"]) if values["public_url"] else None,
        origins=tuple(map(parse_origin, values["origins"])),
        hosts=values["hosts"],
        keys=Path(keys) if keys else None,
        log_texts=values["log_texts"],
        drain=values["drain"],
    )


def _cores() -> int:
    """Return the number of cores that OMP_NUM_THREADS allows, or that there are."""
    number = os.environ.get("OMP_NUM_THREADS", "")
    return int(number) if number.isdecimal() and 0 < len(number) < 5 else os.cpu_count() or 1


def serve_options(function: Callable[..., Any]) -> Any:
    """Declare all options of `nmtkit serve`."""
    for add in reversed((MODELS, NETWORK_OPTIONS, LIMIT_OPTIONS, search_options, HARDWARE_OPTIONS)):
        function = add(function)
    return function


MODELS = group(
    FILES,
    option(
        "--pair",
        "pairs",
        multiple=True,
        metavar="SRC-TGT=MODEL",
        common=True,
        help="Model of a pair of languages. Repeatable; with MODEL,MODEL an ensemble.",
    ),
    option(
        "--pivot",
        "pivots",
        multiple=True,
        metavar="LANG",
        help="Translate through this language where no model translates a pair, but one into LANG"
        " and one from it do. Repeatable; of several the first counts.",
    ),
    option(
        "--glossary",
        "glossaries",
        multiple=True,
        metavar="NAME=FILE",
        common=True,
        help="Glossary that requests may name. Repeatable; the files are those of 'translate"
        " --terms'.",
    ),
    params_option,
    option(
        "--fast",
        is_flag=True,
        help="Translate with what 'nmtkit optimize' has found to be faster.",
    ),
    option(
        "--unload-idle",
        type=Duration(),
        metavar="TIME",
        help="Unload a model that was not used for so long; the next request loads it.",
    ),
)

NETWORK_OPTIONS = group(
    NETWORK,
    option(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        common=True,
        help="Address to listen on. The default is for this machine alone; 0.0.0.0 is for all.",
    ),
    option(
        "--port",
        type=click.IntRange(0, 65535),
        default=5000,
        metavar="N",
        common=True,
        help="Port to listen on. With 0 it is a free one, which the log names.",
    ),
    option(
        "--public-url",
        metavar="URL",
        help="Address of the server for its clients, if a proxy stands before it, such as"
        " https://example.org/translator. The proxy removes its path.",
    ),
    option(
        "--keys",
        type=FILE,
        metavar="FILE",
        common=True,
        help="Translate only for those who have a key of this file. It has the hashes of the keys."
        " The page, lists of languages and glossaries, health and metrics stay open to all.",
    ),
    option(
        "--new-key",
        metavar="NAME",
        common=True,
        help="Add a key to --keys, write it to stdout, and exit.",
    ),
    output_option("File of the new key."),
    option(
        "--check",
        is_flag=True,
        help="Load the models, glossaries and keys, and exit: with status 0 if all can be served.",
    ),
    option(
        "--cors",
        "origins",
        multiple=True,
        metavar="ORIGIN",
        help="Let web pages from elsewhere use the server, such as https://example.org; '*' is any."
        " Repeatable.",
    ),
    option(
        "--allow-host",
        "hosts",
        multiple=True,
        metavar="NAME",
        help="Serve only requests that call the server by this name. Repeatable.  [default: the"
        " names of this machine if --host is for it alone, else any]",
    ),
    option("--log-texts", is_flag=True, help="Write the texts of POST /translate to the log."),
)

LIMIT_OPTIONS = group(
    LIMITS,
    option(
        "--rate",
        type=NATURAL,
        default=0,
        metavar="N",
        common=True,
        help="Requests per minute of a client. With 0 there is no limit. A client is a key, or an"
        " address (of IPv6 its first 64 bits) if no keys are needed.",
    ),
    option(
        "--timeout",
        type=Duration(),
        default="60s",
        metavar="TIME",
        help="Time for a request.",
    ),
    option(
        "--max-characters",
        type=POSITIVE,
        default=100_000,
        metavar="N",
        help="Characters of a request.",
    ),
    option("--max-lines", type=POSITIVE, default=2_000, metavar="N", help="Lines of a request."),
    option("--max-body", type=POSITIVE, default=2 << 20, metavar="N", help="Bytes of a request."),
    option("--max-file", type=POSITIVE, default=10 << 20, metavar="N", help="Bytes of a file."),
    option(
        "--max-queue",
        type=POSITIVE,
        default=2_000_000,
        metavar="N",
        help="Characters that may wait for all clients. Beyond, the server answers 503.",
    ),
    option(
        "--max-connections", type=POSITIVE, default=1_000, metavar="N", help="Open connections."
    ),
    option(
        "--drain",
        type=Duration(),
        default="30s",
        metavar="TIME",
        help="Time that requests have to finish after SIGTERM.",
    ),
)

HARDWARE_OPTIONS = group(HARDWARE, device_option, threads_option, batch_size_option)
