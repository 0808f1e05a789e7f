"""Translate tokenised lines with CTranslate2: its Python interface, as its documentation shows it.

    python ctranslate.py MODEL COMPUTE_TYPE THREADS BEAM BATCH MAX_LENGTH < tokens > translations

All lines are read first, so that its batches have sentences of similar length.
"""

import sys

import ctranslate2  # type: ignore[import-not-found]


def main(model: str, compute_type: str, *numbers: str) -> None:
    """Translate stdin to stdout."""
    threads, beam, batch, max_length = map(int, numbers)
    translator = ctranslate2.Translator(model, compute_type=compute_type, intra_threads=threads)
    lines = [line.split() for line in sys.stdin]
    results = translator.translate_batch(
        lines, beam_size=beam, max_batch_size=batch, max_decoding_length=max_length
    )
    for result in results:
        print(" ".join(result.hypotheses[0]))


if __name__ == "__main__":
    main(*sys.argv[1:])
