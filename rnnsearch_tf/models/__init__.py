"""RNNsearch and RNNencdec: the models, their losses, ensembles, and the folder they are kept in."""
