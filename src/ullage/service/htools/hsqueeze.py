"""hsqueeze: which nodes may be powered off, or which must be powered on, and the commands that do so."""

from typing import Final

from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.squeeze import STANDBY_TAG, Squeezed, SqueezeOptions, squeeze
from ullage.service.htools.commands import command_lines, show_commands
from ullage.service.htools.hinfo import refuse_arguments
from ullage.service.htools.loading import load
from ullage.service.htools.options import Options, Printed
from ullage.service.htools.printed import Page
from ullage.service.htools.saving import cluster_now, save
from ullage.service.htools.tables import common_suffix

CANDIDATES_VERBOSITY: Final = 2
AUTOMATIC_TAG: Final = f"{STANDBY_TAG}auto"


def run(options: Options) -> Printed:
    """Return what hsqueeze prints."""
    refuse_arguments(options)
    cluster, view, warnings = load(options)
    page = Page()
    page.tell_text(warnings)
    fleet = Fleet(cluster, view)
    save(page, options.save, "original", "before hsqueeze run", cluster)
    asked = SqueezeOptions(options.minimal_resources, options.target_resources, as_htools=True)
    squeezed = squeeze(fleet, asked)
    if options.verbose >= CANDIDATES_VERBOSITY:
        page.say(f"Offline candidates: {_names(fleet, squeezed.off_candidates)}")
        page.say(f"Online candidates: {_names(fleet, squeezed.on_candidates)}")
    heading, commands, done = _told(fleet, squeezed)
    if not options.no_headers:
        page.say(f"'{heading}'")
    page.say(*(fleet.hosts[number].name for number in squeezed.on or squeezed.off))
    if options.verbose >= CANDIDATES_VERBOSITY and not squeezed.is_enough:
        page.say("Onlining all nodes will not yield enough capacity")
    show_commands(page, options, "Commands to run:", commands)
    if options.save is not None:
        save(page, options.save, "squeezed", f"after hsqueeze {done}", cluster_now(squeezed.after))
    return page.done()


def _names(fleet: Fleet, numbers: tuple[int, ...]) -> str:
    return ",".join(fleet.hosts[number].name for number in numbers)


def _told(fleet: Fleet, squeezed: Squeezed) -> tuple[str, list[str], str]:
    """Return the heading, the commands, and what was done."""
    suffix = common_suffix(fleet.cluster)
    aliases = [fleet.hosts[number].name.removesuffix(suffix) for number in squeezed.on or squeezed.off]
    moves = command_lines(fleet, squeezed.steps, full_names=True)
    if squeezed.lacks_room:
        power = [f"  gnt-node power -f on {name}" for name in aliases]
        return "Nodes to online", ["echo Power Commands", *power, *moves], "expansion"
    if not squeezed.off:
        return "No action", ["echo Nothing to do"], "doing nothing"
    tags = [f"  gnt-node add-tags {name} {AUTOMATIC_TAG}" for name in aliases]
    power = [f"  gnt-node power -f off {name}" for name in aliases]
    commands = [*moves, "", "echo Tagging Commands", *tags, "", "echo Power Commands", *power]
    return "Nodes to offline", commands, "run"
