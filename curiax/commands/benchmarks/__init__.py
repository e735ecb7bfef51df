"""What `curiax bench` measures."""
