"use strict";
// A person at the page. Each thing that is done has a line of what became of it.
(async () => {
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const lines = [];
  const tell = (what, is) => lines.push(`${what}: ${is}`);
  const set = (selector, value) => {
    const control = one(selector);
    control.value = value;
    control.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const shown = () => all("section.experiment").filter((section) => section.getClientRects().length);
  const total = shown().length;
  const tip = one("#tip");

  const picture = one("#memory-stream .picture");
  const box = one(".hit", picture).getBoundingClientRect();
  const at = { clientX: (box.left + box.right) / 2, clientY: (box.top + box.bottom) / 2, bubbles: true };
  picture.dispatchEvent(new PointerEvent("pointermove", at));
  const first = tip.textContent;
  tell("a value is told", !tip.hidden && /GB\/s/.test(first));
  picture.focus();
  picture.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  tell("the arrow keys go on", !tip.hidden && tip.textContent !== first);

  set("#family", "memory");
  tell("a family alone", shown().length > 0 && shown().length < total && shown().every((one) => one.id.startsWith("memory-")));
  set("#family", "");
  set("#find", "Bank_Conflict");
  tell("a word alone", shown().length === 1 && shown()[0].id === "shared-bank-conflict");
  set("#find", "");
  set("#source", "1");
  const rows = () => all("tbody tr[data-source]").filter((row) => row.getClientRects().length);
  all("details.table").forEach((details) => (details.open = true));
  tell("a device alone", rows().length > 0 && rows().every((row) => row.dataset.source === "1"));
  set("#source", "");
  tell("all again", shown().length === total);

  const doubted = () => all("tr.doubted, svg .doubted").filter((one) => one.getClientRects().length).length;
  const before = doubted();
  one("#doubted").click();
  tell("flagged rows go", before > 0 && doubted() === 0);
  one("#doubted").click();

  const table = one("#memory-stream table.rows");
  const heads = all("th", table);
  const place = heads.findIndex((head) => head.textContent.startsWith("bandwidth"));
  // `2 to 8 GB/s` lies in the middle of both.
  const value = (text) => Math.sqrt(parseFloat(text) * parseFloat(/ to (\S+)/.exec(text)?.[1] ?? text)) * (/TB/.test(text) ? 1e3 : 1);
  const values = () => all("tbody tr", table).map((row) => value(row.children[place].textContent)).filter(Number.isFinite);
  one("button", heads[place]).click();
  const up = values();
  one("button", heads[place]).click();
  const down = values();
  const ordered = (list, sign) => list.every((value, i) => i === 0 || sign * (value - list[i - 1]) >= 0);
  tell("a column is sorted", up.length > 2 && ordered(up, 1) && ordered(down, -1) && heads[place].ariaSort === "descending");

  const ground = () => getComputedStyle(document.body).backgroundColor;
  const light = ground();
  one("#theme").click();
  one("#theme").click();
  tell("a theme is chosen", document.documentElement.dataset.theme === "dark" && ground() !== light);

  // What a click on a link would put on the disk.
  let saved = null;
  let name = null;
  const blobs = new Map();
  const create = URL.createObjectURL;
  URL.createObjectURL = (blob) => {
    const address = create.call(URL, blob);
    blobs.set(address, blob);
    return address;
  };
  const arrived = () => new Promise((done) => {
    HTMLAnchorElement.prototype.click = function () {
      name = this.download;
      blobs.get(this.href).text().then((text) => done((saved = text)));
    };
  });
  let waiting = arrived();
  one("#memory-stream button.save").click();
  await waiting;
  const count = (text) => text.trimEnd().split("\n").length - 1;
  const isRows = (text) => text.startsWith("experiment,variant,axis_values,status");
  tell("rows are saved", isRows(saved) && name === "memory-stream.csv" && saved.split("\n")[1].startsWith("memory/stream,"));
  waiting = arrived();
  one("#save-all").click();
  await waiting;
  const said = Number(/(\d+) rows;/.exec(one(".files").textContent)[1]);
  tell("all rows are saved", isRows(saved) && count(saved) === said && name === "rows.csv");
  lines.push("done\n");
  one("#seen").textContent = lines.join("\n");
})().finally(done);
