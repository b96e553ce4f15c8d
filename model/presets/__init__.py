"""Shipped protocols, populations and example prices: TOML files, each entry with its source."""
