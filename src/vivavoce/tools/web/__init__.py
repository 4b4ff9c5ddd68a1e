"""The web, for tools: pages of the public internet, and search."""

from vivavoce.tools.web.tools import WebSettings, search_of, web_tools

__all__ = ["WebSettings", "search_of", "web_tools"]
