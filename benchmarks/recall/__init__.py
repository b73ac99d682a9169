"""Recall: questions whose evidence is known, asked of ``lcm_grep`` and of plain full-text search.

No language model takes part: a question is asked verbatim, and what is ranked is compared with
the messages that hold its answer.
"""
