// How full a cluster was: one plot for each resource, drawn from the JSON of its history.
"use strict";
(() => {
  const BYTES = /(^|[-/.])(memory|storage|hugepages-.*)$/;
  const UNITS = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
  const FIRST = ["cpu", "memory"];
  const STEPS = Array.from({ length: 62 }, (_, power) => 2 ** power);
  const LINES = [["limit", "--muted", [6, 4]], ["committed", "--bar-strong", []], ["ullage", "--bar-ok", []], ["used", "--bar-warn", []]];
  // What was really used, at the moments of the history: the last peak before each, unless that is long ago.
  const used = (told, times) => times.map((at) => {
    let found = null;
    for (let place = 0; place < told.times.length && told.times[place] <= at; place += 1) found = at - told.times[place] < Math.max(7200, 2 * told.stepSeconds) ? told.values[place] : null;
    return found;
  });
  const withUsed = (told, observed) => {
    for (const one of told.series) {
      const mine = (observed.series || []).find((each) => each.resource === one.resource && each.times.length);
      if (mine) one.terms.used = used(mine, told.times);
    }
  };
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const shown = (value, isBytes) => {
    if (value === null || value === undefined) return "-";
    if (!isBytes) return value >= 1e6 ? `${+(value / 1e6).toFixed(2)}M` : value >= 1e4 ? `${+(value / 1e3).toFixed(2)}k` : String(+value.toFixed(2));
    let step = 0;
    while (Math.abs(value) >= 1024 && step < UNITS.length - 1) { value /= 1024; step += 1; }
    return `${+value.toFixed(2)}${UNITS[step]}`;
  };
  const two = (number) => String(number).padStart(2, "0");
  const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const hour = (at) => `${two(at.getHours())}:${two(at.getMinutes())}`;
  const moments = (_, ticks) => ticks.map((seconds, number) => {
    const at = new Date(seconds * 1000);
    const before = number ? new Date(ticks[number - 1] * 1000) : null;
    const isNew = !before || day(before) !== day(at);
    return ticks.length > 1 && ticks[1] - ticks[0] >= 86400 ? day(at).slice(before && before.getFullYear() === at.getFullYear() ? 5 : 0) : isNew ? `${hour(at)}\n${day(at)}` : hour(at);
  });
  const axis = (format, isBytes) => ({ stroke: color("--muted"), grid: { stroke: color("--rule"), width: 1 }, ticks: { stroke: color("--rule"), width: 1 }, font: "12px system-ui", size: format ? 68 : 50, incrs: isBytes ? STEPS : undefined, space: format ? 30 : 92, values: format ? (_, ticks) => ticks.map(format) : moments });
  const committed = (marks) => ({ hooks: { draw: (plot) => {
    const pen = plot.ctx;
    pen.save();
    pen.strokeStyle = color("--link");
    pen.setLineDash([2, 3]);
    for (const mark of marks) {
      const x = Math.round(plot.valToPos(mark.atSeconds, "x", true));
      pen.beginPath();
      pen.moveTo(x, plot.bbox.top);
      pen.lineTo(x, plot.bbox.top + plot.bbox.height);
      pen.stroke();
    }
    pen.restore();
  } } });

  const plots = [];
  const draw = (box, title, told, lines, format, isBytes) => {
    const times = told.times;
    const options = {
      title, width: Math.max(280, box.clientWidth), height: 230, cursor: { sync: { key: "history" } }, plugins: [committed(told.marks)],
      scales: { x: { range: () => [told.fromSeconds, told.untilSeconds] }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
      hooks: { ready: [(plot) => plot.setLegend({ idx: times.length - 1 })] },
      axes: [axis(null, false), axis(format, isBytes)],
      series: [{ label: "when", value: (_, seconds) => { const at = seconds ? new Date(seconds * 1000) : null; return at ? `${day(at)} ${hour(at)}` : "-"; } }, ...lines.map(([label, name, dash]) => ({ label, stroke: color(name), width: 1.75, dash, points: { show: times.length < 2, fill: color("--ground") }, value: (_, value) => format(value) }))],
    };
    const plot = new uPlot(options, [times, ...lines.map((line) => line[3])], box);
    plots.push(plot);
  };
  const drawAll = (root, told) => {
    plots.splice(0).forEach((each) => each.destroy());
    root.replaceChildren();
    const place = (name) => { const box = document.createElement("div"); box.className = "plot"; box.setAttribute("role", "img"); box.setAttribute("aria-label", name); root.append(box); return box; };
    const rank = (name) => (FIRST.includes(name) ? FIRST.indexOf(name) : name === "pods" || name.endsWith("storage") ? 9 : 5);
    const ordered = [...told.series].sort((one, other) => rank(one.resource) - rank(other.resource));
    for (const one of ordered) {
      const isBytes = BYTES.test(one.resource);
      const lines = LINES.filter(([term]) => one.terms[term]).map(([term, name, dash]) => [term, name, dash, one.terms[term]]);
      const last = (term) => shown(one.terms[term][one.terms[term].length - 1], isBytes);
      draw(place(`${one.resource}: committed ${last("committed")}, ullage ${last("ullage")} of ${last("limit")} now`), one.resource, told, lines, (value) => shown(value, isBytes), isBytes);
    }
    const counts = [["workloads", "--bar-strong", [], told.workloads], ["waiting", "--bar-warn", [], told.waiting]];
    draw(place("workloads, and those that wait"), "workloads", told, counts, (value) => shown(value, false), false);
  };
  for (const root of document.querySelectorAll("[data-history]")) {
    const note = document.querySelector("[data-history-note]");
    const fetched = (address) => fetch(address, { headers: { Accept: "application/json" } }).then((answer) => answer.json());
    Promise.all([fetched(root.dataset.history), fetched(root.dataset.used).catch(() => ({}))]).then(([told, observed]) => {
      if (!told.times || !told.times.length) { note.textContent = told.title || "Nothing was kept of this time yet: the first sample comes with the next reading."; return; }
      note.hidden = true;
      withUsed(told, observed);
      drawAll(root, told);
      document.addEventListener("ullage:theme", () => drawAll(root, told));
      let width = root.clientWidth;
      new ResizeObserver(() => { if (root.clientWidth !== width) { width = root.clientWidth; plots.forEach((each) => each.setSize({ width: each.root.parentElement.clientWidth, height: 230 })); } }).observe(root);
    }).catch(() => { note.textContent = "The history cannot be fetched: load the page again."; });
  }
})();
