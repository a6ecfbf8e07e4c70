"""What a kind of background work is, and what one try of it can come to.

Values only. How tries are claimed, limited and ended is the worker's; what a kind
does is in the kind's own file.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from askd.core.events import Body
from askd.store.log import ClaimedJob, NewJob


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """The job is completed, and nothing in its conversation changes."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Events for the job's conversation, and the jobs that they cause.

    The worker commits them and the job's completion in one write.
    """

    bodies: Sequence[Body]
    jobs: Sequence[NewJob] = ()


@dataclass(frozen=True, slots=True)
class Applied:
    """The effect was committed by the kind itself, with `Write(fulfils=job.fence)`.

    That write has completed the job already. One whose write was refused raises `StaleFence`,
    and must not say that it was applied.
    """


Outcome = NothingToDo | Effect | Applied
"""What a try that did not fail has come to."""

Run = Callable[[ClaimedJob], Awaitable[Outcome]]
"""One try. Raises for a failure: `GaveUp` if another try cannot help, else it is tried again."""


class GaveUp(Exception):
    """Another try would end as this one did: the job is discarded with this sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of job.

    Attributes:
        run: one try.
        timeout_s: how long a try may take.
        limit: how many of the kind run at once; what is slow holds up its own kind only.
        delays_s: seconds before the second try, the third, ...; the last one repeats. Empty:
            `queue.backoff_s`.
    """

    run: Run
    timeout_s: float
    limit: int = 2
    delays_s: Sequence[float] = ()
