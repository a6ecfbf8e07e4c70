"""Tests of the daemon as a server of MCP."""
