"""`ullage kube extender` hands its options to the process."""

from click.testing import CliRunner

from ullage.cli.kube import extender as module
from ullage.cli.kube.extender import command


class Started:
    """Notes how an extender was started."""

    def __init__(self) -> None:
        self.given: list[object] = []

    def Listening(self, *parts: object) -> tuple[object, ...]:  # noqa: N802 - a class elsewhere
        return parts

    def run_extender(self, *given: object) -> None:
        self.given.extend(given)


def test_options_reach_the_process(monkeypatch):
    started = Started()
    found = module.import_module
    monkeypatch.setattr(
        module, "import_module", lambda name: started if name.endswith("extender.running") else found(name)
    )
    arguments = [
        "--extender-port",
        "9000",
        "--scheduler-name",
        "mine",
        "--tls-key",
        "k",
        "--gpu-memory-gb",
        "10",
    ]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    options, names, listening = started.given
    assert options.component == "extender"
    assert options.settings["gpu-memory"] == "10"
    assert names == ("mine",)
    assert listening == ("0.0.0.0", 9000, "", "", "k")  # noqa: S104 - what is the default
