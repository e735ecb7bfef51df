"""Noise: its equations, and wrappers that add it to any environment."""
