"""What is measured: where noise is, what hindsight vectors hold, whether the theorems hold."""
