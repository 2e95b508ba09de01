"""All ceilings of the code, by place, and the table of them in ceilings.md."""

import importlib
import inspect
import pkgutil

import tsproxy
from tsproxy.model.bounded import Ceiling, Owner

MIB = 1 << 20


def ceilings():
    """Place -> ceiling: each `Ceiling` that is a constant of a module of tsproxy."""
    found = {}
    for module in pkgutil.walk_packages(tsproxy.__path__, "tsproxy."):
        if module.name.endswith("__main__"):
            continue
        imported = importlib.import_module(module.name)
        for name, value in vars(imported).items():
            if isinstance(value, Ceiling) and f"{name}: Final = Ceiling(" in inspect.getsource(imported):
                found[f"{module.name.removeprefix('tsproxy.').replace('.', '/')}.py: {name}"] = value
    return dict(sorted(found.items()))


def most_of_a_process():
    """The bytes that one process keeps at most under ceilings of its own."""
    own = (each for each in ceilings().values() if each.owner is Owner.PROCESS)
    return sum(each.containers * each.most_bytes for each in own)


def as_table():
    rows = [
        "| place | keeps | entries | MiB | when it is full | owner |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for place, each in ceilings().items():
        times = f" ({each.containers} of them)" if each.containers > 1 else ""
        most = f"{each.most:,} | {each.most_bytes / MIB:g}"
        rows.append(f"| `{place}` | {each.keeps}{times} | {most} | {each.when_full} | {each.owner} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(as_table())
    print(f"\n{most_of_a_process() / MIB:.0f} MiB")
