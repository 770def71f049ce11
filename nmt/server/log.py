"""The log of the service: one JSON object a line on stderr. It never has text that users send."""

import json
import logging
import time


class Lines(logging.Formatter):
    """A record as a JSON object; `extra={"fields": {…}}` adds members."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        line = {"time": moment, "level": record.levelname.lower(), "event": record.getMessage()}
        return json.dumps(line | getattr(record, "fields", {}), ensure_ascii=False)


def set_up() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    for name in ("nmt.server", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
    logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # its warnings have parts of bodies
