"""`nmtkit train`: a prepared folder in, a model folder out."""

from pathlib import Path

import click

from nmtkit.cli.allocator import keep_freed_memory
from nmtkit.cli.common import configure_threads, device_option, force_option, threads_option


@click.command()
@click.argument("prepared", type=click.Path(path_type=Path), required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The model folder; where one is already, training goes on in it.",
)
@click.option(
    "-r",
    "--recipe",
    metavar="NAME",
    help="Settings that come with nmtkit; --list-recipes names them.  [default: rnnsearch-modern]",
)
@click.option(
    "-c",
    "--config",
    "config_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A TOML file with settings; its key 'base' may name a recipe to start from.",
)
@click.option(
    "-s",
    "--set",
    "overrides",
    multiple=True,
    metavar="SECTION.KEY=VALUE",
    help="One setting, such as training.seed=2; may be given many times.",
)
@click.option(
    "--reverse",
    is_flag=True,
    help="Translate the other way: from the target of PREPARED to its source. The same as --set"
    " data.swap_sides=true.",
)
@click.option("--tensorboard", is_flag=True, help="Write TensorBoard files into the model folder.")
@click.option("--list-recipes", is_flag=True, help="Print the names of the recipes, and exit.")
@click.option("--show-config", is_flag=True, help="Print the settings as TOML, and exit.")
@device_option
@threads_option
@force_option
def command(
    prepared: Path | None,
    output: Path | None,
    recipe: str | None,
    config_file: Path | None,
    overrides: tuple[str, ...],
    reverse: bool,
    tensorboard: bool,
    list_recipes: bool,
    show_config: bool,
    device: str,
    threads: int,
    force: bool,
) -> None:
    """Train a model on the folder PREPARED, which 'nmtkit prepare' and 'nmtkit shortlist' made.

    The same command given again goes on exactly where training stood, or says that it is over.
    Settings are taken from the recipe, then the config file, then --set. Figures of the training
    are written to metrics.jsonl in the model folder, which 'nmtkit curves' tabulates and draws;
    --force throws away a model folder that exists and starts anew. In processes that torchrun
    starts together each works on its part of every batch.

    \b
    Examples:
      nmtkit train prepared --output model --recipe rnnsearch-50 --set training.seed=2
      torchrun --nproc-per-node 2 -m nmtkit train prepared --output model
    """
    from nmtkit.config_io import recipe_names

    overrides = (*overrides, "data.swap_sides=true") if reverse else overrides
    if list_recipes:
        click.echo("\n".join(recipe_names()))
        return
    if recipe is None and config_file is None:
        recipe = "rnnsearch-modern"
    if show_config:
        from nmtkit.training.train import describe_settings

        click.echo(describe_settings(recipe, config_file, overrides), nl=False)
        return
    if prepared is None or output is None:
        raise click.UsageError("Training needs PREPARED and --output.")
    configure_threads(threads)
    keep_freed_memory()
    from nmtkit.training.train import train

    train(
        prepared,
        output,
        recipe=recipe,
        config_file=config_file,
        overrides=overrides,
        device=device,
        tensorboard=tensorboard,
        force=force,
    )
