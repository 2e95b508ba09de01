"""`python -m rigs.availability`: plays every form with every event, and prints a table for each form.

`--forms` and `--events` choose by a part of their names, `--players` by a part of a client's name.
"""

import argparse
import asyncio
import sys

from rigs.availability import network
from rigs.availability.cast import players
from rigs.availability.forms import NODES, Addresses, Ports, playable
from rigs.availability.play import EVENTS, PATIENCE_S, play
from tsproxy.testing.kafka_cluster import KafkaCluster

FIRST_PORT = 9192


async def run(forms, events, every):
    """Print a row as soon as a client has its result, and a table for each form at the end."""
    async with KafkaCluster(nodes=len(NODES)) as kafka:
        for number, form in enumerate(forms):
            cast = [player for player in every if form is Addresses or not player.is_tuned]
            rows = {str(player): {} for player in cast}
            for event in events:
                played = await play(form(Ports(FIRST_PORT)), EVENTS[event], cast, kafka, f"{number}.{event}")
                assert not played.forbidden, played
                for met in played.met:
                    print(f"{form.name}: {event}: {met}", file=sys.stderr, flush=True)
                    rows[met.player][event] = met
            print(_table(form.name, events, rows), flush=True)


def _table(name, events, rows):
    lines = [f"| {name} | " + " | ".join(events) + " |", "| --- |" + " --- |" * len(events)]
    for player, met in rows.items():
        lines.append(f"| {player} | " + " | ".join(_cell(met[event]) for event in events) + " |")
    return "\n".join(["", *lines, ""])


def _cell(met):
    """The longest wait, and whatever is not as it should be."""
    text = f"not in {PATIENCE_S} s" if met.wait_s is None else f"{met.wait_s:.1f} s"
    amiss = {"failed": len(met.failed), "lost": met.lost, "doubled": met.doubled, "not read": met.unread}
    return ", ".join([text, *(f"{count} {what}" for what, count in amiss.items() if count)])


def _chosen(words, known):
    return [each for each in known if not words or any(word in str(each) for word in words)]


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m rigs.availability", description=__doc__)
    for name in ("forms", "events", "players"):
        parser.add_argument(f"--{name}", nargs="*", default=[], metavar="PART")
    options = parser.parse_args(arguments)
    forms = [form for form in playable() if _chosen(options.forms, [form.name])]
    asyncio.run(run(forms, _chosen(options.events, EVENTS), _chosen(options.players, players())))


if __name__ == "__main__":
    network.enter(sys.argv[1:])
    main(sys.argv[1:])
