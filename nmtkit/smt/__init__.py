"""Statistical machine translation: files of Moses, rescoring, reranking, MERT and MIRA."""
