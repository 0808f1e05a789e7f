"""Expansions of hypotheses under constraints: a beam with a place for each number of terms.

Dynamic beam allocation (Post and Vilar 2018; Hu et al. 2019, with alternatives): besides the best
tokens of each hypothesis, those that begin a missing term or go on with it are considered. The
beam is divided evenly among hypotheses with 0, 1, 2, ... terms; what is left goes to the best ones.
So a term enters where the model gives it the highest probability: of the hypotheses with as many
terms, which are equally long, the best remain. Where the authors count the tokens of terms, terms
are counted here, also one that is only begun, because small beams have no room for more.

`rank_credits.py` has what hypotheses with terms are compared by.

A hypothesis that lacks terms and that the model would end now goes on with a term at once: what the
model writes behind the end has no meaning.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from nmtkit.models.search_state import upload
from nmtkit.search.beam_allocation import Candidates, choose
from nmtkit.search.beam_history import score_dtype
from nmtkit.search.candidates import CandidateScorer
from nmtkit.search.constraint_table import ConstraintTable, States
from nmtkit.search.constraints import ConstrainedSentence, Constraints
from nmtkit.search.expansions import Expansions
from nmtkit.search.next_token import NextTokenScorer
from nmtkit.search.rank_credits import RankCredits
from nmtkit.search.search_settings import TokenMask
from nmtkit.search.token_blocks import best_tokens
from nmtkit.search.word_boundaries import WordBoundaries
from nmtkit.special_symbols import BOS, EOS, UNK

SLACK = 10
"""Tokens by which a translation with terms may be longer than one without, besides the terms; and
by which it may always be longer than its prefix."""

LIKELY_END = math.log(0.5)
"""log p of `</s>` above which a translation that lacks terms goes on with nothing but them."""

MAX_STATES = 20_000
"""States of a table, which is begun anew beyond."""


class ConstrainedRows:
    """The sentences of a batch that have constraints, and the states of their hypotheses.

    rows: their rows in the batch.
    """

    def __init__(
        self, sentences: Sequence[ConstrainedSentence | None], device: torch.device
    ) -> None:
        """Take the sentence of each row, None for one without constraints."""
        self._sentences = list(sentences)
        self._table = ConstraintTable(device)
        self._numbers = [[self._table.number(one, one.start)] if one else [] for one in sentences]
        zeros = torch.zeros(len(sentences), 1, dtype=score_dtype(device), device=device)
        self._progress = RankCredits(zeros, zeros)
        self._chosen: Candidates
        self._note_rows()

    @classmethod
    def of(
        cls, constraints: Sequence[Constraints], boundaries: WordBoundaries, device: torch.device
    ) -> "ConstrainedRows":
        """Return the rows of newcomers, whose tensors are on a device."""
        sentences = [one.sentence(boundaries) if one else None for one in constraints]
        return cls(sentences, device)

    def _note_rows(self) -> None:
        self._spans: Tensor | None = None  # positions of terms, of these rows
        self.rows = [row for row, sentence in enumerate(self._sentences) if sentence is not None]
        device = self._progress.credits.device
        self._row_numbers = upload(self.rows, device)
        self._levels = upload([self._sentence(row).levels for row in self.rows], device)

    @property
    def free_rows(self) -> list[int]:
        """Rows of sentences without constraints."""
        return [row for row, sentence in enumerate(self._sentences) if sentence is None]

    def limits(self, limits: Tensor, steps: Tensor) -> Tensor:
        """Return how many tokens the translations of each row may have.

        :param limits: the same without constraints. Shape: [B].
        :param steps: tokens that they have, before those of the prefix. Shape: [B].
        """
        rooms, least = [], []
        for sentence in self._sentences:
            found = Constraints() if sentence is None else sentence.constraints
            rooms.append(found.room + SLACK if found.terms or found.has_forbidden else 0)
            least.append(found.prefix.length + SLACK if found.prefix else 0)
        device = limits.device
        return (limits + upload(rooms, device)).maximum(steps + upload(least, device))

    def select(self, rows: Sequence[int]) -> "ConstrainedRows":
        """Keep some rows."""
        device = self._progress.credits.device
        selected = ConstrainedRows([], device)
        selected._sentences = [self._sentences[row] for row in rows]
        selected._numbers = [self._numbers[row] for row in rows]
        selected._table = self._table
        kept = upload(rows, device)
        selected._progress = self._progress.select(kept)
        selected._note_rows()
        return selected

    def replace(self, rows: Sequence[int], newcomers: "ConstrainedRows") -> None:
        """Replace the sentences of some rows."""
        for row, sentence in zip(rows, newcomers._sentences, strict=True):
            self._sentences[row] = sentence
        if len(self._table) > MAX_STATES:
            self._begin_table()
        self._take_states(rows, newcomers, range(len(rows)))
        numbers = upload(rows, self._progress.credits.device)
        self._progress = self._progress.replace(numbers, newcomers._progress)
        self._note_rows()

    def _begin_table(self) -> None:
        """Begin the table anew with the states that hypotheses have now."""
        old = ConstrainedRows(self._sentences, self._progress.credits.device)
        old._table, old._numbers = self._table, self._numbers
        self._table = ConstraintTable(self._progress.credits.device)
        self._numbers = [[] for _ in self._sentences]
        self._take_states(range(len(self._sentences)), old, range(len(self._sentences)))

    def _take_states(
        self, rows: Sequence[int], other: "ConstrainedRows", other_rows: Sequence[int]
    ) -> None:
        """Take the states of hypotheses of other rows."""
        for row, other_row in zip(rows, other_rows, strict=True):
            known = (other._table[number] for number in other._numbers[other_row])
            self._numbers[row] = [self._table.number(one.sentence, one.state) for one in known]

    def advance(self, parents: Tensor, tokens: Tensor) -> None:
        """Let the states follow the hypotheses.

        :param parents, tokens: old slot and token of each new slot. Shapes: [B, k].
        """
        credits = self._progress.credits.new_zeros(tokens.shape)
        self._progress = RankCredits(credits, credits.clone())
        if not self.rows:
            return
        rows, chosen, after = self._row_numbers, self._chosen, self._table.after
        old, new = parents[rows], tokens[rows]
        same = (chosen.parents.unsqueeze(1) == old.unsqueeze(2)) & (
            chosen.tokens.unsqueeze(1) == new.unsqueeze(2)
        )  # [n, k, c]
        found = same.to(torch.uint8).argmax(2)
        self._progress.credits[rows] = chosen.credits.gather(1, found)
        self._progress.debts[rows] = chosen.debts.gather(1, found)
        for row, slots, last in zip(self.rows, old.tolist(), new.tolist(), strict=True):
            known = self._numbers[row]
            self._numbers[row] = [
                after(known[slot], token) if token else known[slot]
                for slot, token in zip(slots, last, strict=True)
            ]
        self._free_rows_behind_prefixes()

    def _free_rows_behind_prefixes(self) -> None:
        """Free the sentences that have nothing constrained behind the prefix."""
        freed = [
            row
            for row in self.rows
            if self._sentence(row).has_only_prefix
            and all(self._table[number].state.prefix is None for number in self._numbers[row])
        ]
        for row in freed:
            self._sentences[row] = None
        if freed:
            self._note_rows()

    def best(
        self,
        scorer: NextTokenScorer | CandidateScorer,
        readouts: Sequence[Tensor],
        alignment: Tensor | None,
        scores: Tensor,
        count: int,
        mask: TokenMask,
        lengths: tuple[Tensor, Tensor, Tensor],
        shrinking: bool,
    ) -> Expansions:
        """Find the expansions of the constrained rows, in their order.

        :param scorer: of these rows; other parameters as in `NextTokenScorer.best`, of these rows.
        :param alignment: alpha_i of the hypotheses, or None. Shape: [n, k, T_x].
        :param lengths: of each row, tokens so far, maximum number, and width of the beam. Shapes:
            [n].
        :param shrinking: each finished hypothesis makes the beam one narrower.
        """
        steps, limits, widths = lengths
        weights = None if alignment is None else self._attention(alignment)
        numbers = self._number_states(scores.size(1), weights)
        states = self._table.look_up(upload(numbers, scores.device))
        is_forced = (states.needed >= 0) & ((limits - steps).unsqueeze(1) <= states.needed)
        width = min(int(widths.max()) + 1, scorer.vocabulary_size)  # with `</s>`
        flat = [number for row in numbers for number in row]
        found = self._tokens(scorer, readouts, scores, mask, states, is_forced, flat, width)
        progress = self._progress.select(self._row_numbers)
        candidates = progress.candidates(scores, states, weights, *found)
        self._chosen = choose(candidates, widths, self._levels, shrinking, count)
        _, values, parents, tokens, _, credits, _ = self._chosen
        return Expansions(values, parents, tokens, credits)

    def _number_states(self, k: int, weights: Tensor | None) -> list[list[int]]:
        """Return the numbers of the states of each row's k slots.

        Of terms that a token could begin alike, it begins the one that is looked at most.

        :param weights: see `_attention`.
        """
        table = self._table
        for index, row in enumerate(self.rows):
            numbers = self._numbers[row]
            numbers += numbers[:1] * (k - len(numbers))
            if weights is not None and table.has_shared:
                for slot, number in enumerate(numbers):
                    known = table[number]
                    if known.shared:
                        looked = weights[index, slot].tolist()
                        best = {max(terms, key=lambda t: (looked[t], -t)) for terms in known.shared}
                        first = tuple(sorted(best, key=lambda term: (-looked[term], term)))
                        numbers[slot] = table.number(known.sentence, known.state, first)
        return [self._numbers[row] for row in self.rows]

    def _tokens(
        self,
        scorer: NextTokenScorer | CandidateScorer,
        readouts: Sequence[Tensor],
        scores: Tensor,
        mask: TokenMask,
        states: States,
        is_forced: Tensor,
        numbers: Sequence[int],
        count: int,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Find the tokens that may follow hypotheses.

        :param is_forced: True for hypotheses with no tokens left but for terms, and for the end of
            an open word before them. Shape: [n, k].
        :param numbers: of the states of all slots.
        :return: log p of the steps of terms [n, k, M]; the best c other tokens, and log p of them.
            Shapes: [n, k, c].
        """
        size = states.tokens.shape
        of_steps = scores.new_full((scores.numel(), size[2]), -torch.inf)
        values = scores.new_full((scores.numel(), count), -torch.inf)
        tokens = torch.full(values.shape, EOS, device=scores.device)
        forced, may_end = is_forced.flatten(), states.may_end.flatten()
        lacks_terms = (states.needed >= 0).flatten() & ~may_end
        mask = self._allowing_required(mask, states, numbers)
        is_step, is_urgent = states.is_step.flatten(0, 1), states.is_urgent.flatten(0, 1)
        for rows, log_probs in scorer.active_log_probs(readouts, scores):
            mask.select(rows)._replace(unk=False).apply(log_probs)
            forced[rows] |= lacks_terms[rows] & (log_probs[:, EOS] > LIKELY_END)
            log_probs[:, EOS].masked_fill_(~may_end[rows], -torch.inf)
            only_terms = forced[rows] & is_urgent[rows].any(1)
            if self._table.has_rules or mask.unk:
                self._apply_rules(log_probs, rows, numbers, only_terms, mask.unk)
            self._close_words(log_probs, forced[rows] & ~only_terms)
            only_terms = only_terms.unsqueeze(1)
            allowed = is_step[rows] & (is_urgent[rows] | ~only_terms)
            place, column = allowed.nonzero().unbind(1)
            wanted = states.tokens.flatten(0, 1)[rows[place], column]
            of_steps[rows[place], column] = log_probs[place, wanted].to(scores.dtype)
            log_probs[place, wanted] = -torch.inf
            log_probs.masked_fill_(only_terms, -torch.inf)
            best, best_of_row = best_tokens(log_probs, count)
            values[rows, : best.size(1)] = best.to(scores.dtype)
            tokens[rows, : best.size(1)] = best_of_row
        places = *scores.shape, -1
        return of_steps.view(size), tokens.view(places), values.view(places)

    def _allowing_required(
        self, mask: TokenMask, states: States, numbers: Sequence[int]
    ) -> TokenMask:
        """Allow required tokens to repeat an n-gram: those of the prefix, and of terms."""
        if mask.repeats is None:
            return mask
        steps = states.tokens.masked_fill(~states.is_step, BOS)  # [n, k, M]
        of_terms = (mask.repeats.unsqueeze(3) == steps.unsqueeze(2)).any(3)  # [n, k, m]
        in_prefix = [self._table[number].state.prefix is not None for number in numbers]
        slots = upload(in_prefix, of_terms.device, torch.bool).view(*mask.eos.shape, 1)
        return mask.allowing(of_terms | slots)

    def _apply_rules(
        self,
        log_probs: Tensor,
        rows: Tensor,
        numbers: Sequence[int],
        only_terms: Tensor,
        forbid_unk: bool,
    ) -> None:
        """Forbid tokens of hypotheses, in place.

        :param rows: their numbers among all slots. Shape: [r]; of `log_probs`: [r, w].
        :param only_terms: True for those that may go on with nothing but terms. Shape: [r].
        :param forbid_unk: `<unk>` is forbidden, but in a prefix.
        """
        masked = log_probs[:, UNK].clone()
        if forbid_unk:
            log_probs[:, UNK] = -torch.inf
        is_forced = only_terms.tolist()
        places: dict[frozenset[int] | bool, list[int]] = {}
        for place, slot in enumerate(rows.tolist()):
            known = self._table[numbers[slot]]
            if not known.has_rule or is_forced[place]:
                continue
            if known.rule.only is not None:
                allowed = known.rule.only.to(log_probs.device, non_blocking=True)
                log_probs[place, UNK] = masked[place]
                kept = log_probs[place, allowed]
                log_probs[place].fill_(-torch.inf)[allowed] = kept
                continue
            if known.rule.banned:
                places.setdefault(known.rule.banned, []).append(place)
            if known.rule.goes_on is not None:
                places.setdefault(known.rule.goes_on, []).append(place)
        for rule, found in places.items():
            at = upload(found, log_probs.device).unsqueeze(1)
            log_probs[at, self._forbidden(rule, log_probs.device)] = -torch.inf

    def _close_words(self, log_probs: Tensor, closing: Tensor) -> None:
        """Forbid what does not end an open word, in place, where something that does is allowed.

        :param closing: True for the rows that it concerns. Shape: [r].
        """
        rows = closing.nonzero().squeeze(1)
        if not len(rows):
            return
        ends = self._sentence(self.rows[0]).boundaries.closing.to(
            log_probs.device, non_blocking=True
        )
        kept = log_probs[rows].index_select(1, ends)
        can_end = (kept > -torch.inf).any(1)
        rows, kept = rows[can_end], kept[can_end]
        log_probs[rows] = -torch.inf
        log_probs[rows.unsqueeze(1), ends] = kept

    def _forbidden(self, rule: frozenset[int] | bool, device: torch.device) -> Tensor:
        """Return tokens that are forbidden.

        :param rule: these; or all but those that go on with a word (True), or those (False).
        """
        if isinstance(rule, frozenset):
            return upload(sorted(rule), device)
        boundaries = self._sentence(self.rows[0]).boundaries
        forbidden = ~boundaries.in_letters if rule else boundaries.going_on
        return forbidden.nonzero().squeeze(1).to(device, non_blocking=True)

    def _attention(self, alignment: Tensor) -> Tensor:
        """Return the weight of the source words of each term. [n, k, T_x] to [n, k, terms]."""
        if self._spans is None or self._spans.size(1) != alignment.size(2):
            all_spans = [self._sentence(row).constraints.spans for row in self.rows]
            terms = max([1, *map(len, all_spans)])
            shape = len(all_spans), alignment.size(2), terms  # [n, T_x, terms]
            marked = torch.zeros(shape, dtype=torch.float32)
            for row, spans in enumerate(all_spans):
                for term, span in enumerate(spans):
                    marked[row, list(span), term] = 1.0
            self._spans = marked.to(alignment.device, non_blocking=True)
        return alignment.float() @ self._spans

    def _sentence(self, row: int) -> ConstrainedSentence:
        sentence = self._sentences[row]
        assert sentence is not None
        return sentence
