"""The steps of an adaptation: fine-tuning, choosing a point, the report, the new model folder."""

import contextlib
import functools
import logging
import math
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from nmtkit.data.batching import Batches
from nmtkit.errors import DataError, counted
from nmtkit.io.inputs import HashedFile
from nmtkit.io.parameters import Parameters, parameters_of
from nmtkit.model_folder import LoadedModel, build_model
from nmtkit.models import Model
from nmtkit.models.precision import limit_bfloat16_memory
from nmtkit.text.term_words import TermWords
from nmtkit.training.adaptation.corrections import (
    Correction,
    batching,
    corpus_of,
    read_pairs,
    usable_corrections,
    warn_if_swapped,
)
from nmtkit.training.adaptation.examiner import Examiner, Judge, Purpose, TestSet, Translations
from nmtkit.training.adaptation.fine_tuning import MANY, FineTuner, settings_for
from nmtkit.training.adaptation.folder import adapted_provenance, write_adapted
from nmtkit.training.adaptation.interpolation import (
    SAFETY,
    MeasuredPoint,
    interpolate,
    search_point,
)
from nmtkit.training.adaptation.rehearsal import Rehearsal
from nmtkit.training.adaptation.replay import Replay, find_replay, open_replay
from nmtkit.training.adaptation.report import AdaptationReport, refuse_loss, set_changes
from nmtkit.training.adaptation.request import AdaptationRequest
from nmtkit.training.adaptation.right_check import RightCheck, right_lines
from nmtkit.training.informed_start import tie_term_words

log = logging.getLogger("nmtkit")

FEW = 200
"""Up to so many corrections are learned until they come out right; of more some are held out."""

HELD_OUT_SHARE, MAX_HELD_OUT = 0.1, 200
"""Share of many corrections that is held out, and their maximum number."""

DEV_LINES = 400
"""Lines of the replayed data's dev set that guard, if no guard is given."""

PASS_SHARE = 0.05
"""Share of the time in which all test sets are translated once."""

RESERVED_PASSES = 4
"""Times that all test sets are translated after the fine-tuning."""


@dataclass(frozen=True)
class AdaptationResult:
    """An adapted model.

    folder: the new model folder. report: what was won and lost.
    """

    folder: Path
    report: AdaptationReport


class Adaptation:
    """One adaptation, step by step.

    old: the parameters of the model that is adapted. before: its translations.
    inputs: SHA-256 of the files of corrections, by path.
    judged: the translations at each point. report_seconds: time that the report will take.
    """

    def __init__(self, request: AdaptationRequest, model: LoadedModel) -> None:
        """Read the corrections and guards, and find the data to replay."""
        self.request = request
        self.model = model
        self.trained = _trainable(model)
        self.old: Parameters = {
            name: value.clone() for name, value in parameters_of(self.trained).items()
        }
        self.learned, self.held_out = self._read_corrections()
        self.replay = self._open_replay()
        self.judge = Judge(model.config.text)
        self.examiner = Examiner(model, self._test_sets(), request.tag)
        self.judged: dict[float, Translations] = {}
        self.before: Translations = {}
        self.report_seconds = 0.0

    @property
    def is_few(self) -> bool:
        """Return True if the corrections are few enough to learn until all come out right."""
        return not self.held_out

    def _read_corrections(self) -> tuple[list[Correction], list[Correction]]:
        """Return the corrections that are learned, and those that are held out."""
        request, text = self.request, self.model.config.text
        if request.tag:
            self.model.check_tag(request.tag)
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(HashedFile(path)) for path in request.data]
            pairs = read_pairs(files, (text.src_language, text.tgt_language))
            self.inputs = {str(file): file.sha256() for file in files}
        warn_if_swapped(pairs, self.model, request.data)
        corrections = usable_corrections(pairs, self.model, request.tag, request.data)
        if len(corrections) <= FEW:
            return corrections, []
        count = min(MAX_HELD_OUT, int(HELD_OUT_SHARE * len(corrections)))
        order = np.random.default_rng(request.seed).permutation(len(corrections)).tolist()
        held_out = set(order[:count])
        return (
            [item for index, item in enumerate(corrections) if index not in held_out],
            [corrections[index] for index in sorted(held_out)],
        )

    def _open_replay(self) -> Replay | None:
        request = self.request
        if request.replay is not None:
            return open_replay(request.replay, request.model, self.model)
        replay = find_replay(request.model, self.model)
        if replay is None:
            log.info("no training data to replay; the old model's predictions are rehearsed")
        else:
            log.info("replaying pairs of %s", replay.folder)
        return replay

    def _test_sets(self) -> list[TestSet]:
        """Return the set on which something is to be won, and the guards."""
        request, text = self.request, self.model.config.text
        name = ", ".join(map(str, request.data))
        if self.is_few:
            won = TestSet.of(Purpose.CORRECTIONS, name, (item.pair for item in self.learned))
        else:
            won = TestSet.of(Purpose.HELD_OUT, name, (item.pair for item in self.held_out))
        guards = []
        for files in request.guards:
            pairs = read_pairs(files, (text.src_language, text.tgt_language))
            if not pairs:
                raise DataError(f"{', '.join(map(str, files))}: no pairs; give a guard with some")
            warn_if_swapped(pairs, self.model, files)
            guards.append(TestSet.of(Purpose.GUARD, ", ".join(map(str, files)), pairs))
        if not guards and self.replay is not None:
            pairs = self.replay.dev_pairs(self.model, DEV_LINES)
            if pairs:
                guards.append(TestSet.of(Purpose.GUARD, f"{self.replay.folder}/dev", pairs))
        if not guards:
            log.warning(
                "no guard, so what is lost on other text will not be measured; give --guard SRC REF"
            )
        return [won, *guards]

    def run(self) -> AdaptationResult:
        """Adapt, report and write.

        :raises LossRefused: a guard has lost more than is allowed.
        """
        request, examiner = self.request, self.examiner
        examiner.fit(math.inf if request.updates else PASS_SHARE * request.seconds, self.old)
        self.before = examiner.translate(self.old)
        start = clock.monotonic()
        set_changes(examiner.sets, self.before, self.before, self.judge)
        self.report_seconds = clock.monotonic() - start
        log.info(
            "%s to learn, %d held out; %.1f s to translate the test sets once",
            counted(len(self.learned), "correction"),
            len(self.held_out),
            examiner.seconds,
        )
        tuner = self._fine_tune()
        new = tuner.parameters()
        safe = request.allow_loss * (1 if self.is_few else SAFETY)
        best = search_point(functools.partial(self._try_point, new), safe, self._has_time)
        report = self._report(best, tuner.updates)
        refuse_loss(report, request.allow_loss, request.output)
        if report.right_before == report.corrections:
            log.warning("all corrections came out right before, so that nothing could be won")
        elif best.gain <= 0 and report.right_after == report.right_before:
            log.warning("nothing was won on the corrections; give more of them, or more --time")
        self._write(interpolate(self.old, new, best.point), report)
        return AdaptationResult(request.output, report)

    def _fine_tune(self) -> FineTuner:
        """Fine-tune the model as long as there is time, or until few corrections are right."""
        request, config = self.request, self.model.config
        many, replays = len(self.learned) >= MANY, self.replay is not None
        settings = request.settings or settings_for(config.training, self.is_few, many, replays)
        corpus = corpus_of(((c.src, c.tgt) for c in self.learned), self.model, "the corrections")
        corrections = Batches(corpus, batching(config.data, settings.tokens), request.seed)
        words = self.model.tgt_vocab
        replay: Batches | Rehearsal
        if self.replay is None:
            teacher = _trainable(self.model).eval().requires_grad_(False)
            replay = Rehearsal(self.model, teacher, settings.replayed_tokens, request.seed)
        else:
            words = self.replay.corpus.tgt.counted(words)
            replay = self.replay.batches(config, settings.replayed_tokens, request.seed)
        tuner = FineTuner(self.trained, corrections, replay, settings, config.training, words)
        term_words = TermWords.of(self.model.src_vocab, self.model.tgt_vocab)
        if term_words is not None:
            tie_term_words(self.trained, tuner.optimizer, term_words)
        if request.updates:
            tuner.run_updates(request.updates)
            return tuner
        done: Callable[[], bool] = lambda: False  # noqa: E731
        if self.is_few:
            done = RightCheck(tuner, corpus, self.examiner, self.model.tgt_text).done
        seconds = self._left() - RESERVED_PASSES * self.examiner.seconds
        tuner.run(max(seconds, 0.1 * request.seconds), done)
        log.info("%s", counted(tuner.updates, "update"))
        return tuner

    def right(self, translations: Sequence[str]) -> int:
        """Return how many of few corrections come out right."""
        references = self.examiner.sets[0].references
        return sum(right_lines(translations, references, self.model.tgt_text))

    def _try_point(self, new: Parameters, point: float) -> MeasuredPoint:
        """Measure a point between old and new parameters."""
        translations = self.examiner.translate(interpolate(self.old, new, point))
        self.judged[point] = translations
        first, *guards = self.examiner.sets
        differences = [
            self.judge.score(s, translations[s]) - self.judge.score(s, self.before[s])
            for s in (first, *guards)
        ]
        measured = MeasuredPoint(
            point, differences[0], max((-d for d in differences[1:]), default=0.0)
        )
        gain, loss = f"{measured.gain:+z.2f}", f"{measured.loss:z.2f}"
        log.info("point %g: %s %s won, %s lost", point, gain, self.judge.metric(first), loss)
        return measured

    def _left(self) -> float:
        """Return the seconds that are left before the report."""
        return self.request.left() - self.report_seconds

    def _has_time(self) -> bool:
        return self._left() > self.examiner.seconds

    def _report(self, best: MeasuredPoint, updates: int) -> AdaptationReport:
        after = self.judged[best.point]
        first = self.examiner.sets[0]
        right_before = right_after = None
        if self.is_few:
            right_before, right_after = self.right(self.before[first]), self.right(after[first])
        return AdaptationReport(
            len(self.learned),
            right_before,
            right_after,
            set_changes(self.examiner.sets, self.before, after, self.judge),
            None if self.replay is None else str(self.replay.folder),
            updates,
            best.point,
            clock.monotonic() - self.request.started,
        )

    def _write(self, parameters: Parameters, report: AdaptationReport) -> None:
        """Write the new model folder."""
        request = self.request
        provenance = adapted_provenance(
            request.model,
            request.command,
            self.inputs,
            self.model,
            self.replay,
            report,
            self.old,
        )
        write_adapted(
            request.output,
            request.model,
            self.model,
            parameters,
            provenance,
            self.model.metadata.update + report.updates,
            request.force,
        )
        log.info("%s: written", request.output)


def _trainable(model: LoadedModel) -> Model:
    """Return a copy of a model in memory, to be trained."""
    if model.config.training.precision == "bfloat16":
        limit_bfloat16_memory()
    trained = build_model(model.config, len(model.src_vocab), len(model.tgt_vocab))
    assert isinstance(model.model, torch.nn.Module)
    trained.load_state_dict(model.model.state_dict())
    return trained.to(model.device)
