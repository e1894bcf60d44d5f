// What a page does beyond links and forms: keys, theme, hovering over maps, dropping files, news of the cluster.
"use strict";
(() => {
  const root = document.documentElement;
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];

  // Forms that submit themselves need no button.
  all(".unscripted").forEach((each) => { each.hidden = true; });
  all("[data-submits]").forEach((each) => each.addEventListener("change", () => each.form.requestSubmit()));

  // Where the menu is one line, the page that is open is in sight.
  const current = one("[aria-current='page']");
  if (current) { const menu = current.closest("nav"); menu.scrollLeft = current.offsetLeft - (menu.clientWidth - current.offsetWidth) / 2; }

  // The theme changes at once; the server remembers it.
  const themes = { light: "Theme: light", dark: "Theme: dark", system: "Theme: system" };
  const after = { light: "dark", dark: "system", system: "light" };
  all("[data-theme-switch]").forEach((form) => form.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    const wanted = button.value;
    const body = new URLSearchParams(new FormData(form));
    body.set("theme", wanted);
    fetch(form.action, { method: "POST", body, redirect: "manual" })
      .then((answer) => { if (answer.status >= 400) throw new Error(answer.statusText); })
      .catch(() => tell("The theme cannot be remembered", "the server does not answer"));
    if (wanted === "system") delete root.dataset.theme; else root.dataset.theme = wanted;
    button.value = after[wanted];
    button.textContent = themes[wanted];
    document.dispatchEvent(new Event("ullage:theme"));
  }));

  // What is asked for without leaving the page may fail: it is told on top of what was shown before.
  const trouble = one("[data-trouble]");
  const calm = () => trouble.replaceChildren();
  const tell = (title, detail, address) => {
    const line = document.createElement("p");
    line.className = "notice bad";
    const close = document.createElement("button");
    close.type = "button";
    close.className = "plain";
    close.textContent = "Close";
    close.addEventListener("click", calm);
    const sign = document.createElement("span");
    sign.className = "sign";
    sign.setAttribute("aria-hidden", "true");
    sign.textContent = "✗ ";
    line.append(close, sign, title);
    if (detail) {
      const more = document.createElement("span");
      more.className = "muted";
      more.textContent = detail;
      line.append(document.createElement("br"), more);
    }
    if (address) {
      const link = document.createElement("a");
      link.href = address;
      link.textContent = "Sign in";
      line.append(" ", link);
    }
    trouble.replaceChildren(line);
  };
  const problemOf = (answer) => {
    const content = answer.getResponseHeader("content-type") || "";
    if (content.includes("json")) {
      try { const told = JSON.parse(answer.responseText); return [told.title, told.detail]; } catch { return []; }
    }
    const told = new DOMParser().parseFromString(answer.responseText, "text/html");
    const words = (name) => (told.querySelector(`[${name}]`) || { textContent: "" }).textContent;
    return content.includes("html") ? [words("data-title"), words("data-detail")] : [];
  };
  document.addEventListener("htmx:beforeRequest", calm);
  document.addEventListener("htmx:responseError", (event) => {
    const answer = event.detail.xhr;
    const [title, detail] = problemOf(answer);
    const login = `/login?next=${encodeURIComponent(location.pathname + location.search)}`;
    tell(title || `The server answers ${answer.status} ${answer.statusText}`.trim(), detail, answer.status === 401 ? login : "");
  });
  document.addEventListener("htmx:sendError", () => tell("The server cannot be reached", "what is shown is what it said before; ask again later"));
  document.addEventListener("htmx:timeout", () => tell("The server takes too long to answer", "ask about less at a time, or again later"));

  // Keys: g and a letter goes to a page, / searches, ? tells the keys.
  const typing = (target) => target.closest && target.closest("input, textarea, select, [contenteditable]");
  let waiting = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (waiting && Date.now() - waiting < 1500) {
      waiting = 0;
      const link = one(`[data-letter="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    if (event.key === "g") waiting = Date.now();
    else if (event.key === "/" && one("[data-search]")) { event.preventDefault(); one("[data-search]").focus(); }
    else if (event.key === "t") { const form = one("[data-theme-switch]"); if (form) form.requestSubmit(); }
    else if (event.key === "?") keys();
  });
  const keys = () => {
    let box = one("dialog.keys");
    if (!box) {
      box = document.createElement("dialog");
      box.className = "keys";
      const lines = all("[data-letter]").map((each) => [`g ${each.dataset.letter}`, each.firstChild.textContent.trim()]);
      lines.push(["/", "search"], ["t", "light, dark, or as the system"], ["?", "these keys"]);
      const list = document.createElement("dl");
      for (const [key, words] of lines) {
        const term = document.createElement("dt");
        const mark = document.createElement("kbd");
        mark.textContent = key;
        term.append(mark);
        const told = document.createElement("dd");
        told.textContent = words;
        list.append(term, told);
      }
      const title = document.createElement("h2");
      title.textContent = "Keys";
      title.id = "keys-title";
      box.setAttribute("aria-labelledby", "keys-title");
      const form = document.createElement("form");
      form.method = "dialog";
      const close = document.createElement("button");
      close.textContent = "Close";
      form.append(close);
      box.append(title, list, form);
      document.body.append(box);
    }
    box.showModal();
  };
  all("[data-keys]").forEach((each) => { each.hidden = false; each.addEventListener("click", keys); });

  // Large maps: the square below the pointer, by its place.
  let tip = null;
  const found = (event) => {
    const map = event.target.closest && event.target.closest("svg[data-names]");
    if (!map) return null;
    const box = map.getBoundingClientRect();
    const size = Number(map.dataset.size);
    const column = Math.floor((event.clientX - box.left) / size);
    const row = Math.floor((event.clientY - box.top) / size);
    const at = row * Number(map.dataset.columns) + column;
    const name = map.dataset.names.split(" ")[at];
    return name ? { name, words: map.dataset.words.split("|")[at] } : null;
  };
  document.addEventListener("pointermove", (event) => {
    const spot = found(event);
    if (!spot) { if (tip) tip.hidden = true; return; }
    if (!tip) { tip = document.createElement("div"); tip.className = "tip"; tip.setAttribute("aria-hidden", "true"); document.body.append(tip); }
    tip.textContent = `${spot.name}: ${spot.words}`;
    tip.hidden = false;
    tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${event.clientY + 16}px`;
  });
  document.addEventListener("click", (event) => {
    const spot = found(event);
    const map = spot && event.target.closest("[data-heat]");
    if (!map) return;
    const address = new URL(map.dataset.heat, location.href);
    address.pathname += encodeURIComponent(spot.name);
    location.assign(address);
  });

  // A manifest may be dropped on its box, or chosen as a file.
  const fill = (box, file) => file.size > Number(box.dataset.bytesMax)
    ? (one("[data-drop-note]").textContent = `${file.name} is larger than ${box.dataset.bytesMax} bytes`)
    : file.text().then((text) => { box.value = text; one("[data-drop-note]").textContent = file.name; });
  all("textarea[data-drop]").forEach((box) => {
    box.addEventListener("dragover", (event) => { event.preventDefault(); box.classList.add("over"); });
    box.addEventListener("dragleave", () => box.classList.remove("over"));
    box.addEventListener("drop", (event) => {
      event.preventDefault();
      box.classList.remove("over");
      if (event.dataTransfer.files.length) fill(box, event.dataTransfer.files[0]);
    });
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) box.form.requestSubmit();
    });
  });
  all("[data-file-for]").forEach((choice) => choice.addEventListener("change", () => {
    if (choice.files.length) fill(one(choice.dataset.fileFor), choice.files[0]);
  }));
  all("[data-example]").forEach((button) => button.addEventListener("click", () => {
    one("textarea[data-drop]").value = one(button.dataset.example).textContent;
  }));

  // News: a line where the cluster was read anew, or a plan committed, since the page was drawn. The browser
  // connects again by itself, as late as the server says. Who cannot see the page keeps no connection.
  const news = one("[data-news]");
  const kinds = ["revision", "failure", "removed", "ledger", "plan", "lost"];
  let stream = null;
  const deaf = () => { if (stream) stream.close(); stream = null; };
  const isNews = (event) => {
    const facts = JSON.parse(event.data);
    if (event.type === "revision") return facts.revision !== Number(document.body.dataset.revision);
    return event.type === "lost" || (event.type === "plan" && facts.state === "committed");
  };
  const hear = (event) => {
    news.dataset.news = event.lastEventId;
    if (!isNews(event)) return;
    deaf();
    const line = document.createElement("p");
    line.className = "notice";
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = "Reload";
    link.addEventListener("click", (click) => { click.preventDefault(); location.reload(); });
    line.append("There is newer data. ", link);
    news.replaceChildren(line);
  };
  const listen = () => {
    if (!news || stream || news.firstChild || document.hidden) return;
    const query = new URLSearchParams({ cluster: document.body.dataset.cluster, after: news.dataset.news });
    stream = new EventSource(`/v1/events?${query}`);
    kinds.forEach((kind) => stream.addEventListener(kind, hear));
  };
  addEventListener("pagehide", deaf);
  addEventListener("pageshow", listen);
  document.addEventListener("visibilitychange", () => (document.hidden ? deaf() : listen()));
})();
