"""A run's directory."""
