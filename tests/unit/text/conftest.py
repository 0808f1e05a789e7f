"""A model that several tests of text use."""

import io

import pytest
import sentencepiece

from nmtkit.text.subword.sentence_piece import SentencePiece


@pytest.fixture(scope="session")
def nmt_nfkc() -> SentencePiece:
    """Return a model of the library's defaults, which normalises text and has no bytes."""
    output = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the file is in a blue house", "un file bleu"] * 20),
        model_writer=output,
        vocab_size=300,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=3,
    )
    return SentencePiece(output.getvalue())
