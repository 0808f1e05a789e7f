"""`nmtkit serve`: models behind the APIs that translators' tools know."""

from typing import Any

import click

from nmtkit.cli.command import declare_command
from nmtkit.cli.rules import Rule, excludes, needs
from nmtkit.cli.serve_options import serve_options, server_settings
from nmtkit.cli.shared_options import FOLDER, force_option

RULES: list[Rule] = [
    needs("--new-key", "--keys"),
    *excludes(
        "--new-key",
        "MODEL",
        "--pair",
        "--pivot",
        "--glossary",
        "--check",
        because="it only makes a key",
    ),
    needs("--output", "--new-key"),
    needs("--force", "--new-key"),
]


@declare_command(rules=RULES)
@click.argument("models", nargs=-1, type=FOLDER, metavar="[MODEL]...")
@serve_options
@force_option
def command(
    models: tuple[str, ...],
    new_key: str | None,
    output: str,
    force: bool,
    check: bool,
    keys: str | None,
    search: dict[str, Any],
    **values: Any,
) -> None:
    """Translate for programs that know LibreTranslate, Marian or Moses.

    Each MODEL is the folder of a trained model, whose languages stand in it. Clients of
    LibreTranslate use http://ADDRESS:PORT, those of Marian ws://ADDRESS:PORT/translate, those of
    Moses http://ADDRESS:PORT/RPC2. A browser finds a page for translating at /, and the description
    of the API at /docs.

    The server listens on this machine alone unless --host says otherwise; then give --keys, and a
    proxy that speaks TLS. The log goes to stderr, one JSON object a line, without texts.

    SIGTERM refuses new requests and ends when those at work are answered. SIGHUP loads models,
    glossaries and keys again; so does a new model folder under the same name. No request is lost.

    Examples:
      nmtkit serve model
      nmtkit serve model --pair fr-en=back --glossary names=names.tsv
      nmtkit serve fr-en en-de --pivot en
      nmtkit serve --new-key omegat --keys keys.txt
      nmtkit serve model --host 0.0.0.0 --keys keys.txt --rate 600

    """
    if new_key:
        from pathlib import Path

        from nmtkit.io.lines import open_output
        from nmtkit.serve.keys import add_key

        with open_output(output, force) as file:
            add_key(Path(str(keys)), new_key, file)
        return
    from nmtkit.serve.server import check_models, serve

    settings = server_settings(models, keys, values, search)
    check_models(settings) if check else serve(settings)
