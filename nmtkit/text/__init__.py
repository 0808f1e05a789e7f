"""Text: tokenisation, detokenisation, subwords, vocabularies, lexical tables, the pipeline."""
