"""What every public type goes through: see `tests/contracts`."""
