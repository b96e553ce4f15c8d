"""The claims of the modelled papers as objects, and the bound on every stopping rule.

* :mod:`.ledger` holds the claims (C convergence, K advocates, U UAAD, J jury); :func:`run_ledger` examines them. How evidence becomes
  a verdict is in :mod:`.claim`.
* :mod:`.bound` computes the best possible stopping rule of a protocol.
"""

from .bound import Frontier as Frontier
from .bound import HistoryTree as HistoryTree
from .bound import history_tree as history_tree
from .bound import protocol_frontier as protocol_frontier
from .bound import regret as regret
from .bound import stopping_frontier as stopping_frontier
from .claim import Assumption as Assumption
from .claim import Check as Check
from .claim import Claim as Claim
from .claim import Counterexample as Counterexample
from .claim import Verdict as Verdict
from .consensus import rule_cells as rule_cells
from .examination import Examination as Examination
from .examination import examine as examine
from .histories import consensus_rule as consensus_rule
from .ledger import CLAIMS as CLAIMS
from .ledger import claim as claim
from .ledger import ledger_json as ledger_json
from .ledger import run_ledger as run_ledger
