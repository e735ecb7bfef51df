"""The methods of Table 1 in a world with known noise."""
