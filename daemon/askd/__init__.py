"""`askd`: one small daemon per user that owns every conversation.

The floors, from the ground up; each imports only what is below it, and rooms of
one floor do not import each other:

    core                          values and decisions: pure, standard library only
    processes                     every child process starts here
    providers | store | tools     models; the log; what models may do
    sessions                      conversations that are live
    jobs                          durable background work
    server                        the socket, the wire
    app                           wires it all together, reads the settings

`errors` and `files` are open to every floor but the core. Of the client only the
contract, `ask.protocol` and `ask.paths`, is known here, to `server`, `app` and
`config` alone.
"""

__version__ = "0.1.0"
