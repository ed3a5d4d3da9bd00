"""The client of Payonce. It charges once for each purchase, even if a request is lost or the process is killed."""

from .client import Client
from .database_keys import DatabaseKeys
from .errors import (
    FinalProblemError,
    InvalidWebhookError,
    NoAnswerError,
    OperationChangedError,
    PayonceError,
    ProblemError,
    Recovery,
    UnfinishedError,
)
from .file_keys import FileKeys
from .keys import KeyStore, MemoryKeys, StoredAnswer, StoredOperation, StoredRequest, stored_in
from .surroundings import HttpTransport, Response, Surroundings, Transport
from .webhooks import verify_webhook

__all__ = [
    "Client",
    "DatabaseKeys",
    "FileKeys",
    "FinalProblemError",
    "HttpTransport",
    "InvalidWebhookError",
    "KeyStore",
    "MemoryKeys",
    "NoAnswerError",
    "OperationChangedError",
    "PayonceError",
    "ProblemError",
    "Recovery",
    "Response",
    "StoredAnswer",
    "StoredOperation",
    "StoredRequest",
    "Surroundings",
    "Transport",
    "UnfinishedError",
    "stored_in",
    "verify_webhook",
]
