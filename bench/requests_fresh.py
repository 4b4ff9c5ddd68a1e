"""More spoken requests, written after the brain's prompt was settled: nothing was tuned on them."""

from __future__ import annotations

from bench.requests import Request, bash, edit, fetch, glob, grep, read, search, task, write

FRESH: tuple[Request, ...] = (
    read("Open the file setup dot cfg.", "setup.cfg"),
    read("What does src slash server dot ts look like?", "src/server.ts", "source/server.ts"),
    Request("Good afternoon!"),
    read("Please read the security policy file.", "security"),
    glob("Find all the Go files.", ".go"),
    glob("Do we have any HTML files?", ".html"),
    Request("I just made some coffee."),
    glob(
        "List the files in the scripts folder.", "=*", "=**", "=**/*", "=scripts/*", "=scripts/**"
    ),
    glob("Where is the file called logo dot svg?", "logo.svg"),
    grep("Which files use the word timeout?", "timeout"),
    Request("You sound nice today."),
    grep("Search our code for secret key.", "secret_key"),
    grep("Where do we mention Postgres?", "postgres"),
    grep("Find the text not found in the templates folder.", "not found"),
    Request("What's the largest ocean?"),
    write("Create a file plan dot txt that says start on Monday.", "plan.txt", "start on monday"),
    write("Write good luck into card dot txt.", "card.txt", "good luck"),
    Request("Hm, okay."),
    write("Make a new file list dot md with the word apples in it.", "list.md", "apples"),
    edit("In main dot css replace green with purple.", "main.css", "green", "purple"),
    edit("Change the name Anna to Hannah in users dot json.", "users.json", "anna", "hannah"),
    Request("Do you have any hobbies?"),
    edit("In limits dot py set the maximum from 10 to 20.", "limits.py", "10", "20"),
    bash("Run pytest.", "pytest"),
    bash("Show me the git log.", "git log"),
    Request("That was quick, thank you."),
    bash("Install requests with pip.", "pip install requests", "pip3 install requests"),
    bash("Which version of git is installed?", "git --version", "git version"),
    bash("Push my changes.", "git push"),
    Request("I don't like spinach."),
    search("What's the weather like in Madrid today?", "madrid"),
    search("Search the internet for cheap flights to Oslo.", "oslo"),
    search("Look online for the score of the tennis final.", "tennis"),
    Request("Who painted the Mona Lisa?"),
    fetch("Read the page python dot org slash about.", "python.org/about"),
    fetch("What does the website mozilla dot org say?", "mozilla.org"),
    task("Get an agent to clean up the database layer.", "database"),
    Request("Bye for now."),
    task("Build a settings page for the app.", "settings"),
    task("Have someone review the payment code for bugs.", "payment"),
)
