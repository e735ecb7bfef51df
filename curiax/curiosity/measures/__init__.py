"""How a transition is scored."""
