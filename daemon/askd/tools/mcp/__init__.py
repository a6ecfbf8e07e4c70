"""MCP: servers of tools that others wrote, over stdio or streamable HTTP.

The protocol is the official SDK's, which is the extra `mcp` and is imported when the first
server is started. One task a server owns its session; everybody else reaches it by messages.
"""
