"""A small synthetic pilot for the demonstration, made by the reference engine; see :mod:`.make_pilot`."""
