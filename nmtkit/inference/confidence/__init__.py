"""How probable it is that a translation is good, and that each of its words is right."""
