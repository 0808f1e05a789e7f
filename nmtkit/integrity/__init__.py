"""Find damage in prepared folders, model folders, phrase tables and n-best lists."""
