"""Provenance on a report's page: of one model all facts, of several models what differs."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from nmtkit.report.page_tables import details, html_table, row, system_name, table

if TYPE_CHECKING:
    from nmtkit.report.model_card import ModelCard
    from nmtkit.report.model_report import ModelReport

ABSENT = "–"
"""Value of a fact or setting that a model does not have."""


def provenance(report: "ModelReport") -> Iterator[str]:
    """Yield what differs between models, a card for each system, and the test set's checksums."""
    cards = list(enumerate(report.model_cards))
    models = [(index, card) for index, card in cards if card.settings]
    if len(models) > 1:
        yield from _differences(models)
    yield '<div class="cards">'
    for index, card in cards:
        yield from _card(index, card, facts=len(models) < 2 or not card.settings)
    yield "</div>"
    checksums = table(["file", "SHA-256"], report.checksums.items(), "Checksums of the test set")
    yield details("Checksums of the test set", checksums)


def _card(index: int, card: "ModelCard", facts: bool) -> Iterator[str]:
    """Yield the card of a system.

    :param facts: show its facts; otherwise they are collapsed.
    """
    yield f'<article class="card"><h3>{system_name(index, card.name)}</h3>'
    listed = "".join(
        f"<div><dt>{escape(label)}</dt><dd>{escape(fact)}</dd></div>"
        for label, fact in card.facts.items()
    )
    yield f"<dl>{listed}</dl>" if facts else details("All facts", f"<dl>{listed}</dl>")
    checksums = table(["file", "SHA-256"], card.checksums.items(), f"Checksums of {card.name}")
    yield details("Data and parameters, with checksums", checksums)
    settings = f'<pre tabindex="0">{escape(card.settings)}</pre>' if card.settings else ""
    yield details("All settings", settings) + "</article>"


def _differences(models: Sequence[tuple[int, "ModelCard"]]) -> Iterator[str]:
    """Yield a table of the facts and settings that differ, and one of those that do not."""
    rows = [
        *_rows([card.facts for _, card in models]),
        *_rows([flat_settings(card.settings) for _, card in models]),
    ]
    differing = [(name, values) for name, values in rows if len(set(values)) > 1]
    same = [(name, values[0]) for name, values in rows if len(set(values)) == 1]
    labels = [card.name for _, card in models]
    body = "".join(row(map(escape, [name, *values]), labels) for name, values in differing)
    header = ["Fact or setting", *(system_name(index, card.name) for index, card in models)]
    yield "<h3>What differs</h3>"
    yield html_table(header, body, "Differences in provenance") if body else "<p>Nothing.</p>"
    title = f"What is the same in all {len(models)} models ({len(same)} facts and settings)"
    yield details(title, table(["Fact or setting", "value"], same, "The same in all models"))


def _rows(columns: Sequence[Mapping[str, str]]) -> list[tuple[str, list[str]]]:
    """Return the values of each name in all columns."""
    names = dict.fromkeys(name for column in columns for name in column)
    return [(name, [column.get(name, ABSENT) for column in columns]) for name in names]


def flat_settings(toml: str) -> dict[str, str]:
    """Return settings by their full names, `training.seed`, as text."""
    flat: dict[str, str] = {}

    def add(prefix: str, values: Mapping[str, Any]) -> None:
        for key, value in values.items():
            if isinstance(value, dict):
                add(f"{prefix}{key}.", value)
            else:
                flat[prefix + key] = value if isinstance(value, str) else str(value)

    add("", tomllib.loads(toml))
    return flat
