"""Lossless context management for Hermes Agent."""
