"""This daemon as a server of tools for other programs: a face of it for each connection that asks.

A relay (`ask mcp serve`) carries the lines of a program that speaks MCP; what they mean is
the SDK's to know, and what they ask for goes through the same doors as every request. The SDK
is loaded when the first face is opened. Nothing here decides who may do what.
"""
