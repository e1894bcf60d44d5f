"""One page that holds every kind of block, and pages of arbitrary texts, for every renderer's tests."""

from hypothesis import strategies as st

from ullage.render.view import (
    BarRow,
    Bars,
    Cell,
    Column,
    Finding,
    Findings,
    Page,
    Segment,
    Share,
    Table,
    Term,
    Terms,
    Text,
    Tone,
    Verdict,
)
from ullage.render.visible import visible

GIBI = 1 << 30


def amount(text: str, part: int, whole: int, tone: Tone = "plain") -> Cell:
    return Cell(text, share=Share(part, whole), tone=tone)


def node_row(name: str, state: str, cpu: tuple[int, int], memory: tuple[int, int], place: tuple[str, str]):
    gpus, rack = place
    tone: Tone = "bad" if memory[0] > memory[1] else "warn" if memory[0] * 10 > memory[1] * 9 else "plain"
    free = max(0, memory[1] - memory[0])
    return (
        Cell(name, note=f"node {name} in {rack}"),
        Cell(state, tone="plain" if state == "ready" else "bad"),
        amount(f"{cpu[0]}m", cpu[0], cpu[1]),
        amount(f"{memory[0]}Gi", memory[0], memory[1], tone),
        Cell(f"{free}Gi", value=str(free * GIBI), tone="plain" if free else "muted"),
        Cell(gpus),
        Cell(rack, tone="muted"),
        Cell("kubernetes", tone="muted"),
    )


def nodes_table() -> Table:
    return Table(
        "Nodes",
        (
            Column("node", priority=100, key="node"),
            Column("state", priority=60),
            Column("cpu committed", "right", priority=80, key="cpu_committed"),
            Column("memory committed", "right", priority=90, key="memory_committed"),
            Column("free", "right", priority=70, key="memory_free_bytes"),
            Column("gpus", "right", priority=30),
            Column("rack", priority=20),
            Column("policy", priority=10, wide_only=True),
        ),
        (
            node_row("control-1", "ready", (1250, 4000), (6, 14), ("0", "rack-a")),
            node_row("worker-2", "ready", (30500, 32000), (121, 124), ("0", "rack-a")),
            node_row("worker-3", "cordoned", (0, 32000), (0, 124), ("0", "rack-b")),
            node_row("gpu-large-7", "ready", (61000, 64000), (520, 503), ("8", "rack-b")),
            node_row("storage-archive-9.example.internal", "ready", (560, 2000), (31, 62), ("0", "rack-c")),
        ),
        caption="Shares are of the limit: floor(ratio x allocatable).",
    )


def memory_bars() -> Bars:
    def row(label: str, reserve: int, committed: int, spare: int, ullage: int) -> BarRow:
        parts = (
            ("reserve", reserve, "muted"),
            ("committed", committed, "strong"),
            ("spare", spare, "warn"),
            ("ullage", ullage, "ok"),
        )
        segments = tuple(Segment(word, f"{part}Gi", part, tone) for word, part, tone in parts)
        whole = reserve + committed + spare + ullage
        return BarRow(label, segments, whole, f"{whole}Gi")

    return Bars(
        "Memory by group",
        (row("general", 6, 158, 124, 36), row("gpu", 9, 520, 0, 0), row("storage", 2, 31, 0, 31)),
    )


def limit_terms() -> Terms:
    return Terms(
        "How much memory storage-archive-9.example.internal can promise",
        (
            Term("", "capacity", "64Gi", "stated by the node"),
            Term("-", "reserve", "2Gi", "policy kubernetes, set for group storage"),
            Term("=", "allocatable", "62Gi"),
            Term("x", "ratio", "1.5", "group storage; the reserve itself is never over-committed"),
            Term("=", "limit", "93Gi", "floor(1.5 x 62Gi)"),
            Term("-", "committed", "31Gi", "4 workloads"),
        ),
        Term("=", "free", "62Gi"),
    )


def sample_findings() -> Findings:
    return Findings(
        "Findings",
        (
            Finding(
                "error",
                "node gpu-large-7",
                "memory over its limit by 17Gi (committed 520Gi, limit 503Gi after 9Gi reserve)",
                "move train-4 (24Gi) to worker-3, or raise memory-ratio of group gpu to 1.04",
            ),
            Finding("warning", "node worker-2", "memory 97% committed; the next 4Gi request is refused"),
            Finding("info", "node worker-3", "cordoned: counted as capacity, not as room"),
        ),
    )


def sample_page() -> Page:
    return Page(
        title="Status of demo",
        verdict=Verdict("9 of 12 nodes have room; 67Gi of memory can still be promised", "yes"),
        about="demo · revision 4f1c9a · policy kubernetes",
        blocks=(
            memory_bars(),
            nodes_table(),
            limit_terms(),
            sample_findings(),
            Text("", ("Room on a node is what its limit leaves after all promises, not what is idle now.",)),
        ),
        not_simulated=("image pulls", "pod affinity", "volume topology"),
        next_command="ullage explain node/gpu-large-7 -c demo",
    )


# What a dump could hold: terminal commands, markup, formulas, templates, text that runs backwards.
HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x9b2J",
    "a\nb\tc\rd",
    "\u202egpj.exe",
    "zero\u200bwidth\ufeff",
    "half\udc80surrogate",
    "nul\x00",
    "\ufffe\uffff",
    "<script>alert(1)</script>",
    "\"quotes' & ]]> <!-- ",
    "{{ 7 * 7 }}{% raw %}",
    "a|b|c",
    "`tick` **bold** _em_ [link](http://x) ![i](x) ~~no~~",
    "# heading",
    "- item",
    "1. item",
    "@everyone $x$",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-SUM(A1)",
    "nåme-名前-e\u0301",
    "back\\slash \\",
    " spaces  inside ",
    "",
)
characters = st.characters(exclude_categories=())
texts = st.sampled_from(HOSTILE) | st.text(characters, max_size=15)
words = st.text("abcdefghijklmnopqrstuvwxyzåß0123456789-./", min_size=1, max_size=10)
tones = st.sampled_from(["plain", "strong", "muted", "ok", "warn", "bad"])
counts = st.integers(0, 1 << 40)
shares = st.none() | st.builds(Share, counts, counts)


def cells(text=texts):
    return st.builds(Cell, text, shares, tones, note=text, value=st.none() | text)


@st.composite
def tables(draw, text=texts, columns_max=4):
    columns = draw(
        st.lists(
            st.builds(
                Column,
                text,
                st.sampled_from(["left", "right"]),
                priority=st.integers(0, 3),
                wide_only=st.booleans(),
            ),
            min_size=1,
            max_size=columns_max,
        )
    )
    rows = draw(st.lists(st.tuples(*(cells(text) for _ in columns)), max_size=2))
    return Table(draw(text), tuple(columns), tuple(rows), draw(text))


@st.composite
def stacks(draw, text=texts):
    kinds = ("plain", "strong", "muted", "ok", "warn", "bad")
    named = draw(st.lists(text.map(visible), max_size=4, unique=True))
    rows = draw(
        st.lists(
            st.builds(
                BarRow,
                text,
                st.tuples(
                    *(
                        st.builds(Segment, st.just(word), text, st.integers(-5, 1 << 40), st.just(tone))
                        for word, tone in zip(named, kinds, strict=False)
                    )
                ),
                counts,
                text,
            ),
            max_size=2,
        )
    )
    return Bars(draw(text), tuple(rows), draw(text))


def blocks(text=texts):
    def several(record):
        return st.lists(record, max_size=2).map(tuple)

    term = st.builds(Term, text, text, text, text)
    finding = st.builds(Finding, st.sampled_from(["error", "warning", "info"]), text, text, text)
    return st.one_of(
        tables(text),
        stacks(text),
        st.builds(Terms, text, several(term), term),
        st.builds(Findings, text, several(finding)),
        st.builds(Text, text, several(text)),
    )


def pages(text=texts):
    return st.builds(
        Page,
        text,
        st.builds(Verdict, text, st.sampled_from(["yes", "no", "info"])),
        st.lists(blocks(text), max_size=2).map(tuple),
        st.lists(text, max_size=2).map(tuple),
        text,
        text,
    )
