"""Where a change, a question or a row goes in a file: by the name of a value and by what it lies
in, wherever that was said. What could be several is asked about, and nothing else is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.brain.dialogue.talking import Talk, begin, fill
from tests.brain.dialogue.test_workspace_talks import FLOWS, Folder
from vivavoce.brain.dialogue.flows.structure import chosen, piece, places_in
from vivavoce.brain.dialogue.flows.tables import without_spelling
from vivavoce.brain.dialogue.flows.written import understood
from vivavoce.language.en.pointing import without_what_stays
from vivavoce.language.en.quantities import lacks

FILES = {
    "rooms.ini": "[front]\nlimit = 20\n\n[back]\nlimit = 20\n\n[attic]\nlimit = 35\n",
    "home.yaml": "kitchen:\n  oven:\n    temp: 180\n    fan: true\n  fridge:\n    temp: 4\n"
    "garage:\n  freezer:\n    temp: -18\n",
    "roles.json": '{\n  "cashier": { "discount": 5, "refunds": false },\n'
    '  "manager": { "discount": 20, "refunds": true },\n'
    '  "trainee": { "discount": 0, "refunds": false }\n}\n',
    "compose.yml": "services:\n  app:\n    image: ghcr.io/reef/app:2.3.1\n    ports:\n"
    '      - "8100:80"\n  cache:\n    image: redis:7.0\n    restart: always\n  proxy:\n'
    '    image: "nginx:1.25-alpine"\n    restart: "no"\n    ports:\n      - "8101:80"\n',
    "site.css": ".menu a {\n  color: #333;\n  padding: 8px;\n}\n\n.footer {\n  color: #999;\n"
    "  padding: 24px;\n}\n\nh1, h2 {\n  margin: 0 0 12px;\n  font-size: 2rem;\n}\n",
    "Makefile": "CC = gcc\n\nbuild: main.c\n\t$(CC) -O2 main.c\n\ntest: build\n\t./run_tests\n\n"
    "deploy:\n\trsync -a out web:/srv\n\tssh web restart\n",
    "Dockerfile": "FROM python:3.10-slim AS deps\nRUN pip install .\n\n"
    "FROM python:3.10-slim AS web\nEXPOSE 8000\nUSER nobody\n",
    "index.html": "<html>\n<head><title>Bakery</title></head>\n<body>\n<h1>Fresh bread</h1>\n"
    "<h2>Opening hours</h2>\n<p>From seven to five.</p>\n"
    '<a href="order.html">Order here</a>\n<footer>Call us</footer>\n'
    '<button id="send">Send</button>\n</body>\n</html>\n',
    "club.md": "# Club\n\n## Fees\n- Adults: 40\n- Juniors: 15\n\n## Courts\n- Adults: 6\n"
    "- Juniors: 2\n\n| Court | Surface | Light |\n|---|---|---|\n| 1 | clay | yes |\n"
    "| 2 | grass | no |\n\nKeys at the bar.\n",
    "marinas.yaml": "- name: Harbour\n  berths: 40\n  night: 12.50\n- name: Lagoon\n  berths: 18\n"
    "  night: 9.00\n",
    "deploy.yaml": "staging:\n  timeout: 15\n  retries: 2\nproduction:\n  timeout: 60\n"
    "  retries: 5\n",
    "shops.ini": "[shop_1]\nclosed = off\nopens = 9\n\n[shop_2]\nclosed = off\nopens = 10\n",
    ".editorconfig": "[*]\nindent_size = 4\n\n[*.js]\nindent_size = 2\n",
    "quay.conf": "server {\n    listen 80;\n    location /api {\n        read_timeout 30s;\n"
    "    }\n}\n",
    "app.xml": "<config>\n  <mailer>\n    <timeout>30</timeout>\n  </mailer>\n  <search>\n"
    "    <timeout>5</timeout>\n  </search>\n</config>\n",
    "menu.js": "const MAX_GUESTS = 12;\nconst options = {\n  lunch: { seats: 20, price: 14 },\n"
    "  dinner: { seats: 30, price: 28 },\n};\n",
    "cafe.txt": "Opening hours: 9 to 5\nManager: Ines Dahl\nPhone: 555 0142\n\n"
    "Ask the manager for the key.\n",
    "app.properties": "server.port=8080\nmail.port=25\n",
    "rates.csv": "item,small,large\ncoffee,2.40,3.10\ntea,1.90,2.60\n",
    "seats.csv": "ticket,guest,seat,price\n101,Olga Brandt,A4,12.50\n102,Pim de Vries,B2,12.50\n",
    "requirements.txt": "fastapi==0.110.0\nuvicorn>=0.29\n",
    "package.json": '{\n  "name": "reef",\n  "version": "1.2.0",\n  "scripts": {\n'
    '    "start": "node index.js",\n    "test": "jest"\n  },\n'
    '  "dependencies": {\n    "express": "^4.18.2"\n  }\n}\n',
    ".env": "DB_HOST=localhost\nDEBUG=true\n",
    "team.txt": "Volunteers\nMonday: Aled, Bina, Carlo\nTuesday: Bina and Dov\nWednesday: Bina\n\n"
    "Bina has the keys.\n",
    "CODEOWNERS": "*.css @noor\n/shop @noor @ivo\n/api @ivo @noor\n",
    "rota.md": "# Rota\n\nAsk Bex at the desk.\nBex has the keys.\n",
    "heat.py": "def warm(x):\n    limit = 10\n    return x * 7 + 30\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return Folder(tmp_path)


@pytest.fixture
def talk(folder: Folder) -> Talk:
    return Talk(hints=FLOWS, backend=folder)


def changes(folder: Folder) -> dict[str, tuple[list[str], list[str]]]:
    """By file: the lines that are gone, and those that are new."""
    made = {}
    for name, text in FILES.items():
        before, now = text.split("\n"), folder.text(name).split("\n")
        if before != now:
            gone = [(at, line) for at, line in enumerate(before) if line not in now[at : at + 1]]
            made[name] = (
                [line for _, line in gone],
                [now[at] if at < len(now) else "" for at, _ in gone],
            )
    return made


CHANGED = [
    ("the attic's limit has to come down to thirty", "rooms.ini", "The attic's limit", "thirty",
     "limit = 35", "limit = 30"),
    ("the freezer's too warm, take it down to minus twenty", "home.yaml", "the freezer",
     "minus twenty", "    temp: -18", "    temp: -20"),
    ("turn the fan off in the oven please", "home.yaml", "the fan", "off", "    fan: true",
     "    fan: false"),
    ("trainees may do refunds from now on, managers could all along", "roles.json", "refunds", "on",
     '  "trainee": { "discount": 0, "refunds": false }',
     '  "trainee": { "discount": 0, "refunds": true }'),
    ("set the discount for cashiers to seven and a half, not the managers", "roles.json",
     "the discount for cashiers", "seven and a half",
     '  "cashier": { "discount": 5, "refunds": false },',
     '  "cashier": { "discount": 7.5, "refunds": false },'),
    ("bump the proxy to one point two seven, still alpine", "compose.yml", "the proxy",
     "one point two seven, still alpine", '    image: "nginx:1.25-alpine"',
     '    image: "nginx:1.27-alpine"'),
    ("the app image goes to two four zero", "compose.yml", "the app image", "two four zero",
     "    image: ghcr.io/reef/app:2.3.1", "    image: ghcr.io/reef/app:2.4.0"),
    ("put the proxy on port eight two zero one", "compose.yml", "the proxy port",
     "eight two zero one", '      - "8101:80"', '      - "8201:80"'),
    ("the footer needs more air, thirty two pixels of padding", "site.css", "padding",
     "thirty two pixels", "  padding: 24px;", "  padding: 32px;"),
    ("headings should be two and a half rem", "site.css", "headings", "two and a half rem",
     "  font-size: 2rem;", "  font-size: 2.5rem;"),
    ("test should run pytest now", "Makefile", "test", "pytest", "\t./run_tests", "\tpytest"),
    ("the web stage moves to python three point twelve, slim as before", "Dockerfile",
     "the web stage", "python three point twelve", "FROM python:3.10-slim AS web",
     "FROM python:3.12-slim AS web"),
    ("expose nine thousand instead in the dockerfile", "Dockerfile", "expose", "nine thousand",
     "EXPOSE 8000", "EXPOSE 9000"),
    ("change the page title to Bakery on the Quay", "index.html", "the page title",
     "Bakery on the Quay", "<head><title>Bakery</title></head>",
     "<head><title>Bakery on the Quay</title></head>"),
    ("the button should say Order now", "index.html", "the button", "Order now",
     '<button id="send">Send</button>', '<button id="send">Order now</button>'),
    ("the link text becomes Order online", "index.html", "the link text", "Order online",
     '<a href="order.html">Order here</a>', '<a href="order.html">Order online</a>'),
    ("the second heading, make that When we're open", "index.html", "the second heading",
     "When we're open", "<h2>Opening hours</h2>", "<h2>When we're open</h2>"),
    ("make the heading say Hello bakers", "index.html", "Hello bakers", "",
     "<h1>Fresh bread</h1>", "<h1>Hello bakers</h1>"),
    ("fees for adults go to forty two", "club.md", "fees for adults", "forty two", "- Adults: 40",
     "- Adults: 42"),
    ("court two has lights now, so yes in the table", "club.md", "court two light", "yes",
     "| 2 | grass | no |", "| 2 | grass | yes |"),
    ("Lagoon has twenty berths now", "marinas.yaml", "berths", "twenty", "  berths: 18",
     "  berths: 20"),
    ("a night at Lagoon goes up to nine fifty", "marinas.yaml", "a night at Lagoon", "nine fifty",
     "  night: 9.00", "  night: 9.50"),
    ("staging's timeout goes to thirty, prod keeps its own", "deploy.yaml", "staging's timeout",
     "thirty", "  timeout: 15", "  timeout: 30"),
    ("the live timeout is too short, ninety please", "deploy.yaml", "the live timeout", "ninety",
     "  timeout: 60", "  timeout: 90"),
    ("shop two is shut today, switch that on", "shops.ini", "closed", "on", "closed = off",
     "closed = on"),
    ("the indent size for javascript should be four", ".editorconfig",
     "the indent size for javascript", "four", "indent_size = 2", "indent_size = 4"),
    ("let the api wait sixty seconds", "quay.conf", "read timeout", "sixty seconds",
     "        read_timeout 30s;", "        read_timeout 60s;"),
    ("the mailer's timeout should be forty five", "app.xml", "the mailer's timeout", "forty five",
     "    <timeout>30</timeout>", "    <timeout>45</timeout>"),
    ("dinner goes up to twenty nine fifty a head", "menu.js", "dinner price", "twenty nine fifty",
     "  dinner: { seats: 30, price: 28 },", "  dinner: { seats: 30, price: 29.50 },"),
    ("we open ten to six now, change the opening hours", "cafe.txt", "the opening hours",
     "ten to six", "Opening hours: 9 to 5", "Opening hours: 10 to 6"),
    ("the manager is Olu Bright now", "cafe.txt", "the manager", "Olu Bright",
     "Manager: Ines Dahl", "Manager: Olu Bright"),
    ("the mail port is five eight seven", "app.properties", "the mail port", "five eight seven",
     "mail.port=25", "mail.port=587"),
    ("a large tea is two eighty now", "rates.csv", "a large tea", "two eighty", "tea,1.90,2.60",
     "tea,1.90,2.80"),
    ("fast api goes to zero point one one one point zero", "requirements.txt", "fast api",
     "zero point one one one point zero", "fastapi==0.110.0", "fastapi==0.111.0"),
    ("express to four point nineteen", "package.json", "express", "four point nineteen",
     '    "express": "^4.18.2"', '    "express": "^4.19"'),
    ("turn debug off in the env file", ".env", "debug", "", "DEBUG=true", "DEBUG=false"),
    ("the db host is db dot internal now", ".env", "the db host", "db dot internal",
     "DB_HOST=localhost", "DB_HOST=db.internal"),
    ("somebody adds thirty there where it ought to be thirty-two", "heat.py", "thirty",
     "thirty-two", "    return x * 7 + 30", "    return x * 7 + 32"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "file", "what", "to", "old", "new"), CHANGED)
def test_a_change_goes_to_the_place_that_was_said(
    talk: Talk, folder: Folder, said: str, file: str, what: str, to: str, old: str, new: str
) -> None:
    slots = {"what": what, "file": file} | ({"to": to} if to else {})
    talk.says(said, begin("change", **slots))
    assert changes(folder) == {file: ([old], [new])}


@pytest.mark.parametrize(
    ("said", "file", "what", "to", "asked"),
    [
        ("set the limit to fifty", "rooms.ini", "the limit", "fifty", "front, back or attic"),
        ("make the limit for the cellar fifteen", "rooms.ini", "the limit for the cellar",
         "fifteen", "I find no cellar there"),
        ("make the padding ten pixels", "site.css", "the padding", "ten pixels",
         "menu a or footer"),
        ("juniors pay eighteen now", "club.md", "juniors", "eighteen", "Fees or Courts"),
        ("change the port to nine thousand", "app.properties", "the port", "nine thousand",
         "server or mail"),
        ("python goes to 3.12", "Dockerfile", "python", "3.12", "deps or web"),
        ("Bex should be Tamsin", "rota.md", "Bex", "Tamsin", "line 3"),
        ("the oven's fan is to be purple", "home.yaml", "the oven's fan", "purple", "?"),
        ("the cache is on redis banana", "compose.yml", "the cache image", "redis banana", "?"),
    ],
)  # fmt: skip
def test_what_could_be_several_or_nothing_is_asked_about(
    talk: Talk, folder: Folder, said: str, file: str, what: str, to: str, asked: str
) -> None:
    told = talk.says(said, begin("change", what=what, to=to, file=file))
    assert asked in told
    assert told.endswith("?")
    assert changes(folder) == {}


def test_the_answer_to_which_one_leaves_the_rest_of_the_wish(talk: Talk, folder: Folder) -> None:
    talk.says("set the limit to fifty", begin("change", what="limit", to="fifty", file="rooms.ini"))
    talk.says("the one in the front", fill(section="the one in the front"))
    assert changes(folder) == {"rooms.ini": (["limit = 20"], ["limit = 50"])}
    talk.says("Bex should be Tamsin", begin("change", what="Bex", to="Tamsin", file="rota.md"))
    talk.says("the one about the keys", fill(section="the one about the keys"))
    assert changes(folder)["rota.md"] == (["Bex has the keys."], ["Tamsin has the keys."])


def test_both_are_both(talk: Talk, folder: Folder) -> None:
    said = "make the limit thirty in both, front and back"
    talk.says(said, begin("change", what="the limit", to="thirty", file="rooms.ini"))
    assert changes(folder) == {"rooms.ini": (["limit = 20"] * 2, ["limit = 30"] * 2)}


def test_a_name_is_another_everywhere_only_where_that_was_said(talk: Talk, folder: Folder) -> None:
    said = "Bex left, that's Tamsin now, everywhere in the rota"
    talk.says(said, begin("change", what="Bex", to="Tamsin", file="rota.md"))
    assert folder.text("rota.md") == FILES["rota.md"].replace("Bex", "Tamsin")


@pytest.mark.parametrize(
    ("said", "file", "what", "to"),
    [
        ("the manager moved to Leeds, put that in", "cafe.txt", "the manager", "Leeds"),
        ("the attic is called loft", "rooms.ini", "the cellar", "loft"),
        ("set the seats to banana", "menu.js", "the chairs", "banana"),
    ],
)
def test_what_is_not_there_or_no_value_of_it_changes_nothing(
    talk: Talk, folder: Folder, said: str, file: str, what: str, to: str
) -> None:
    talk.points = lambda point: ()
    talk.says(said, begin("change", what=what, to=to, file=file))
    assert changes(folder) == {}


@pytest.mark.parametrize(
    ("said", "file", "what", "told"),
    [
        ("what's the limit for the cellar?", "rooms.ini", "the limit for the cellar",
         "There is no limit for cellar in rooms.ini. Limit is 20 for front, 20 for back and 35"),
        ("how cold is the fridge set", "home.yaml", "the fridge", "Temp is 4 for fridge"),
        ("what discount does the manager get", "roles.json", "discount", "is 20 for manager"),
        ("which image does the database use?", "compose.yml", "image does the database use",
         "There is no image for database in compose.yml."),
        ("what's a night at the Harbour", "marinas.yaml", "a night at the Harbour", "is 12.50"),
        ("how often does staging retry", "deploy.yaml", "staging retry", "Retries is 2 for stag"),
        ("when does shop one open", "shops.ini", "shop one open", "Opens is 9 for shop 1"),
        ("what's the timeout of the search", "app.xml", "the timeout of the search", "is 5"),
        ("how many seats for lunch", "menu.js", "seats for lunch", "Seats is 20 for lunch"),
    ],
)  # fmt: skip
def test_a_value_is_told_with_what_it_lies_in(
    talk: Talk, said: str, file: str, what: str, told: str
) -> None:
    assert told in talk.says(f"{said} in {file}", begin("value", what=what, where=file))


def test_and_for_another_section_is_the_same_name_there(talk: Talk) -> None:
    talk.says("what's the timeout in staging", begin("value", what="staging timeout"))
    assert "is 60" in talk.says("and production?", begin("value", what="production"))


@pytest.mark.parametrize(
    ("said", "file", "what", "row"),
    [
        ("new row in seats.csv: ticket 103, guest Ruth Okafor, seat C1, price fourteen",
         "seats.csv", "ticket 103, guest Ruth Okafor, seat C1, price fourteen",
         "103,Ruth Okafor,C1,14.00"),
        ("add Ruth Okafor, O K A F O R, seat C one, fourteen pounds, ticket one oh three",
         "seats.csv", "Ruth Okafor, O K A F O R, seat C one, fourteen pounds, ticket one oh three",
         "103,Ruth Okafor,C1,14.00"),
        ("put juice in, two ten small, two ninety large", "rates.csv",
         "juice, two ten small, two ninety large", "juice,2.10,2.90"),
        ("add cocoa to the rates, two sixty and three forty", "rates.csv",
         "cocoa, two sixty and three forty", "cocoa,2.60,3.40"),
        ("we have somebody new, Ana, A N A, two fifty, three ten. Put her in the rates",
         "rates.csv", "her", "Ana,2.50,3.10"),
        ("ticket 103's free again. Seat D4 for Ana, price nine. Guest is Ana Lim, L I M",
         "seats.csv", "Ana", "103,Ana Lim,D4,9.00"),
    ],
)  # fmt: skip
def test_a_row_has_its_cells_by_the_names_of_the_columns_or_in_order(
    talk: Talk, folder: Folder, said: str, file: str, what: str, row: str
) -> None:
    talk.says(said, begin("note", what=what, file=file))
    assert folder.text(file) == f"{FILES[file]}{row}\n"


def test_a_row_of_a_text_goes_behind_the_last_of_its_table(talk: Talk, folder: Folder) -> None:
    said = "add court three to the table, surface is carpet, light no"
    told = talk.says(said, begin("note", what="court three", file="club.md"))
    last = "| 2 | grass | no |\n"
    added = f"{last}| 3 | carpet | no |\n"
    assert folder.text("club.md") == FILES["club.md"].replace(last, added)
    assert "3, carpet, no" in told


def test_a_row_of_which_too_little_was_said_is_asked_for(talk: Talk, folder: Folder) -> None:
    said = "only item and small, that's how it is done"
    talk.says(said, begin("note", what="only item and small", file="rates.csv"))
    assert changes(folder) == {}
    told = talk.says("a row for Ruth Okafor", begin("note", what="Ruth Okafor", file="seats.csv"))
    assert told.endswith("?")
    assert changes(folder) == {}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("DB underscore NAME equals reef", "DB_NAME=reef"),
        ("S M T P underscore HOST, all caps, equals mail dot reef dot dev",
         "SMTP_HOST=mail.reef.dev"),
        ("port equals eight thousand", "PORT=8000"),
    ],
)  # fmt: skip
def test_a_name_with_a_value_is_added_as_the_others_are_written(
    talk: Talk, folder: Folder, words: str, line: str
) -> None:
    talk.says(f"add {words}", begin("note", what=words, file=".env"))
    assert folder.text(".env") == f"{FILES['.env']}{line}\n"


def test_a_name_that_is_there_is_not_added_twice(talk: Talk, folder: Folder) -> None:
    said = "debug equals false"
    told = talk.says(f"add {said}", begin("note", what=said, file=".env"))
    assert "already" in told
    assert changes(folder) == {}


def test_a_name_goes_out_of_all_lists_that_have_others(talk: Talk, folder: Folder) -> None:
    told = talk.says("take Bina off the team", begin("strike", what="Bina", file="team.txt"))
    assert folder.text("team.txt").split("\n")[1:4] == [
        "Monday: Aled, Carlo", "Tuesday: Dov", "Wednesday: Bina",
    ]  # fmt: skip
    assert "Wednesday" in told
    assert "Bina has the keys." in folder.text("team.txt")
    talk.says("Ivo is gone, take him out", begin("strike", what="Ivo", file="CODEOWNERS"))
    assert folder.text("CODEOWNERS") == "*.css @noor\n/shop @noor\n/api @noor\n"


def test_items_of_a_table_are_its_rows(talk: Talk) -> None:
    for what in ("items", "rows", "entries", "records", "lines", "tickets"):
        told = talk.says(f"how many {what} in seats", begin("count", what=what, where="seats.csv"))
        assert "2" in told.split(".")[0], told


def test_items_that_are_told_apart_by_a_cell_are_not_all_of_them(
    talk: Talk, folder: Folder
) -> None:
    said = "how many courts do I have down as clay in the club table"
    (folder.root / "courts.csv").write_text("court,surface\n1,clay\n2,grass\n3,clay\n")
    told = talk.says(said, begin("count", what="courts", where="courts.csv"))
    assert told.startswith("2 of the 3 rows")


def test_a_phone_number_that_is_not_there_is_said_not_to_be_there(talk: Talk) -> None:
    said = "what's the manager's mail address in the cafe text"
    told = talk.says(said, begin("read", file="cafe.txt", about="the manager's mail address"))
    assert "don't find a mail address" in told
    told = talk.says("and the phone number?", begin("read", file="cafe.txt", about="phone number"))
    assert "555 0142" in told
    assert "don't find" not in told


@pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        ("node:18-slim", "node twenty slim", "node:20-slim"),
        ("node:18-slim", "node twenty alpine", "node:20-alpine"),
        ("redis:6.2", "7.2", "redis:7.2"),
        ("redis:6.2", "the new one", ""),
        ("actions/checkout@v3", "version four", "actions/checkout@v4"),
        ("^4.18.2", "five", "^5"),
        ("'3.9'", "three point twelve", "'3.12'"),
        ("false", "on", "true"),
        ("Enabled", "off", "Disabled"),
        ("false", "perhaps", ""),
        ("3.80", "4.2", "4.20"),
        ("#333", "eighteen pixels", ""),
        ('"8100:80"', "nine thousand", '"9000:80"'),
    ],
)
def test_a_value_stays_of_the_kind_that_it_is(old: str, said: str, new: str) -> None:
    assert understood(old, said) == new


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("the day goes to four, the night stays", "the day goes to four,"),
        ("for the guests. Members keep it", "for the guests."),
        ("the web one but leave the mail one alone", "the web one"),
        ("keep them ninety days", "keep them ninety days"),
        ("search keeps giving up", "search keeps giving up"),
        ("the day's, not the night's", "the day's,"),
    ],
)
def test_what_stays_is_not_what_is_meant(said: str, left: str) -> None:
    assert " ".join(without_what_stays(said, "ninety").split()) == left


def test_letters_say_how_the_word_before_them_is_written() -> None:
    assert without_spelling("Brioni, that's B R I O N I, last") == "Brioni, last"
    assert without_spelling("Kwami, K W A M E, tenor") == "Kwame, tenor"
    assert without_spelling("Zander with a Z") == "Zander"


def test_what_kind_of_answer_is_asked_for_is_looked_for() -> None:
    assert lacks("what's his phone number", "Mr Abara") == "phone number"
    assert lacks("what's his phone number", "555 0142") == ""
    assert lacks("when does it open", "Ask Ann") == "time"
    assert lacks("when does it open", "after the harvest") == ""
    assert lacks("what does it say", "Ask Ann") == ""


def test_places_are_where_they_say() -> None:
    for name, text in FILES.items():
        lines = text.split("\n")
        for one in places_in(text, name):
            assert lines[one.line - 1][one.start : one.end] == one.value, (name, one)


_NAMES = st.sampled_from(["limit", "colour", "size", "pace"])
_SECTIONS = st.lists(
    st.sampled_from(["north", "south", "harbour", "lagoon"]), min_size=1, max_size=4, unique=True
)


def _written(kind: str, sections: list[str], names: list[str]) -> str:
    value = iter(range(11, 99))
    if kind == "ini":
        return "\n".join(
            f"[{one}]\n" + "".join(f"{name} = {next(value)}\n" for name in names)
            for one in sections
        )
    if kind == "yaml":
        return "".join(
            f"{one}:\n" + "".join(f"  {name}: {next(value)}\n" for name in names)
            for one in sections
        )
    inner = [
        f'  "{one}": {{' + ", ".join(f'"{name}": {next(value)}' for name in names) + "}"
        for one in sections
    ]
    return "{\n" + ",\n".join(inner) + "\n}\n"


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["ini", "yaml", "json"]),
    sections=_SECTIONS,
    names=st.lists(_NAMES, min_size=1, max_size=3, unique=True),
    asked=_NAMES,
    of=st.sampled_from(["north", "south", "harbour", "lagoon", ""]),
)
def test_no_value_is_chosen_without_the_words_for_it(
    kind: str, sections: list[str], names: list[str], asked: str, of: str
) -> None:
    text, path = _written(kind, sections, names), f"a.{kind}"
    said = f"put the {asked} {f'for the {of} ' if of else ''}to seven"
    found = chosen(
        places_in(text, path), f"the {asked}{f' for the {of}' if of else ''}", said, path
    )
    there = {(one.section, one.name) for one in found.there}
    if asked not in names:
        assert not there or of in sections
    elif of in sections:
        assert there == {(of, asked)}
    else:
        assert there == {(one, asked) for one in sections}
        assert found.lacking == of


@settings(max_examples=100, deadline=None)
@given(
    lines=st.lists(st.sampled_from(["a = 1", "b = 1", "", "[x]", "a = 11"]), min_size=1),
    at=st.integers(0, 30),
)
def test_a_piece_is_there_once_or_is_all_of_it(lines: list[str], at: int) -> None:
    at %= len(lines)
    first, last = piece(lines, at, at + 1)
    text, whole = "\n".join(lines[first:last]), "\n".join(lines)
    assert first <= at < last
    assert whole.count(text) == 1 or (first, last) == (0, len(lines)) or not text.strip()


def test_a_dictated_wish_is_a_wish_of_the_flow(talk: Talk, folder: Folder) -> None:
    words: dict[str, Any] = {"what": "second FROM, python three point twelve slim"}
    talk.says("only the second FROM, python three point twelve slim", begin("change", **words))
    assert changes(folder) == {
        "Dockerfile": (["FROM python:3.10-slim AS web"], ["FROM python:3.12-slim AS web"])
    }
