"""The thin adapter to a real chat endpoint, under a hard cap on spending.

What talks to an endpoint needs the extra ``live`` and is imported by its module: :mod:`.client`, :mod:`.reasoning`, :mod:`.judging`,
:mod:`.campaign`. What reads a ledger needs nothing.
"""

from .export import log_text as log_text
from .ledger import Ledger as Ledger
from .questions import Item as Item
from .questions import Question as Question
from .reading import LedgerReader as LedgerReader
from .replay import RecordedJudgingSource as RecordedJudgingSource
from .replay import RecordedSource as RecordedSource
