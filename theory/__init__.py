"""The claims of the modelled papers as objects: statement, assumptions, derivation, witness, counterexample."""
