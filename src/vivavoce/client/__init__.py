"""A client of a server, for apps in Python: conversations, sessions, tasks, approvals and events.

`Vivavoce` is all that most apps need. It is in the base install and loads nothing of a server.
"""

from vivavoce.client.client import Vivavoce
from vivavoce.client.link import NoServer, Refusal, Token
from vivavoce.client.records import (
    Approval,
    Conversation,
    Event,
    Hit,
    Message,
    Opened,
    Question,
    Reply,
    Session,
    Task,
)

__all__ = [
    "Approval",
    "Conversation",
    "Event",
    "Hit",
    "Message",
    "NoServer",
    "Opened",
    "Question",
    "Refusal",
    "Reply",
    "Session",
    "Task",
    "Token",
    "Vivavoce",
]
