"""What hindsight vectors hold of an Atari game with a noisy strip."""
