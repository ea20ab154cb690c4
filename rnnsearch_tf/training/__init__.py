"""Training of a model: updates, evaluations, checkpoints, on any number of devices."""
