"""Confines the process that it is, before that becomes a command: all means, in their order.

Standard library only. It does what it is told or raises; it never does a part of it
quietly, but where it is said to be an addition to something that holds by itself.
"""

from collections.abc import Mapping, Sequence

from askd.processes import landlock, privileges, seccomp
from askd.processes.grants import plan_grants

TYPE_CHECKING = False  # as in the launcher: `typing` is slow to load, and needless
if TYPE_CHECKING:
    from typing import Any


def enter(confinement: "Mapping[str, Any]", *, ask: bool = False) -> int:
    """Confine this process as the fields of a `Confinement` say: Landlock, then the filter.

    Returns the descriptor on which modes, owners and times of files are asked about (`metadata`);
    without `ask` they are refused.

    Raises:
        OSError: something of it cannot be had here; nothing may be executed then.
    """
    version = landlock.find_version()
    if version < landlock.VERSION_MIN or not seccomp.is_known():
        raise OSError(0, f"Landlock {landlock.VERSION_MIN} and seccomp are needed", "confinement")
    privileges.drop()
    grants = plan_grants(
        writable=confinement["writable"],
        read_only=confinement["read_only"],
        hidden=confinement["hidden"],
    )
    landlock.restrict(grants, version=version, network=confinement["network"])
    families = _choose_families(network=confinement["network"])
    return seccomp.install(seccomp.build(families=families, shares=True, ask=ask), listener=ask)


def add_to_namespaces(writable: Sequence[str]) -> None:
    """The same within namespaces of its own, where it only adds to what they keep.

    Against what a read-only file system lets through: pipes and sockets that stand in it.
    The network is the namespace's matter.
    """
    version = landlock.find_version()
    if version:
        grants = plan_grants(writable=[*writable, "/dev"])
        landlock.restrict(grants, version=version, network=True)
    if seccomp.is_known():
        seccomp.install(seccomp.build(families=_choose_families(network=True), shares=False))


def _choose_families(*, network: bool) -> tuple[int, ...]:
    # Netlink: with it programs ask which addresses the machine has.
    return (seccomp.AF_INET, seccomp.AF_INET6, seccomp.AF_NETLINK) if network else ()
