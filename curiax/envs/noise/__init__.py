"""Noise: the equations, and wrappers that put them around any environment."""
