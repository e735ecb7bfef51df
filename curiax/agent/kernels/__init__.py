"""Fast convolutions."""
