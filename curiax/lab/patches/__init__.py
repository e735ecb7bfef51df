"""What hindsight vectors hold, in an Atari game with a strip of noise."""
