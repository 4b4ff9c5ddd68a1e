"""How often, as people say it: RFC 5545 rules."""
