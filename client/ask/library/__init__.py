"""The library behind `import ask`: typed, blocking, and no more than the client needs.

What programs use is named in `ask`; the modules here are its rooms. Nothing of it reads
standard input or takes over a signal, and it prints nothing, but that a daemon of an older
protocol is replaced, on standard error.
"""
