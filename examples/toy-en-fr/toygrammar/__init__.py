"""A small English-French grammar that knows which word became which.

`corpus.pairs(seed)` is the way in. From words to sentences: `draw` (chance), `surface` (tokens,
elision, links), `lexicon` and `verbs` (the words), `nouns` and `pronouns` (who and what), `groups`
(auxiliaries, negation, clitics), `clauses` (word order), `descriptions` and `predicates` (what is
said of whom), `questions`, `sentences`.
"""
