"""Translators whose translations are known: a copy, capitals, or brackets around each sentence."""

import re
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import torch

from nmtkit.config import TextConfig
from nmtkit.inference.document import TranslatedDocument, translate_document
from nmtkit.inference.translation import Translation
from nmtkit.inference.translator import Translator
from nmtkit.inference.word_alignment import Alignment
from nmtkit.text.pipeline import TextPipeline

Change = Callable[[str], str]
"""What becomes of each word."""


def copied(word: str) -> str:
    return word


class StandIn:
    """Translates word by word, with the alignment that belongs to it.

    texts: what was to be translated, by call.
    """

    def __init__(self, change: Change, source: str = "en", target: str = "fr") -> None:
        self._change = change
        text = TextConfig(src_language=source, tgt_language=target)
        model = SimpleNamespace(
            path=None,
            config=SimpleNamespace(text=text),
            src_text=TextPipeline(source, text, None),
            tgt_text=TextPipeline(target, text, None),
        )
        self.ensemble = SimpleNamespace(first=model, members=(model,), has_attention=True)
        self.texts: list[list[str]] = []

    def translate(self, lines: Iterable[str], **_: Any) -> Iterator[list[Translation]]:
        lines = list(lines)
        self.texts.append(lines)
        for line in lines:
            found = list(re.finditer(r"(\s*)(\w+|[^\w\s])", line.strip()))
            words = [one[2] for one in found]
            changed = [self._change(word) for word in words]
            kept = [number for number, word in enumerate(changed) if word]
            matrix = torch.eye(len(words))[kept]
            alignment = Alignment(words, [changed[number] for number in kept], matrix)
            spaces = [" " if one[1] else "" for one in found]
            text = "".join(s + word for s, word in zip(spaces, changed, strict=True))
            yield [
                Translation(
                    text, changed, 0.0, 0.0, [], True, [],
                    alignment=matrix, word_alignment=alignment,
                )
            ]  # fmt: skip


def translated(
    data: bytes | str, format: str, change: Change = copied, **options: Any
) -> TranslatedDocument:
    """Return a file translated word by word."""
    source, target = options.pop("languages", ("en", "fr"))
    raw = data.encode() if isinstance(data, str) else data
    translator = cast(Translator, StandIn(change, source, target))
    return translate_document(raw, format, translator, **options)
