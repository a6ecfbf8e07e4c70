"""Rollouts: a file of every conversation as Codex reads them, kept beside the log.

`mirror` is the door: one task that follows what is committed. `rows` knows which file
mirrors which conversation and how far, `copies` brings one up to its log by `pages`,
`files` is the only one that opens them. What is in the files decides nothing here.
"""
