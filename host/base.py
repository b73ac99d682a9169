"""The class that every engine of a host must be an instance of.

Hermes accepts only subclasses of its own ``ContextEngine``. Without Hermes
the engine is a library, and a class with the same fields takes its place.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ContextEngine"]

try:
    from agent.context_engine import ContextEngine
except ImportError:

    class ContextEngine:  # type: ignore[no-redef]
        """The fields and defaults of the host's class of that name."""

        last_prompt_tokens: int = 0
        last_completion_tokens: int = 0
        last_total_tokens: int = 0
        threshold_tokens: int = 0
        context_length: int = 0
        compression_count: int = 0
        threshold_percent: float = 0.75

        def should_compress_preflight(self, messages: list[Any]) -> bool:
            """Whether a pass below the threshold is wanted."""
            return False

        def should_defer_preflight_to_real_usage(self, rough_tokens: int) -> bool:
            """Whether to wait for the provider's own count."""
            return False

        def has_content_to_compress(self, messages: list[Any]) -> bool:
            """Whether a manual compaction makes sense."""
            return True

        def on_session_reset(self) -> None:
            """Forget the counters of the session before."""
            self.last_prompt_tokens = 0
            self.last_completion_tokens = 0
            self.last_total_tokens = 0
            self.compression_count = 0

        def get_status(self) -> dict[str, Any]:
            """The figures that hosts display."""
            usage = (
                min(100, self.last_prompt_tokens / self.context_length * 100)
                if self.context_length
                else 0
            )
            return {
                "last_prompt_tokens": self.last_prompt_tokens,
                "threshold_tokens": self.threshold_tokens,
                "context_length": self.context_length,
                "usage_percent": max(usage, 0),
                "compression_count": self.compression_count,
            }
