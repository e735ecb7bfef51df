"""A run's directory and its checkpoints."""
