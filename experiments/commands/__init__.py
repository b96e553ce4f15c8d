"""Commands of the command line, a module each; every module has ``register(app)``."""
