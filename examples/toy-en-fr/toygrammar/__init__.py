"""A small English-French grammar that generates word-aligned sentence pairs.

`corpus.pairs(seed)` is the entry point. From words to sentences: `draw` (random numbers),
`surface` (tokens, elision, links), `lexicon` and `verbs` (the words), `nouns` and `pronouns` (noun
phrases), `groups` (auxiliaries, negation, clitics), `clauses` (word order), `descriptions` and
`predicates` (clauses), `questions`, `sentences`.
"""
