"""What the proxy costs, as ratios to other proxies under the same load in the same run.

    python -m benchmarks                  everything; writes docs/benchmarks.md and its plots
    python -m benchmarks --quick          the same with little load: shows that all works, nothing else
    python -m benchmarks --only relay     one measurement, printed

One question, one room:

    load/          what is sent and who answers: generator and sink in C, both small
    frames         the requests, valid ones, made by Python once
    tools          compiles the C, finds programs, says in a sentence what is missing
    processes      starts programs, reads their CPU and memory, ends them
    proxies        the table of variants: tsproxy's, haproxy, nginx, nothing, and peers given by path
    loads          the table of loads: sizes, connections, codecs
    rounds         paired, alternating rounds; medians and spread
    measurements   the table of measurements; `relay`, `memory`, `records`, `profile` and
                   `clients` hold them
    sections       what a measurement returns
    report, plots  Markdown and SVG made of it

Linux only (epoll, /proc). Non-goals: no absolute claims, no imitation of a broker's behaviour, no
verdict on anybody's machine but this one.
"""
