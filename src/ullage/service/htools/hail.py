"""hail: where Ganeti puts a new instance, and where instances go that must leave a node.

The request is a JSON message that holds the cluster too; -t and --simulate replace the cluster in it.
"""

import json
from typing import TYPE_CHECKING, Final

from ullage.engine.balance.dedicated import dedicated_solution
from ullage.engine.balance.facts import View
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.group_choice import Conditions
from ullage.engine.balance.requests import Evacuate, Relocate, Request
from ullage.service.htools.answers import Answer, Asked, answer, solver_of
from ullage.service.htools.loading import load, read_file, warnings_about, with_node_memory
from ullage.service.htools.names import Names
from ullage.service.htools.options import Options, Printed
from ullage.service.htools.printed import Page, stop
from ullage.service.htools.saving import cluster_now, save
from ullage.sources.ganeti.iallocator import read_message

if TYPE_CHECKING:
    from ullage.engine.balance.global_n1 import Redundancy

EXPLAINING_VERBOSITY: Final = 2


def run(options: Options) -> Printed:
    """Return what hail prints."""
    if len(options.arguments) > 1:
        stop("Only one argument is accepted (the input file)")
    if not options.arguments:
        stop("This program needs an input file.")
    page = Page()
    message = read_message(read_file(options.arguments[0]))
    cluster = with_node_memory(message.cluster, options.static_node_memory_bytes)
    page.tell_text(warnings_about(cluster))
    view = View(memory_ratio=options.memory_ratio)
    if options.data_file is not None or options.simulate:
        cluster, view, warnings = load(options)
        page.tell_text(warnings)
    fleet = Fleet(cluster, view)
    restricted = None if options.restrict_to_nodes is None else frozenset(options.restrict_to_nodes)
    conditions = Conditions(options.ignore_soft_errors, _redundancy(options, message.request), restricted)
    asked = Asked(message.request, Names(cluster), conditions, message.cluster.tags)
    if options.verbose >= EXPLAINING_VERBOSITY and solver_of(fleet, message.request) is dedicated_solution:
        page.tell("Allocation on a dedicated cluster; using lost-allocations metrics.")
    found = answer(fleet, asked)
    _show(options, fleet, "Initial", page)
    save(page, options.save, "pre-ialloc", "before iallocator run", cluster_now(fleet))
    page.say(written(found))
    _show(options, found.fleet, "Final", page)
    save(page, options.save, "post-ialloc", "after iallocator run", cluster_now(found.fleet))
    return page.done()


def _redundancy(options: Options, request: Request) -> "Redundancy | None":
    """Return what must stay redundant; machines that move within their group take what room there is."""
    if not options.capacity or isinstance(request, Evacuate | Relocate):
        return None
    from ullage.engine.balance.global_n1 import Redundancy

    return Redundancy(accepts_existing=options.accept_existing)


def written(found: Answer) -> str:
    """Return an answer as Ganeti reads it: one line of JSON."""
    message = {"success": found.success, "info": found.info, "result": found.result}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


def _show(options: Options, fleet: Fleet, when: str, page: Page) -> None:
    """Add the table of nodes where it is asked for."""
    if options.print_nodes is None:
        return
    from ullage.service.htools.tables import node_table

    page.tell("", f"{when} cluster status:", *node_table(fleet, options.print_nodes), "")
