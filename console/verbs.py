"""All verbs, in the order in which they are listed."""

from __future__ import annotations

from typing import Final

from . import (
    backup,
    doctor,
    export,
    forget,
    importing,
    search,
    sessions,
    show,
    status,
    tree,
    verifying,
    viewing,
    why,
)
from .verb import Verb

__all__ = ["VERBS"]

VERBS: Final[dict[str, Verb]] = {
    verb.name: verb
    for verb in (
        status.VERB,
        why.VERB,
        search.VERB,
        tree.VERB,
        viewing.VERB,
        show.VERB,
        sessions.VERB,
        doctor.VERB,
        verifying.VERB,
        backup.VERB,
        export.VERB,
        importing.VERB,
        forget.VERB,
    )
}
