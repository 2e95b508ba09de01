"""The cost of the proxy, as ratios to other proxies under the same load in the same run.

    python -m benchmarks                  everything; writes results.md and docs/evidence/benchmarks.md
    python -m benchmarks --quick          the same with little load: shows only that everything works
    python -m benchmarks --only relay     one measurement, printed

One module for each question:

    load/          generator, herd and sink in C: requests, idle connections, and the answers to both; real
                   clients' programs, but for franz-go's, which is built with the tests' Go clients
    frames         valid requests, built once in Python
    tools          compiles the C code, finds programs, says in a sentence what is missing
    processes      starts programs, reads their CPU and memory, ends them
    proxies        the table of variants: tsproxy's, haproxy, nginx, and peers given by path
    loads          the table of loads: sizes, connections, codecs
    broker         a real broker with a listener for each TCP proxy
    rounds         paired, alternating rounds; medians and spread
    measurements   the table of measurements; `relay`, `consume`, `memory`, `records`, `clients`
                   and others hold them
    sections       the result of a measurement
    targets        the bounds, and the question that each answers
    page, report   Markdown from the results
    answers        the page of docs/evidence, from results.md

Linux only (epoll, /proc). Non-goals: no absolute claims, no imitation of a broker's behaviour, no
statements about other machines.
"""
