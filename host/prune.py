"""What the newer host asks for between compactions: old tool results, shown in part."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from .ahead import soft_tokens, work_ahead

if TYPE_CHECKING:
    from .engine import LCMEngine

__all__ = ["pruned"]

_log = logging.getLogger(__name__)


def pruned(engine: LCMEngine, messages: list[Any], used: int) -> tuple[list[Any], int]:
    """(a new list, how many results are shown in part), or (*messages*, 0).

    *used*: tokens of the whole request. Below ``soft_threshold`` nothing is looked at, nor before the
    request has grown since the last look: this is asked after every round of tools.

    Raises:
        StoreError: the store failed; the list stays as it is.
    """
    settings, window = engine.settings, engine.context_length
    least = settings.compaction_token_threshold
    if not engine._session_id or used < max(soft_tokens(engine), engine._prune_from):
        return messages, 0
    from ..dag.budget import budget_for
    from ..dag.prune import prune

    limit = engine.threshold_tokens
    budget = budget_for(settings, window=window, threshold_tokens=limit, overhead=0)
    ledger, binding = engine._attachment.bind(list(messages), engine._session_id)
    rows, count = prune(ledger.store, binding, budget, used, limit, least)
    engine._prune_from = used + least
    if not count:
        work_ahead(engine)
        return messages, 0
    engine._list_tokens = engine._prune_from = 0  # to be measured again
    engine._requests.recount()
    _log.info("%d tool results are shown in part", count)
    return rows, count
