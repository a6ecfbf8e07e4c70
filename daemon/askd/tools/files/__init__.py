"""Tools for the caller's files: read, write, edit, list.

This room turns the paths that a model gives into open files of the workspace, and puts
changes in place whole. It starts no process, and nothing in it follows a path out.
"""

from collections.abc import Sequence

from askd.tools.base import Tool
from askd.tools.files.editing import make_edit_file
from askd.tools.files.listing import make_list_directory
from askd.tools.files.reading import make_read_file
from askd.tools.files.replacing import Desk
from askd.tools.files.writing import make_write_file


def make_file_tools(own: Sequence[str] = ()) -> list[Tool]:
    """All of them. `own`: our own directories, absolute; neither read nor written."""
    desk = Desk()
    return [
        make_read_file(own),
        make_write_file(desk, own),
        make_edit_file(desk, own),
        make_list_directory(own),
    ]
