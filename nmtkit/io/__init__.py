"""Files: lines and compression, atomic writing, safetensors, JSON, vectors, locks."""
