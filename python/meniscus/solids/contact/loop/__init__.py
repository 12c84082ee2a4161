"""The outer loop of a world: steps from one certified state to the next."""
