"""Notices to browsers whose page is closed (Web Push): due reminders, questions, requests for a yes
and finished work."""
