"""Switches for one search, read from the environment: CURIAX_TRIAL="init=lecun,clip=0"."""

import os


def trial(name: str, default: str) -> str:
    chosen = dict(part.split("=") for part in os.environ.get("CURIAX_TRIAL", "").split(",") if part)
    return chosen.get(name, default)
