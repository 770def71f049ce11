"""Changed copies of training pairs: they teach a model what corpora seldom hold."""
