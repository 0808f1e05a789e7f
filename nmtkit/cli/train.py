"""`nmtkit train`: a prepared folder in, a model folder out."""

from pathlib import Path
from time import monotonic

import click

from nmtkit.cli import completion
from nmtkit.cli.allocator import keep_freed_memory
from nmtkit.cli.command import FILES, HARDWARE, declare_command, group, option
from nmtkit.cli.old_spellings import Renamed
from nmtkit.cli.rules import exclusive
from nmtkit.cli.shared_options import (
    Duration,
    PathName,
    device_option,
    force_option,
    output_option,
    threads_option,
)
from nmtkit.cli.startup import configure_threads

DEFAULT_RECIPE = "rnnsearch-modern"

GUIDED = ("training.guided_alignment=0.2", "training.guided_updates=0")
"""Settings of --guided."""

TERMS_AUGMENT = ("data.terms_augment=0.3",)
"""Setting of --terms-augment."""


@declare_command(
    rules=[
        exclusive("--time", "--updates"),
        exclusive(
            "--show-config",
            "--time",
            because="the plan needs the corpus and the machine; config.toml in the model folder has"
            " its settings once the training has begun",
        ),
        exclusive(
            "--show-config",
            "--updates",
            because="the settings without it are shown; give it when you train",
        ),
    ],
    renamed=[Renamed("-s {KEY=VALUE}", "-S {KEY=VALUE}"), Renamed("--resume", "")],
)
@click.argument("prepared", type=PathName(path_type=Path, file_okay=False), required=False)
@group(
    FILES,
    output_option(
        "Model folder. The same command resumes an interrupted training.",
        type=PathName(path_type=Path, file_okay=False),
        metavar="DIR",
        default=None,
    ),
    option(
        "--from",
        "initial_model",
        type=PathName(path_type=Path),
        metavar="MODEL",
        common=True,
        help="Start from another model's parameters. MODEL is its folder, or a file of parameters"
        " in it. Its settings are used, too, unless --recipe or the key 'base' of --config names"
        " others.",
    ),
    option(
        "--page",
        type=PathName(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Write an HTML page to watch the training by, again with every new figure: curves,"
        " translations of the dev set as they improve, the plan and the time left. It replaces an"
        " earlier page, but no other file, not even with --force.",
    ),
    option(
        "--tensorboard",
        is_flag=True,
        help="Write TensorBoard files into the model folder.",
    ),
)
@group(
    "Settings",
    option(
        "--time",
        type=Duration(),
        metavar="DURATION",
        common=True,
        help="Train for this long: 30m, 2h, 1d. Without --recipe, --config and --from, the model's"
        " size and all that depends on it are planned for this corpus and this machine; with one of"
        " them its own limits, such as training.patience, may end the training earlier. A training"
        " whose time is over goes on with a longer one, by its first plan.",
    ),
    option(
        "--updates",
        type=click.IntRange(min=1),
        metavar="N",
        help="Train for N updates, or until training.patience or training.max_epochs ends it, if"
        " the settings have them. With the settings of a model that was planned by --time, and its"
        " number of updates, its training is repeated on any machine.",
    ),
    option(
        "-r",
        "--recipe",
        metavar="NAME",
        shell_complete=completion.recipes,
        common=True,
        help="Named settings. See --list-recipes. There is no default with --config or --from."
        f"  [default: {DEFAULT_RECIPE}]",
    ),
    option(
        "-c",
        "--config",
        "config_file",
        type=PathName(path_type=Path, dir_okay=False),
        metavar="FILE",
        common=True,
        help="Settings in a TOML file. Its key 'base' may name a recipe to start from. Without it,"
        " --recipe and --from, settings that the file lacks have their defaults, not those of"
        f" {DEFAULT_RECIPE}.",
    ),
    option(
        "-S",
        "--set",
        "overrides",
        multiple=True,
        metavar="SECTION.KEY=VALUE",
        shell_complete=completion.settings,
        common=True,
        help="One setting: training.seed=2. Repeatable.",
    ),
    option(
        "--reverse",
        is_flag=True,
        common=True,
        help="Translate from target to source. The same as --set data.swap_sides=true.",
    ),
    option(
        "--guided",
        is_flag=True,
        help="Guide the attention by links of words that are learned from the corpus, throughout:"
        " alignments that fit better, and faster learning where sentences are long. The same as"
        " --set training.guided_alignment=0.2 --set training.guided_updates=0. The plan of --time"
        " guides it without this option, too, but with a weight that falls to 0 at the end.",
    ),
    option(
        "--terms-augment",
        is_flag=True,
        help="Replace some source words by translations in three tenths of the training pairs, as"
        " 'translate --terms' then does with the terms of a line, which the model so places and"
        " inflects. The same as --set data.terms_augment=0.3.",
    ),
    option(
        "--list-recipes",
        is_flag=True,
        common=True,
        help="Print the names of the recipes, and exit. With PREPARED, also how long each trains on"
        " it on this machine, without validations.",
    ),
    option(
        "--show-config", is_flag=True, common=True, help="Print the settings as TOML, and exit."
    ),
)
@group(HARDWARE, device_option, threads_option)
@force_option
def command(
    prepared: Path | None,
    output: Path | None,
    initial_model: Path | None,
    time: float | None,
    updates: int | None,
    recipe: str | None,
    config_file: Path | None,
    overrides: tuple[str, ...],
    reverse: bool,
    guided: bool,
    terms_augment: bool,
    page: Path | None,
    tensorboard: bool,
    list_recipes: bool,
    show_config: bool,
    device: str,
    threads: int,
    force: bool,
) -> None:
    """Train a model on the folder PREPARED of 'nmtkit prepare' and 'nmtkit shortlist'.

    The same command run again resumes training exactly where it stopped, or reports that it is
    finished; --force deletes an existing model folder and starts again. Settings come from the
    recipe, then the config file, then --set. Metrics are written to metrics.jsonl in the model
    folder; 'nmtkit curves' tabulates and draws them. Processes that torchrun starts together each
    work on a part of every batch.

    Examples:
      nmtkit train prepared -o model --recipe rnnsearch-50
      nmtkit train prepared -o model --recipe rnnsearch-50 --set training.seed=2
      nmtkit train other -o adapted --from model
      nmtkit train prepared -o model --time 30m
      nmtkit train prepared -o again --config model/config.toml --updates 5700
      torchrun --nproc-per-node 2 -m nmtkit train prepared -o model

    """
    from nmtkit.config_io import recipe_names

    started = monotonic()
    overrides = (*GUIDED, *overrides) if guided else overrides
    overrides = (*TERMS_AUGMENT, *overrides) if terms_augment else overrides
    overrides = (*overrides, "data.swap_sides=true") if reverse else overrides
    if list_recipes and prepared is None:
        click.echo("\n".join(recipe_names()))
        return
    if show_config:
        from nmtkit.training.settings import describe_settings

        if recipe is None and config_file is None and initial_model is None:
            recipe = DEFAULT_RECIPE
        click.echo(describe_settings(recipe, config_file, overrides, initial_model), nl=False)
        return
    if prepared is not None and list_recipes:
        configure_threads(threads)
        from nmtkit.training.recipe_times import recipe_times

        for time_of_recipe in recipe_times(prepared, overrides, device):
            click.echo(time_of_recipe)
        return
    if prepared is None or output is None:
        raise click.UsageError("Training needs PREPARED and --output.")
    configure_threads(threads)
    keep_freed_memory()
    from nmtkit.training.train import train

    watcher = None
    if page is not None:
        from nmtkit.report.training_page import TrainingPage

        watcher = TrainingPage(page, output)
    train(
        prepared,
        output,
        recipe=recipe,
        config_file=config_file,
        overrides=overrides,
        device=device,
        tensorboard=tensorboard,
        force=force,
        initial_model=initial_model,
        time=time,
        default_recipe=DEFAULT_RECIPE,
        started=started,
        updates=updates,
        watcher=watcher,
    )
