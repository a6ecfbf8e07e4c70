"""The server: the socket, its connections, and what each method does.

`wire` alone knows both the core's values and the protocol's; `connection` alone
reads and writes streams; `handlers` do what was asked through the rooms below.
Nothing a client sends or fails to read can stop the daemon, or a turn.
"""
