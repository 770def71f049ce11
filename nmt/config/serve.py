"""Settings of the service: where it listens, how it uses the machine, and its limits, all of which are on."""

from dataclasses import dataclass
from typing import Annotated

from nmt.fields import Count, Folder, Metavar, NotNegative, Positive, Range, Size, check_bounds


@dataclass(frozen=True, kw_only=True)
class ServeConfig:
    """The service. Each field is an option of `nmt.serve`."""

    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 makes the service reachable from other machines."""

    port: Annotated[int, Range(0, 65535)] = 5000
    """Port to listen on; 0 takes a free one."""

    lazy: bool = False
    """Whether a model is loaded with the first request for it, instead of at the start."""

    workers: Count = 0
    """Number of batches that are translated at the same time; 0 takes one for each core, from 2 to 8, and one on a GPU.
    With one alone, a long search lets others wait."""

    batch_tokens: Size = 4096
    """Maximum size of a batch: sentences times the pieces of the longest one, as estimated from its length."""

    cache_tokens: Count = 500_000
    """Size of the cache of recent translations, in pieces of sources and translations; 0 switches it off. 500,000 need
    about 30 MB."""

    queue_sentences: Size = 5_000
    """Maximum number of lines that wait to be translated; a client has at most as many as it leaves free."""

    queue_tokens: Size = 1_000_000
    """Maximum number of pieces, as estimated, that wait to be translated."""

    longest_wait: Positive = 8.0
    """Expected wait, in seconds, above which requests are answered with 429 and Retry-After. Below it requests wait,
    since some clients switch a service off for half an hour after a 429."""

    body_bytes: Size = 2**20
    """Maximum size of the body of a request, in bytes; files have a limit of their own."""

    request_seconds: Positive = 60.0
    """Maximum time, in seconds, of a request without a file; then its searches end, and it is answered with 504."""

    head_seconds: Positive = 10.0
    """Maximum time, in seconds, that the head of a request may take to arrive."""

    body_seconds: Positive = 30.0
    """Maximum time, in seconds, that the body of a request may take to arrive."""

    text_characters: Size = 10_000
    """Maximum number of characters of a text."""

    texts: Size = 128
    """Maximum number of texts in a request."""

    alternatives: Count = 8
    """Maximum number of further translations that a request may ask for."""

    file_bytes: Size = 20 * 2**20
    """Maximum size of a file to translate, in bytes."""

    file_seconds: Positive = 60.0
    """Maximum time, in seconds, that reading or writing a file may take."""

    unpacked_bytes: Size = 200 * 2**20
    """Maximum size of an office file or book when it is unpacked, in bytes."""

    zip_members: Size = 2_000
    """Maximum number of files within an office file or book."""

    zip_ratio: Size = 100
    """How many times as long a part of an office file or book, of more than 1 MiB, may become when it is unpacked."""

    files: Count = 50
    """Maximum number of translated files that are kept, and of those in work; 0 switches files off. Those in work of a
    client are at most as many as it leaves free."""

    file_minutes: Positive = 60.0
    """Time, in minutes, after which a translated file is deleted; and maximum time of its translation."""

    keys: Annotated[str, Metavar("FILE")] = ""
    """File of API keys, made by nmt.keys; empty lets everybody use the service who can reach it."""

    client_requests: Count = 0
    """Maximum number of requests of an address in a minute, in a service without keys; 0: no limit."""

    client_characters: Count = 0
    """Maximum number of characters of an address in a minute, in a service without keys; 0: no limit."""

    names: str = ""
    """Names by which browsers call a service without keys, separated by commas, besides localhost and addresses: pages
    of these names may use glossaries and documents."""

    glossaries: Folder = "glossaries"
    """Folder of the glossaries that users store; it is made with the first one."""

    scorer: Folder = ""
    """Model or run folder of a pair scorer, which estimates the quality of translations where requests ask for it."""

    ready_seconds: NotNegative = 5.0
    """Time, in seconds, between SIGTERM and the end of listening, in which /health says 503 and requests are still
    answered, so that a load balancer learns of it."""

    drain_seconds: NotNegative = 30.0
    """Maximum time, in seconds, that requests have to end after the end of listening."""

    forwarded: str = ""
    """Addresses of proxies, separated by commas, whose X-Forwarded-For and X-Forwarded-Proto are believed."""

    def __post_init__(self) -> None:
        check_bounds("serve", self)
