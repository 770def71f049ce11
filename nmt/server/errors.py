"""Why a request isn't answered. Each API shows it in its own form."""

import logging
import traceback

from nmt.decode.stop import Stopped

LOG = logging.getLogger("nmt.server")


class Refused(Exception):  # noqa: N818 - it is an answer
    """A request that can't be answered, with the sentence that its client is told."""

    def __init__(self, message: str, *, status: int = 400, code: str = "invalid", retry_after: int = 0) -> None:
        """`code`: a short name of the problem, for programs. `retry_after`: seconds after which it may work; 0: never
        as it is."""
        super().__init__(message)
        self.message, self.status, self.code, self.retry_after = message, status, code, retry_after

    @property
    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.retry_after)} if self.retry_after else {}


class Busy(Refused):
    """Too much waits already."""

    def __init__(self, seconds: float) -> None:
        wait = max(1, round(seconds))
        message = f"too much waits to be translated: try again in {wait} seconds"
        super().__init__(message, status=429, code="busy", retry_after=wait)


class Draining(Refused):
    """The service starts or ends."""

    def __init__(self, message: str = "the service is ending: try another one", retry_after: int = 5) -> None:
        super().__init__(message, status=503, code="unavailable", retry_after=retry_after)


def refusal(error: Exception, **fields: str) -> Refused:
    """What a client is told of an error. One that isn't the client's is logged with these fields, without its message
    or values: they may have text of users."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, ValueError):
        return Refused(str(error))
    if isinstance(error, TimeoutError | Stopped):
        return Refused("this takes more time than a request may have: send less at once", status=504, code="too_slow")
    place = traceback.extract_tb(error.__traceback__)[-1]
    what = {"error": type(error).__name__, "place": f"{place.filename}:{place.lineno}"}
    LOG.error("failed", extra={"fields": fields | what})
    where = f" under request id {fields['request']}" if "request" in fields else ""
    return Refused(f"the service has failed: its log has more{where}", status=500, code="failed")
