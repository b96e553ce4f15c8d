"""Judging debates: items, gaps, protocols, juries."""
