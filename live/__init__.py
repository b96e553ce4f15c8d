"""The thin adapter to a real chat endpoint, under a hard cap on spending."""
