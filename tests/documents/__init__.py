"""Documents that are run word for word: `make docs-run PAGE=docs/guide/tutorial.md`.

A page is followed as a reader would follow it, from top to bottom, in a new folder:

* A block ```` ```console ```` is a terminal. A line `$ command` is typed, and the lines below it are what one
  sees. A prompt with a name (`proxy$ command`) is another terminal: its command keeps running, and the page
  goes on when the lines below it have been seen. `proxy$ ^C` is Ctrl-C in that terminal.
* A block ```` ```sh ```` is a script. It is run, and must end well.
* A block of another language whose first line is a comment with a name (`# tsproxy.yaml`) is a file. It is
  written as it stands there.
* A block without a language is not run.

In what one sees, `…` stands for any text, and a line `…` for any lines. Times, durations in seconds or
minutes, and ids of clusters differ from run to run, so any other one is right. All else must be equal, but
for the number of blanks (`seen.py`).

The runner adds nothing: no file, no variable, and no command that the page does not show. There is one
exception: for README it starts the cluster that its reader has already. If the system allows it, a page
has a network of its own, so that its ports are free. That network leads nowhere, so Kafka's jars are fetched
before.

    page       a page as a list of steps
    seen       is what was seen what the page shows?
    terminals  a shell on a pseudo terminal
    network    a network of one's own
    follow     runs the steps
"""
