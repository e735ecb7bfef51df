"""Table 1 measured in a world whose noise is known."""
