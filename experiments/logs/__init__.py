"""Pilot logs: what a person has of real model answers, read into plain columns.

One row a message, CSV or JSON Lines. A reasoning log holds ``question_id, round, agent, answer`` and ``gold`` or ``correct``; a judging
log holds ``item_id, judge, order, round`` (optional) and ``score_a, score_b`` or ``verdict``, with ``label``. Missing answers stay missing.
"""

from .columns import JudgeLog as JudgeLog
from .columns import ReasoningLog as ReasoningLog
from .reading import read_log as read_log
from .reading import read_mapping as read_mapping
from .reading import read_reasoning as read_reasoning

__all__ = ["JudgeLog", "ReasoningLog", "read_log", "read_mapping", "read_reasoning"]
