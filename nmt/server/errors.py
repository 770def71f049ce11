"""Why a request isn't answered. Each API shows it in its own form."""


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
