"""Special symbols: their ids and spellings, the same in every vocabulary."""

EOS = 0
"""Id of `</s>`, which ends every sentence, source and target."""

UNK = 1
"""Id of `<unk>`, which stands for every word outside the vocabulary."""

BOS = -1
"""Id of the "word" before the first target word. It is in no vocabulary, and its embedding is zero
(GroundHog)."""

EOS_WORD = "</s>"
UNK_WORD = "<unk>"

SPECIAL_WORDS = (EOS_WORD, UNK_WORD)
"""The first words of every vocabulary, in the order of their ids."""
