"""Constants that the tests of the live adapter share."""

from adjourn.model import Price

RUN = "0123456789abcdef"
"""Id of the run in the ledger fixture."""

PRICE = Price("scripted", 0.10, 0.40)
