"""A page to watch a training by: curves, translations as they improve, the plan, the time left.

The page is one HTML file without scripts, which is written anew with every new figure and asks the
browser to load it again. It is replaced at once, so that a reader never sees half of it.
"""

import logging
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Literal

import nmtkit
from nmtkit.config import Config, TrainingConfig
from nmtkit.durations import format_duration
from nmtkit.errors import NmtkitError, OutputError
from nmtkit.io.lines import open_output
from nmtkit.models import model_name
from nmtkit.report.model_card import ModelCard
from nmtkit.report.page_curves import learning_curve_charts
from nmtkit.report.page_resources import page_style
from nmtkit.training.learning_curve import (
    METRICS_FILE,
    Curve,
    TrainingPoint,
    ValidationPoint,
    read_curve,
)
from nmtkit.training.time_left import last_update, seconds_left, share_done
from nmtkit.training.watcher import DevSample

log = logging.getLogger("nmtkit")

REFRESH_SECONDS = 10
MAX_SHOWN_VALIDATIONS = 6
"""Translations of a sentence on the page: the first one and the last ones."""

PLANNED_FACTS = ("Ends after", "Batches", "Learning rate")
"""Facts that the sentences of a plan say."""

GENERATOR = '<meta name="generator" content="nmtkit train">'
"""Mark of a page that a later training may replace."""

MARK_BYTES = 2000  # the mark stands within them
PAGE_SUFFIXES = (".html", ".htm")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"


State = Literal["running", "ended", "interrupted"]
"""State of the training that a page shows."""


class TrainingPage:
    """Writes the page; a `TrainingWatcher`.

    :param path: the page.
    :param model: folder that the training makes, in which the page may be; if it is given, any
        other folder of the page must be there already.
    :raises OutputError: another file is there, the folder of the page is missing, or the page would
        have the name of one of the model's files.
    """

    def __init__(self, path: Path, model: Path | None = None) -> None:
        self.path = path
        self._samples: list[tuple[int, list[DevSample]]] = []
        self._training: tuple[Path, Config] | None = None
        self._plan: Sequence[str] = ()
        self._state: State = "running"
        self._failed = False
        self._refuse_other_file()
        target = path.resolve()
        in_model = model is not None and target.parent == model.resolve()
        if in_model and target.suffix.lower() not in PAGE_SUFFIXES:
            raise OutputError(
                f"{path}: a page in the model folder needs a name that ends in .html, as no other"
                " file there has"
            )
        if model is not None and not target.parent.is_dir() and not in_model:
            raise OutputError(f"{path}: its folder does not exist; make it first")

    def _refuse_other_file(self) -> None:
        """Raise OutputError if a file that is no page of a training has the page's name."""
        if self.path.exists() and not _is_training_page(self.path):
            raise OutputError(
                f"{self.path}: exists already and is no page of 'nmtkit train'; give another file"
            )

    def start(self, folder: Path, config: Config, plan: Sequence[str] = ()) -> None:
        """Write the page without curves.

        :param plan: sentences of the plan that the settings follow from.
        :raises OutputError: it cannot be written.
        """
        self._training, self._plan = (folder, config), plan
        self._write()

    def metrics_written(self) -> None:
        """Write the page with the new figures."""
        self._try_to_write()

    def validated(self, update: int, samples: Sequence[DevSample]) -> None:
        """Keep the translations, and write the page with them."""
        self._samples.append((update, list(samples)))
        if len(self._samples) > MAX_SHOWN_VALIDATIONS:
            del self._samples[1]
        self._try_to_write()

    def finish(self, interrupted: bool) -> None:
        """Write the page for the last time; the browser need not load it again."""
        self._state = "interrupted" if interrupted else "ended"
        self._try_to_write()

    def _try_to_write(self) -> None:
        """Write the page; a page that cannot be written never stops a training."""
        try:
            self._write()
        except (OSError, NmtkitError) as error:
            if not self._failed:
                log.warning("%s; the training goes on without new pages", error)
            self._failed = True

    def _write(self) -> None:
        if self._training is None:
            return
        folder, config = self._training
        has_figures = (folder / METRICS_FILE).exists()
        curve = read_curve(folder) if has_figures else Curve((), ())
        page = render_training_page(
            folder.name, config, curve, self._samples, self._state, self._plan
        )
        self._refuse_other_file()  # it may have been made since the last time
        with open_output(self.path, force=True) as file:
            file.write(page)


def render_training_page(
    name: str,
    config: Config,
    curve: Curve,
    samples: Sequence[tuple[int, Sequence[DevSample]]],
    state: State,
    plan: Sequence[str] = (),
) -> str:
    """Return the page.

    :param name: of the model.
    :param samples: translations by update, the same sentences each time.
    :param state: a page loads itself again only while the training is running.
    :param plan: sentences of the plan that the settings follow from.
    """
    running = state == "running"
    refresh = f'<meta http-equiv="refresh" content="{REFRESH_SECONDS}">\n' if running else ""
    title = f"{name} · training" if running else f"{name} · training {state}"
    share, status = training_status(config, curve, state)
    percent = "" if share is None else f"{100 * share:.0f} % · "
    card = ModelCard(name, name, {}, {}, curve=curve)
    charts = "\n".join(learning_curve_charts([card]))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{GENERATOR}
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
{refresh}<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{percent}{escape(title)}</title>
<style>{page_style()}</style>
</head>
<body>
<header class="top"><h1><bdi>{escape(name)}</bdi></h1>
<p class="lead">{escape(status)}</p>
{_progress_bar(share)}</header>
<main>
<section aria-labelledby="curves"><h2 id="curves">Curves</h2>
{charts or "<p>No figures yet.</p>"}</section>
<section aria-labelledby="samples"><h2 id="samples">Translations of the dev set</h2>
{"".join(_samples(samples, config)) or "<p>Not validated yet.</p>"}</section>
<section aria-labelledby="plan"><h2 id="plan">Plan</h2>
{"".join(_plan(config, plan))}</section>
</main>
<footer><p>Made by nmtkit {escape(nmtkit.__version__)}.</p></footer>
</body>
</html>
"""


def training_status(config: Config, curve: Curve, state: State) -> tuple[float | None, str]:
    """Return the share of the training that is done, and a sentence about it.

    The share is that of the limit which is reached first; None without a limit or figures, and
    after the end, which may come before all limits.
    """
    points: list[TrainingPoint | ValidationPoint] = [
        *curve.training[-1:],
        *curve.validation[-1:],
    ]
    if not points:
        if state == "running":
            return None, "The training has begun; there are no figures yet."
        return None, "The training was over before there were figures."
    last = max(points, key=lambda point: point.update)
    used = last.seconds, last.update, last.epoch
    share = share_done(config.training, *used)
    done = f"{last.update:,} updates, {last.epoch:.2f} epochs in {format_duration(last.seconds)}"
    if state == "ended":
        return None, f"The training has ended after {done}."
    if state == "interrupted":
        return share, f"The training was interrupted after {done}. The same command resumes it."
    left = seconds_left(config.training, *used)
    if left is None:
        return share, f"{done}."
    return share, f"{done}; at most {format_duration(left)} left."


def _progress_bar(share: float | None) -> str:
    if share is None:
        return ""
    return (
        f'<progress max="1" value="{share:.3f}" aria-label="Share of the training that is done">'
        f"{100 * share:.0f} %</progress>"
    )


def _samples(samples: Sequence[tuple[int, Sequence[DevSample]]], config: Config) -> Iterator[str]:
    """Yield each sentence with its translations, the newest first."""
    from_language, to_language = (
        escape(language) for language in (config.text.src_language, config.text.tgt_language)
    )
    if not samples:
        return
    for index, newest in enumerate(samples[-1][1]):
        rows = [
            _row("source", "Source", newest.source, from_language),
            _row("reference", "Reference", newest.reference, to_language),
        ]
        for update, translations in reversed(samples):
            label = f"Update {update:,}"
            rows.append(_row("output", label, translations[index].translation, to_language))
        yield f'<article class="sentence">{"".join(rows)}</article>'


def _row(kind: str, label: str, text: str, language: str) -> str:
    shown = escape(text) or '<i class="unfinished">(empty)</i>'
    return (
        f'<div class="row {kind}"><div class="label">{label}</div><div class="body">'
        f'<p class="text" dir="auto" lang="{language}">{shown}</p></div></div>'
    )


def _plan(config: Config, plan: Sequence[str]) -> Iterator[str]:
    """Yield the sentences of the plan, and what they do not say of the settings."""
    if plan:
        yield "".join(f"<p>{escape(line[:1].upper() + line[1:])}.</p>" for line in plan)
    facts = _facts(config)
    said = PLANNED_FACTS if plan else ()
    rows = (
        f"<div><dt>{label}</dt><dd>{escape(fact)}</dd></div>"
        for label, fact in facts.items()
        if label not in said
    )
    yield f"<dl>{''.join(rows)}</dl>"


def _facts(config: Config) -> dict[str, str]:
    """Return settings of a training in words, by label."""
    training = config.training
    limits = [
        f"{format_duration(training.time_limit)} of training" if training.time_limit else "",
        f"{end:,} updates" if (end := last_update(training)) else "",
        f"{training.max_epochs:g} epochs" if training.max_epochs else "",
    ]
    return {
        "Ends after": " or ".join(filter(None, limits)) or "early stopping alone",
        "Model": model_name(config.model),
        "Languages": f"{config.text.src_language} to {config.text.tgt_language}",
        "Batches": f"{config.data.batch_size:,}",
        "Learning rate": f"{training.learning_rate:g} ({training.optimizer})",
        "Validation": f"every {_validation_interval(training)}",
    }


def _validation_interval(training: TrainingConfig) -> str:
    """Return the time between two validations in words."""
    if training.validate_epochs:
        return f"{training.validate_epochs:g} epochs"
    return f"{training.validate_every:,} updates"


def _is_training_page(path: Path) -> bool:
    """Return True if a file is a page of an earlier training."""
    try:
        with open(path, "rb") as file:
            return GENERATOR.encode() in file.read(MARK_BYTES)
    except OSError as error:
        raise OutputError(f"{path}: cannot be read: {error.strerror}") from error
