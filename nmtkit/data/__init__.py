"""The prepared corpus as batches of word ids."""
