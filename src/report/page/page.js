// What the page can't do by itself. Everything that it shows is in the HTML already.
"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector, within = document) => within.querySelector(selector);
  const tip = one("#tip");

  // ---- values where one points at them, or walks to them by arrow keys ----
  let chosen = null;
  // Whether a step by keys has scrolled, which takes no tip away.
  let walked = false;

  function show(hit, x, y) {
    chosen?.classList.remove("chosen");
    chosen = hit;
    tip.hidden = !hit;
    if (!hit) return;
    hit.classList.add("chosen");
    // The browser would show the title as well, over the tip: it is kept as a label.
    const title = one("title", hit);
    if (title) {
      hit.setAttribute("aria-label", title.textContent);
      title.remove();
    }
    tip.textContent = hit.getAttribute("aria-label");
    const beside = (place, size, room) => {
      const free = place + 14 + size > room ? place - 14 - size : place + 14;
      return Math.max(4, Math.min(free, room - size - 4));
    };
    tip.style.left = `${beside(x, tip.offsetWidth, innerWidth)}px`;
    tip.style.top = `${beside(y, tip.offsetHeight, innerHeight)}px`;
  }

  // The nearest value of a picture within a finger's width.
  function nearest(picture, x, y) {
    let best = null;
    let least = 24 * 24;
    for (const hit of all(".hit", picture)) {
      const box = hit.getBoundingClientRect();
      if (!box.width) continue;
      const across = Math.max(box.left - x, 0, x - box.right);
      const down = Math.max(box.top - y, 0, y - box.bottom);
      const middle = Math.hypot(x - (box.left + box.right) / 2, y - (box.top + box.bottom) / 2) / 1e3;
      const distance = across * across + down * down + middle;
      if (distance < least) [best, least] = [hit, distance];
    }
    return best;
  }

  function walk(picture, step) {
    const hits = all(".hit", picture).filter((hit) => hit.getBoundingClientRect().width);
    if (!hits.length) return;
    const place = hits.indexOf(chosen);
    const next = hits[place < 0 ? 0 : (place + step + hits.length) % hits.length];
    walked = true;
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
    const box = next.getBoundingClientRect();
    show(next, box.right, box.bottom);
  }

  for (const picture of all(".picture")) {
    const point = (event) => show(nearest(picture, event.clientX, event.clientY), event.clientX, event.clientY);
    picture.addEventListener("pointermove", point);
    picture.addEventListener("pointerdown", point);
    picture.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && show(null));
    picture.addEventListener("blur", () => show(null));
    picture.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) {
        event.preventDefault();
        walk(picture, step);
      } else if (event.key === "Escape") {
        show(null);
      }
    });
  }
  addEventListener("scroll", () => {
    if (!walked) show(null);
    walked = false;
  }, { passive: true, capture: true });

  // ---- filters ----
  const controls = one(".controls");
  controls.hidden = false;
  controls.addEventListener("submit", (event) => event.preventDefault());
  const [find, family, source] = ["#find", "#family", "#source"].map((id) => one(id));

  function filter() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const from = source?.value ?? "";
    const isFrom = (element) => {
      const { source: own, sources } = element.dataset;
      return !from || own === from || (sources ?? "").split(" ").includes(from);
    };
    for (const element of all("[data-source], [data-sources]")) element.classList.toggle("filtered", !isFrom(element));
    let shown = 0;
    const sections = all("section.experiment");
    for (const section of sections) {
      const { family: own, text } = section.dataset;
      const isShown = (!family.value || own === family.value) && words.every((word) => text.includes(word)) && isFrom(section);
      section.classList.toggle("filtered", !isShown);
      one(`nav a[href="#${section.id}"]`)?.parentElement.classList.toggle("filtered", !isShown);
      shown += isShown ? 1 : 0;
    }
    for (const entry of all("nav li[data-family]")) {
      entry.classList.toggle("filtered", !one("li:not(.filtered)", entry));
    }
    one("#found").textContent = shown === sections.length ? "" : `${shown} of ${sections.length} experiments`;
  }

  for (const control of [find, family, source]) control?.addEventListener("input", filter);
  const doubted = one("#doubted");
  const hide = () => document.documentElement.classList.toggle("hide-doubted", !doubted.checked);
  doubted.addEventListener("change", hide);

  // A browser may have kept what was typed before the page was loaded again.
  filter();
  hide();

  // ---- light and dark ----
  const themes = ["as the system", "light", "dark"];
  let theme = 0;
  one("#theme").addEventListener("click", (event) => {
    theme = (theme + 1) % themes.length;
    document.documentElement.dataset.theme = theme ? themes[theme] : "";
    event.target.textContent = `Theme: ${themes[theme]}`;
  });

  // ---- sorted tables ----
  const UNITS = { ps: 1e-3, ns: 1, us: 1e3, ms: 1e6, s: 1e9, KiB: 1024, MiB: 1048576, GiB: 1073741824 };
  const PREFIXES = { k: 1e3, M: 1e6, G: 1e9, T: 1e12 };

  // A figure in words as a number, where it is one: `2.71 TB/s` is more than `980 GB/s`, and `2 to 8 us` are about 4 us.
  function size(text) {
    const power = /^2\^(\d+)$/.exec(text);
    if (power) return 2 ** Number(power[1]);
    const match = /^(?:up to |at least |[<~])?(-?[\d.]+(?:e[-+]?\d+)?)(?: to ([\d.]+(?:e[-+]?\d+)?))?\s*(\S*)/i.exec(text);
    if (!match || Number.isNaN(Number(match[1]))) return null;
    const [low, high, unit] = [Number(match[1]), Number(match[2]), match[3]];
    const factor = UNITS[unit] ?? (unit.includes("/s") || unit.length > 1 ? PREFIXES[unit[0]] : null) ?? 1;
    return (match[2] ? Math.sqrt(low * high) : low) * factor;
  }

  function compare(one, other) {
    const [a, b] = [size(one), size(other)];
    if (a !== null && b !== null) return a - b;
    if (!one || !other) return one ? -1 : other ? 1 : 0;
    return a !== null ? -1 : b !== null ? 1 : one.localeCompare(other, undefined, { numeric: true });
  }

  function sort(head) {
    const row = head.parentElement;
    const place = [...row.children].indexOf(head);
    const isDown = head.getAttribute("aria-sort") === "ascending";
    for (const other of row.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    const body = one("tbody", head.closest("table"));
    const cell = (line) => line.children[place].textContent;
    const lines = [...body.children].sort((a, b) => (isDown ? -1 : 1) * compare(cell(a), cell(b)));
    body.append(...lines);
  }

  for (const head of all("table.rows th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(head));
    head.append(button);
  }

  // ---- saving rows ----
  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).blob();
  }

  async function save(elements, name) {
    const parts = await Promise.all([one("#header"), ...elements].map((element) => unpacked(element.textContent)));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(parts, { type: "text/csv" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1e4);
  }

  for (const button of all("button.save")) {
    button.hidden = false;
    const kept = one("script.rows", button.closest("section"));
    button.addEventListener("click", () => save([kept], button.dataset.name));
  }
  one("#save-all").addEventListener("click", () => save(all("script.rows"), "rows.csv"));
})();
