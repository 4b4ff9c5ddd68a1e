"""What is said so often that it is made before it is asked for: data only.

The first clauses of a small instruct model, as the clauses are cut, and our
own phrases. About half a second of work each, once a voice.
"""

from __future__ import annotations

MANNERS = (
    "One moment.",
    "Let me see.",
    "Sorry, I didn't catch that. Could you say that again?",
    "I'm having trouble hearing you. You can also try typing your request.",
)

OPENINGS = (
    *MANNERS,
    "Sure.",
    "Sure!",
    "Sure,",
    "Okay.",
    "Okay,",
    "Yes.",
    "Yes,",
    "No.",
    "No,",
    "Let me check.",
    "Of course.",
    "Of course!",
    "Certainly!",
    "Hello!",
    "Hi!",
    "Hi there!",
    "Great!",
    "Got it.",
    "Done.",
    "I see.",
    "You're welcome!",
    "Thank you.",
    "Goodbye!",
    "I'm sorry,",
    "Sorry,",
    "Unfortunately,",
    "Well,",
    "Hello! How can I help you?",
    "How can I help you?",
    "How can I assist you today?",
    "I'm doing well,",
    "I'm not sure.",
    "I don't know.",
    "Here you go.",
    "Here it is:",
)
