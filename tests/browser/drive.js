/* SPDX-License-Identifier: Apache-2.0 */
/* Appended to a page of `otelprof flame` by the test: does what a person would, and writes down what is to be seen. */
"use strict";
(function () {
  const $ = (id) => document.getElementById(id);
  const seen = {};
  const key = (k) => document.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true }));
  const note = (name, what) => (seen[name] = what);
  const path = () => $("path").textContent;
  function choose(id, text) {
    const option = Array.from($(id).options).find((o) => o.textContent === text);
    if (!option) return false;
    $(id).value = option.value;
    $(id).dispatchEvent(new Event("change", { bubbles: true }));
    return true;
  }
  function type(text) {
    $("search").value = text;
    $("search").dispatchEvent(new Event("input", { bubbles: true }));
  }
  /* How many different colours the canvas shows. */
  function colours() {
    const c = $("graph");
    const data = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
    return new Set(data).size;
  }
  /* All rows of the table, by going through it: place, name, value of its own, total. */
  function walk() {
    const box = $("tablebox");
    const rows = new Map();
    let most = 0;
    for (let top = 0; ; top += Math.max(100, box.clientHeight - 50)) {
      box.scrollTop = top;
      box.dispatchEvent(new Event("scroll"));
      const shown = Array.from(box.querySelectorAll("tr.row"));
      most = Math.max(most, shown.length);
      for (const tr of shown) {
        const r = tr.getBoundingClientRect();
        const at = box.getBoundingClientRect();
        if (r.bottom < at.top || r.top > at.bottom) continue; /* it is there, but nobody sees it */
        const cells = tr.children;
        rows.set(Number(tr.getAttribute("aria-rowindex")) - 1, [cells[0].textContent, cells[2].querySelector("span").textContent, cells[3].querySelector("span").textContent]);
      }
      if (box.scrollTop + box.clientHeight >= box.scrollHeight - 1) break;
    }
    box.scrollTop = 0;
    box.dispatchEvent(new Event("scroll"));
    const said = Number(box.querySelector("table").getAttribute("aria-rowcount")) - 1;
    return { said, most, rows: Array.from(rows).sort((a, b) => a[0] - b[0]) };
  }
  try {
    note("title", document.title);
    note("all", path());
    note("colours", colours());
    for (const q of ASK.search) {
      type(q);
      note("search " + q, $("matched").textContent);
    }
    type("[");
    note("bad expression", $("search").getAttribute("aria-invalid"));
    key("Escape");
    note("after Escape", $("search").value + $("matched").textContent);
    for (const t of ASK.types) note("type " + t, choose("type", t) && path());
    note("no threads", $("thread").hidden);
    for (const t of ASK.threads) note("thread " + t, choose("thread", t) && path());
    choose("thread", "All threads");
    for (const m of ASK.modules) note("module " + m, choose("module", m) && path());
    choose("module", "All modules");
    note("all again", path());
    for (const c of ["Colour: function", "Colour: thread", "Colour: difference", "Colour: module"]) {
      note(c, choose("color", c) && colours() > 2);
    }
    const before = $("graph").toDataURL();
    key("i");
    note("flipped", $("flip").getAttribute("aria-pressed") + ($("graph").toDataURL() !== before));
    key("i");
    key("d");
    const dark = document.documentElement.dataset.theme;
    key("d");
    note("themes", [dark, document.documentElement.dataset.theme].sort().join());
    key("ArrowDown");
    key("ArrowDown");
    key("Enter");
    note("zoomed", /frame=\d+/.test(location.hash) && !$("reset").disabled);
    key("Backspace");
    key("Escape");
    note("zoomed out", !/frame=/.test(location.hash) && $("reset").disabled);
    key("t");
    note("rows", document.querySelectorAll("tr.row").length);
    note("first row", (document.querySelector("tr.row td") || {}).textContent);
    note("listed", walk());
    type(ASK.regex);
    note("regex", $("matched").textContent);
    note("found", walk());
    key("Escape");
    document.querySelectorAll("#tablebox th button")[3].click();
    note("first by total", (document.querySelector("tr.row td") || {}).textContent);
    key("t");
    note("graph again", !$("scroll").hidden);
    key("s");
    note("sandwich", path());
    note("sandwich address", location.hash.includes("view=sandwich"));
    note("sandwich colours", colours() > 2);
    key("s");
    note("end", path());
  } catch (e) {
    note("error", String(e && e.stack));
  }
  const out = document.createElement("pre");
  out.id = "seen";
  out.textContent = JSON.stringify(seen);
  document.body.append(out);
})();
