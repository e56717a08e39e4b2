/* SPDX-License-Identifier: Apache-2.0 */
/* Appended to a page of `otelprof flame` by page.py: works with it as a person would, and measures each interaction. */
"use strict";
(async function () {
  const $ = (id) => document.getElementById(id);
  const tasks = [];
  new PerformanceObserver((list) => tasks.push(...list.getEntries())).observe({ type: "longtask", buffered: true });
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const key = (k) => document.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true }));
  const cpu = async () => Number(await (await fetch("/cpu")).text());
  const canvas = $("graph");
  const at = (x, y, what) => {
    const r = canvas.getBoundingClientRect();
    const e = new MouseEvent(what, { clientX: r.left + x * r.width, clientY: r.top + y, bubbles: true });
    canvas.dispatchEvent(e);
  };
  function choose(id, index) {
    $(id).selectedIndex = (index + $(id).options.length) % $(id).options.length;
    $(id).dispatchEvent(new Event("change", { bubbles: true }));
  }
  function type(text) {
    $("search").value = text;
    $("search").dispatchEvent(new Event("input", { bubbles: true }));
  }
  async function settle() {
    for (let i = 0; i < 6; i++) await frame();
  }
  const out = [];
  /* Each step is an event of its own, with a frame drawn behind it, then `rest` frames of what it has begun. */
  async function measure(name, steps, rest) {
    await settle();
    const before = tasks.length;
    const gaps = [];
    const spent = [];
    let slowest = 0;
    for (const step of steps) {
      const used = await cpu();
      let last = await frame();
      const begun = performance.now();
      step();
      slowest = Math.max(slowest, performance.now() - begun);
      for (let i = 0; i <= rest; i++) {
        const now = await frame();
        gaps.push(now - last);
        last = now;
      }
      spent.push((await cpu()) - used);
    }
    await settle();
    const long = Math.max(0, ...tasks.slice(before).map((t) => t.duration));
    out.push({ name, steps: steps.length, cpu: spent.reduce((a, b) => a + b), most: Math.max(...spent), slowest, long, gap: Math.max(...gaps) });
  }
  for (let i = 0; i < 10; i++) await settle();
  const nav = performance.getEntriesByType("navigation")[0];
  const used = await cpu();
  out.push({ name: "opening", steps: 1, cpu: used, most: used, slowest: 0, gap: 0,
             long: Math.max(0, ...tasks.map((t) => t.duration)), ready: nav.domComplete });
  const times = (n, f) => Array.from({ length: n }, (_, i) => () => f(i));
  await measure("pointer over frames", times(60, (i) => at((i + 1) / 62, 30 + 20 * (i % 20), "mousemove")), 0);
  await measure("scrolling", times(40, (i) => ($("scroll").scrollTop = 15 * i)), 0);
  await measure("scrolling back", times(40, (i) => ($("scroll").scrollTop = 600 - 15 * i)), 0);
  await measure("zoom in", times(3, (i) => at(0.2, 30 + 40 * (i + 1), "click")), 14);
  await measure("zoom out", times(3, () => key("Backspace")), 14);
  await measure("zoom out of all", [() => key("Escape")], 14);
  const word = "worker_1[0-9]+.*step";
  await measure("search, letter by letter", times(word.length, (i) => type(word.slice(0, i + 1))), 0);
  await measure("search that all match", [() => type("."), () => type("(a|b|c)*x?")], 1);
  await measure("zoom while something is found", [() => at(0.2, 110, "click"), () => key("Backspace")], 14);
  await measure("search ends", [() => type("")], 1);
  await measure("other type, first time", times($("type").options.length - 1, (i) => choose("type", i + 1)), 1);
  await measure("other type, again", times($("type").options.length, (i) => choose("type", i)), 1);
  choose("type", 0);
  await measure("icicle and flame", times(4, () => $("flip").click()), 1);
  await measure("dark and light", times(2, () => $("theme").click()), 1);
  await measure("colour by thread, function, module", ["thread", "name", "module"].map((c) => () => {
    $("color").value = c;
    $("color").dispatchEvent(new Event("change", { bubbles: true }));
  }), 1);
  await measure("one module, and all", [() => choose("module", 1), () => choose("module", 0)], 1);
  await measure("one thread, and all", [() => choose("thread", 1), () => choose("thread", 0)], 1);
  await measure("table", [() => key("t")], 2);
  await measure("table, other order", [3, 0, 1].map((i) => () => document.querySelectorAll("#tablebox th button")[i].click()), 1);
  await measure("table, search", ["w", "wo", "wor", ""].map((q) => () => type(q)), 1);
  await measure("table, scrolling", times(40, (i) => ($("tablebox").scrollTop = 90 * i)), 0);
  await measure("table, to its end", [() => ($("tablebox").scrollTop = 1e9), () => ($("tablebox").scrollTop = 0)], 1);
  await measure("graph again", [() => key("t")], 2);
  await measure("sandwich", [() => key("s")], 2);
  await measure("sandwich, scrolling", times(20, (i) => ($("scroll").scrollTop = 20 * i)), 0);
  await measure("sandwich, pointer", times(30, (i) => at((i + 1) / 32, 30 + 15 * i, "mousemove")), 0);
  await measure("sandwich, other function", times(3, (i) => at(0.3, 210 + 40 * i, "click")), 1);
  await measure("graph once more", [() => key("s")], 2);
  await fetch("/done", { method: "POST", body: JSON.stringify(out) });
})();
