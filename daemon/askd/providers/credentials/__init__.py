"""Whose credential goes to which server: keys, files, commands and sign-ins."""
