"""Using trained models: translating, scoring, aligning, segmenting and embedding text."""
