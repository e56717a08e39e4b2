/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interactive page of `otelprof flame`. Reads the tree from the element `data`:
 *   title, about, lost   texts for the head
 *   types, first         [{type, unit}], and which of them is shown first
 *   names, files, modules texts; module and file: for each name its index in modules and files
 *   depth, name          for each frame in preorder its depth (the root has 0) and name
 *   threads, by_thread   names, and for each type [frame, thread, value, ...]; empty unless there are several
 *   self, base           for each type [frame, value, frame, value, ...]; base is null without --diff
 * The place that is shown is kept in the page's address, so that it can be linked to.
 */
"use strict";
(function () {
  const D = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const ROW = 20;
  const MIN_WIDTH = 0.6;
  const ROWS_SPARE = 20; /* rows of the table that are made above and below what is seen */
  const isDiff = D.base !== null;
  const n = D.depth.length;
  /* Nothing in a name may steer the line that it is shown in. */
  const plain = (s) => s.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "?");
  D.names = D.names.map(plain);
  D.files = D.files.map(plain);
  D.modules = D.modules.map(plain);
  D.threads = D.threads.map(plain);

  /* ---- state ---- */
  const S = {
    type: D.first,
    thread: -1,
    module: -1,
    name: -1, /* the function in the middle of the sandwich */
    focus: 0,
    query: "",
    view: "graph",
    flip: false,
    color: isDiff ? "diff" : "module",
    selected: -1,
    hover: -1,
    sort: "self",
  };

  /* ---- the tree ---- */
  const parent = new Int32Array(n).fill(-1);
  const end = new Int32Array(n); /* first frame behind the subtree */
  const childStart = new Int32Array(n + 1);
  const childList = new Int32Array(Math.max(0, n - 1));
  let maxDepth = 0;
  (function build() {
    const path = [];
    for (let i = 0; i < n; i++) {
      const d = D.depth[i];
      while (path.length > d) end[path.pop()] = i;
      if (d > 0) parent[i] = path[d - 1];
      path.push(i);
      if (d > maxDepth) maxDepth = d;
    }
    while (path.length) end[path.pop()] = n;
    for (let i = 1; i < n; i++) childStart[parent[i] + 1]++;
    for (let i = 0; i < n; i++) childStart[i + 1] += childStart[i];
    const fill = childStart.slice();
    for (let i = 1; i < n; i++) childList[fill[parent[i]]++] = i;
  })();

  function spread(pairs) {
    const out = new Float64Array(n);
    for (let i = 0; i < pairs.length; i += 2) out[pairs[i]] = pairs[i + 1];
    return out;
  }

  function sums(self) {
    const out = self.slice();
    for (let i = n - 1; i > 0; i--) out[parent[i]] += out[i];
    return out;
  }

  /* Self values of one type, of one thread or of all (-1). */
  function selfOf(t, thread) {
    if (thread < 0) return spread(D.self[t]);
    const out = new Float64Array(n);
    const parts = D.by_thread[t];
    for (let i = 0; i < parts.length; i += 3) if (parts[i + 1] === thread) out[parts[i]] += parts[i + 2];
    return out;
  }

  /* Leaves only what was measured in the module or in what it called. */
  function keepModule(self, module) {
    if (module < 0) return self;
    const inside = new Uint8Array(n);
    for (let i = 1; i < n; i++) {
      inside[i] = inside[parent[i]] || D.module[D.name[i]] === module ? 1 : 0;
      if (!inside[i]) self[i] = 0;
    }
    self[0] = 0;
    return self;
  }

  /* What belongs to one type and the filters, made when it is first shown. */
  let cache = new Map();
  function values(t) {
    const key = t + "," + S.thread + "," + S.module;
    if (cache.has(key)) return cache.get(key);
    if (cache.size > 12) cache = new Map();
    const self = keepModule(selfOf(t, S.thread), S.module);
    const v = { self, sum: sums(self), x: new Float64Array(n), order: childList.slice() };
    if (isDiff) {
      v.baseSelf = keepModule(spread(D.base[t]), S.module);
      v.baseSum = sums(v.baseSelf);
    }
    const name = (i) => D.names[D.name[i]];
    for (let i = 0; i < n; i++) {
      const from = childStart[i];
      const to = childStart[i + 1];
      if (to - from > 1) {
        v.order.subarray(from, to).sort((a, b) => v.sum[b] - v.sum[a] || (name(a) < name(b) ? -1 : 1));
      }
      let x = v.x[i];
      for (let k = from; k < to; k++) {
        v.x[v.order[k]] = x;
        x += Math.max(0, v.sum[v.order[k]]);
      }
    }
    v.total = v.sum[0];
    v.baseTotal = isDiff ? v.baseSum[0] : 0;
    cache.set(key, v);
    return v;
  }

  /* ---- how values are written ---- */
  const NS = { nanoseconds: 1, ns: 1, microseconds: 1e3, us: 1e3, milliseconds: 1e6, ms: 1e6, seconds: 1e9, s: 1e9 };
  const BYTES = { bytes: 1, byte: 1, By: 1, kilobytes: 1024, megabytes: 1048576 };
  function steps(value, list) {
    const size = Math.abs(value);
    for (const [step, unit] of list) {
      if (size >= step || step === 1) {
        const x = value / step;
        const digits = step === 1 || Math.abs(x) >= 999.5 ? 0 : Math.abs(x) >= 99.95 ? 1 : 2;
        return x.toFixed(digits) + " " + unit;
      }
    }
    return String(value);
  }
  function show(value, t) {
    const unit = D.types[t].unit;
    if (value === 0) return "0";
    if (NS[unit]) return steps(value * NS[unit], [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]);
    if (BYTES[unit]) {
      return steps(value * BYTES[unit], [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [1024, "KiB"], [1, "B"]]);
    }
    return value.toLocaleString("en-US") + (unit && unit !== "count" ? " " + unit : "");
  }
  function percent(part, whole) {
    return whole ? ((100 * part) / whole).toFixed(2) + " %" : "–";
  }
  function signed(x) {
    return (x > 0 ? "+" : "") + x.toFixed(2) + " %";
  }

  let hits = null; /* by name: 1 when it matches the search */
  let win = [0, 1]; /* what part of the root's width is shown */
  let animation = 0;

  function readAddress() {
    const p = new URLSearchParams(location.hash.slice(1));
    const t = D.types.findIndex((x) => x.type === p.get("type"));
    if (t >= 0) S.type = t;
    const f = parseInt(p.get("frame"), 10);
    if (f > 0 && f < n) S.focus = f;
    S.query = p.get("search") || "";
    S.view = ["table", "sandwich"].includes(p.get("view")) ? p.get("view") : "graph";
    S.thread = D.threads.indexOf(p.get("thread"));
    S.module = p.get("module") ? D.modules.indexOf(p.get("module")) : -1;
    S.name = p.get("function") ? D.names.indexOf(p.get("function")) : -1;
    S.flip = p.get("flip") === "1";
    if (p.get("color")) S.color = p.get("color");
    if (p.get("sort")) S.sort = p.get("sort");
    if (p.get("theme")) document.documentElement.dataset.theme = p.get("theme");
  }

  function writeAddress() {
    const p = new URLSearchParams();
    if (S.type !== D.first) p.set("type", D.types[S.type].type);
    if (S.focus) p.set("frame", S.focus);
    if (S.query) p.set("search", S.query);
    if (S.view !== "graph") p.set("view", S.view);
    if (S.thread >= 0) p.set("thread", D.threads[S.thread]);
    if (S.module >= 0) p.set("module", D.modules[S.module]);
    if (S.view === "sandwich" && S.name >= 0) p.set("function", D.names[S.name]);
    if (S.flip) p.set("flip", "1");
    if (S.color !== (isDiff ? "diff" : "module")) p.set("color", S.color);
    try {
      history.replaceState(null, "", "#" + p);
    } catch (e) {
      /* some browsers refuse this for local files; the page works without */
    }
  }

  /* ---- colours ---- */
  const isDark = () => document.documentElement.dataset.theme === "dark";
  function hash(s) {
    let h = 2166136261;
    for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 16777619);
    return (h ^ (h >>> 15)) >>> 0;
  }
  /* Modules get hues by their weight, so that the heaviest ones differ most. */
  const moduleHue = new Float64Array(D.modules.length);
  (function () {
    const weight = new Float64Array(D.modules.length);
    const self = values(0).self;
    for (let i = 1; i < n; i++) weight[D.module[D.name[i]]] += self[i];
    const order = Array.from(weight.keys()).filter((m) => D.modules[m] !== "");
    order.sort((a, b) => weight[b] - weight[a]);
    const hues = [24, 205, 145, 48, 275, 340, 175, 95, 230, 8, 310, 62];
    order.forEach((m, rank) => (moduleHue[m] = rank < hues.length ? hues[rank] : hash(D.modules[m]) % 360));
    D.modules.forEach((m, i) => m === "" && (moduleHue[i] = -1));
  })();
  /* For each frame the thread that most of it is of, and how much; the heaviest threads count. */
  const owners = [];
  function ownersOf(t) {
    if (owners[t]) return owners[t];
    const totals = new Float64Array(D.threads.length);
    const parts = D.by_thread[t];
    for (let i = 0; i < parts.length; i += 3) totals[parts[i + 1]] += parts[i + 2];
    const heavy = Array.from(totals.keys()).sort((a, b) => totals[b] - totals[a]).slice(0, 32);
    const all = sums(spread(D.self[t]));
    const best = new Float64Array(n);
    const owner = new Int16Array(n).fill(-1);
    for (const thread of heavy) {
      const sum = sums(selfOf(t, thread));
      for (let i = 0; i < n; i++) {
        if (sum[i] > best[i]) {
          best[i] = sum[i];
          owner[i] = thread;
        }
      }
    }
    for (let i = 0; i < n; i++) best[i] = all[i] > 0 ? best[i] / all[i] : 0;
    owners[t] = { owner, share: best, rank: new Map(heavy.map((thread, rank) => [thread, rank])) };
    return owners[t];
  }
  const HUES = [24, 205, 145, 48, 275, 340, 175, 95, 230, 8, 310, 62];
  function threadFill(i, dim) {
    const o = ownersOf(S.type);
    const rank = o.rank.get(o.owner[i]);
    const hue = rank === undefined ? 220 : rank < HUES.length ? HUES[rank] : (rank * 47) % 360;
    const sat = (rank === undefined ? 6 : 62 * Math.max(0, (o.share[i] - 0.3) / 0.7)) * (dim ? 0.22 : 1);
    return isDark() ? `hsl(${hue} ${sat * 0.62}% ${dim ? 25 : 36}%)` : `hsl(${hue} ${sat}% ${dim ? 86 : 76}%)`;
  }
  const fills = new Map();
  function fill(i, dim) {
    const name = D.name[i];
    const mode = S.color;
    const key = (mode === "diff" || mode === "thread" ? i : name) * 4 + (dim ? 1 : 0) + (isDark() ? 2 : 0);
    let c = fills.get(key);
    if (!c) {
      c = mode === "diff" ? diffFill(i, dim) : mode === "thread" ? threadFill(i, dim) : plainFill(name, dim, mode);
      fills.set(key, c);
    }
    return c;
  }
  function plainFill(name, dim, mode) {
    const text = D.names[name];
    const h = hash(text);
    let hue = mode === "name" ? 8 + (h % 44) : moduleHue[D.module[name]];
    let sat = mode === "name" ? 72 : 58;
    if (hue < 0 || text === D.small) {
      hue = 220;
      sat = 6;
    }
    const shift = ((h >>> 8) % 9) - 4;
    if (dim) sat *= 0.22;
    return isDark()
      ? `hsl(${hue} ${sat * 0.62}% ${(dim ? 25 : 36) + shift * 0.8}%)`
      : `hsl(${hue} ${sat}% ${(dim ? 86 : 76) + shift}%)`;
  }
  function diffFill(i, dim) {
    const v = values(S.type);
    const now = v.total ? v.sum[i] / v.total : 0;
    const before = v.baseTotal ? v.baseSum[i] / v.baseTotal : 0;
    const delta = now - before;
    const strength = Math.min(1, Math.sqrt(Math.abs(delta) * 8));
    const hue = delta > 0 ? 8 : 212;
    const sat = (Math.abs(delta) < 1e-4 ? 4 : 14 + 70 * strength) * (dim ? 0.3 : 1);
    return isDark()
      ? `hsl(${hue} ${sat * 0.75}% ${28 + 16 * strength}%)`
      : `hsl(${hue} ${sat}% ${91 - 24 * strength}%)`;
  }

  /* ---- the graph ---- */
  const canvas = $("graph");
  const ctx = canvas.getContext("2d");
  const scroll = $("scroll");
  const stage = $("stage");
  let W = 0;
  let H = 0;
  let charWidth = 7;
  let font = "";

  function resize() {
    const dpr = window.devicePixelRatio || 1;
    W = Math.max(50, scroll.clientWidth - 36);
    H = Math.max(50, scroll.clientHeight);
    const rows = S.view === "sandwich" ? sandwich().rows : maxDepth + 1;
    const full = Math.max(H, rows * ROW + 12);
    stage.style.height = full + "px";
    canvas.width = Math.round(W * dpr);
    canvas.height = Math.round(H * dpr);
    stage.dataset.view = S.view;
    canvas.style.width = W + "px";
    canvas.style.height = H + "px";
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    font = "11.5px " + getComputedStyle(document.documentElement).getPropertyValue("--mono");
    ctx.font = font;
    charWidth = ctx.measureText("MMMMMMMMMM").width / 10;
    if (S.flip) scroll.scrollTop = stage.clientHeight;
  }

  function rowTop(depth) {
    return (S.flip ? stage.clientHeight - 6 - (depth + 1) * ROW : depth * ROW + 2) - scroll.scrollTop;
  }

  function label(i) {
    return i === 0 ? "all" : D.names[D.name[i]];
  }

  function targetWindow() {
    const v = values(S.type);
    const size = Math.max(0, v.sum[S.focus]);
    return v.total > 0 && size > 0 ? [v.x[S.focus] / v.total, (v.x[S.focus] + size) / v.total] : [0, 1];
  }

  /* Calls visit(frame, left, width, depth) for each frame that is wide enough to be seen. */
  function eachVisible(visit) {
    const v = values(S.type);
    if (!(v.total > 0)) return;
    const from = win[0] * v.total;
    const scale = W / ((win[1] - win[0]) * v.total);
    const todo = [0];
    while (todo.length) {
      const i = todo.pop();
      const left = (v.x[i] - from) * scale;
      const width = v.sum[i] * scale;
      const a = Math.max(0, left);
      const b = Math.min(W, left + width);
      visit(i, a, b - a, D.depth[i]);
      for (let k = childStart[i]; k < childStart[i + 1]; k++) {
        const c = v.order[k];
        const w = v.sum[c] * scale;
        if (w < MIN_WIDTH) break; /* those behind it are smaller still */
        const x = (v.x[c] - from) * scale;
        if (x < W && x + w > 0) todo.push(c);
      }
    }
  }

  /* ---- callers and callees of one function ---- */
  let made = null; /* the last one, and what it was made for */
  let boxes = []; /* of the last drawing, for the mouse */

  function child(node, name) {
    if (!node.kids) node.kids = new Map();
    let c = node.kids.get(name);
    if (!c) node.kids.set(name, (c = { name, value: 0, kids: null }));
    return c;
  }

  /* All places of the function put together: what called it, and what it called. */
  function sandwich() {
    const key = [S.type, S.thread, S.module, S.name].join();
    if (made && made.key === key) return made;
    const v = values(S.type);
    const up = { name: S.name, value: 0, kids: null };
    const down = { name: S.name, value: 0, kids: null };
    let upDepth = 0;
    let downDepth = 0;
    for (let i = 1; i < n && S.name >= 0; i++) {
      if (D.name[i] !== S.name || !(v.sum[i] > 0)) continue;
      let nested = false;
      for (let p = parent[i]; p > 0 && !nested; p = parent[p]) nested = D.name[p] === S.name;
      if (nested) continue;
      let at = up;
      up.value += v.sum[i];
      for (let p = parent[i]; p > 0; p = parent[p]) {
        at = child(at, D.name[p]);
        at.value += v.sum[i];
      }
      if (D.depth[i] - 1 > upDepth) upDepth = D.depth[i] - 1;
      const path = [down];
      down.value += v.sum[i];
      for (let k = i + 1; k < end[i]; k++) {
        if (!(v.sum[k] > 0)) continue;
        const d = D.depth[k] - D.depth[i];
        path[d] = child(path[d - 1], D.name[k]);
        path[d].value += v.sum[k];
        if (d > downDepth) downDepth = d;
      }
    }
    made = { key, up, down, upDepth, rows: upDepth + 1 + downDepth };
    return made;
  }

  function drawBox(x, y, w, node, whole, colors) {
    const isHit = hits !== null && hits[node.name] === 1;
    boxes.push({ x, y, w, name: node.name, value: node.value, whole });
    ctx.fillStyle = isHit ? colors.hit : plainFill(node.name, hits !== null && !isHit, S.color === "name" ? "name" : "module");
    ctx.fillRect(x, y, w - (w > 3 ? 1 : 0), ROW - 1);
    const chars = Math.floor((w - 9) / charWidth);
    if (chars >= 3) {
      const text = D.names[node.name];
      ctx.fillStyle = isHit ? (isDark() ? "#17110d" : "#ffffff") : colors.ink;
      ctx.fillText(text.length > chars ? text.slice(0, chars - 1) + "…" : text, x + 5, y + ROW / 2);
    }
  }

  function drawHalf(root, step, top, colors) {
    const scale = W / root.value;
    const todo = [[root, 0, 0]];
    while (todo.length) {
      const [node, left, level] = todo.pop();
      const y = (top + step * level) * ROW + 2 - scroll.scrollTop;
      if (level > 0 && y < H && y + ROW > 0) drawBox(left, y, node.value * scale, node, root.value, colors);
      let x = left;
      for (const c of node.kids ? Array.from(node.kids.values()).sort((a, b) => b.value - a.value) : []) {
        const w = c.value * scale;
        if (w < MIN_WIDTH) break;
        todo.push([c, x, level + 1]);
        x += w;
      }
    }
  }

  function drawSandwich(ink, hit, soft) {
    const s = sandwich();
    const colors = { ink, hit };
    boxes = [];
    if (!(s.down.value > 0)) {
      ctx.fillStyle = soft;
      ctx.fillText("Choose a function: select a frame in the graph and press s.", 8, 20);
      return;
    }
    drawHalf(s.up, -1, s.upDepth, colors);
    drawHalf(s.down, 1, s.upDepth, colors);
    const y = s.upDepth * ROW + 2 - scroll.scrollTop;
    drawBox(0, y, W, s.down, s.down.value, colors);
    ctx.strokeStyle = ink;
    ctx.lineWidth = 2;
    ctx.strokeRect(1, y + 0.5, W - 3, ROW - 2);
  }

  function boxAt(x, y) {
    return boxes.find((b) => x >= b.x && x < b.x + Math.max(1, b.w) && y >= b.y && y < b.y + ROW);
  }

  /* The function that is meant: of the selected frame, else the one with the largest value of its own. */
  function meantFunction() {
    const i = S.selected > 0 ? S.selected : S.hover > 0 ? S.hover : S.focus;
    if (i > 0) return D.name[i];
    if (S.name >= 0) return S.name;
    const flat = tally(values(S.type).self, values(S.type).sum).flat;
    let best = -1;
    for (let k = 2; k < flat.length; k++) if (flat[k] > 0 && (best < 0 || flat[k] > flat[best])) best = k;
    return best;
  }
  function showSandwich(name) {
    S.name = name;
    S.view = "sandwich";
    S.hover = -1;
    resize();
    update(false);
    scroll.scrollTop = Math.max(0, sandwich().upDepth * ROW - H / 2);
    draw();
  }

  function draw() {
    ctx.clearRect(0, 0, W, H);
    ctx.font = font;
    ctx.textBaseline = "middle";
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink");
    const hit = style.getPropertyValue("--hit");
    const soft = style.getPropertyValue("--soft");
    const line = style.getPropertyValue("--line");
    if (!(values(S.type).total > 0)) {
      ctx.fillStyle = soft;
      ctx.fillText("There is nothing of this type in the profile.", 8, 20);
      return;
    }
    if (S.view === "sandwich") {
      drawSandwich(ink, hit, soft);
      return;
    }
    eachVisible((i, x, w, depth) => {
      const y = rowTop(depth);
      if (y > H || y + ROW < 0) return;
      const isHit = hits !== null && i > 0 && hits[D.name[i]] === 1;
      const dim = (hits !== null && !isHit) || depth < D.depth[S.focus];
      const gap = w > 3 ? 1 : 0;
      ctx.fillStyle = i === 0 ? line : isHit ? hit : fill(i, dim);
      ctx.globalAlpha = isHit && isDark() ? 0.75 : 1;
      ctx.fillRect(x, y, w - gap, ROW - 1);
      ctx.globalAlpha = 1;
      if (i === S.selected || i === S.hover) {
        ctx.strokeStyle = ink;
        ctx.lineWidth = i === S.selected ? 2 : 1;
        ctx.strokeRect(x + 0.5, y + 0.5, Math.max(1, w - gap - 1), ROW - 2);
      }
      const chars = Math.floor((w - 9) / charWidth);
      if (chars >= 3) {
        const text = label(i);
        ctx.fillStyle = isHit ? (isDark() ? "#17110d" : "#ffffff") : dim && i > 0 ? soft : ink;
        ctx.fillText(text.length > chars ? text.slice(0, chars - 1) + "…" : text, x + 5, y + ROW / 2);
      }
    });
  }

  function frameAt(px, py) {
    let found = -1;
    eachVisible((i, x, w, depth) => {
      const y = rowTop(depth);
      if (py >= y && py < y + ROW && px >= x && px < x + Math.max(w, 1)) found = i;
    });
    return found;
  }

  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  function moveWindow(animated) {
    const to = targetWindow();
    cancelAnimationFrame(animation);
    if (!animated || calm.matches || document.hidden) {
      win = to;
      draw();
      return;
    }
    const from = win;
    const begun = performance.now();
    const step = (now) => {
      const f = Math.min(1, Math.max(0, (now - begun) / 160));
      const e = 1 - Math.pow(1 - f, 3);
      win = [from[0] + (to[0] - from[0]) * e, from[1] + (to[1] - from[1]) * e];
      draw();
      if (f < 1) animation = requestAnimationFrame(step);
    };
    animation = requestAnimationFrame(step);
  }

  /* ---- texts around it ---- */
  const functions = new Set(D.name.slice(1)).size;
  function el(tag, text, className) {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
  }

  function pathOf(i) {
    const names = [];
    for (; i > 0; i = parent[i]) names.push(label(i));
    return names.reverse();
  }

  function showPath() {
    const v = values(S.type);
    const box = $("path");
    const i = S.selected >= 0 ? S.selected : S.focus;
    box.textContent = "";
    if (S.view === "sandwich" && S.name >= 0) {
      const value = sandwich().down.value;
      box.append(el("b", D.names[S.name]), `  ${show(value, S.type)}, ${percent(value, v.total)}; callers above, callees below`);
      return;
    }
    if (i === 0) {
      box.textContent =
        `${show(v.total, S.type)} in ${functions.toLocaleString("en-US")} functions, ` +
        `${(n - 1).toLocaleString("en-US")} frames` + (D.note ? `; ${D.note}` : "");
      return;
    }
    const names = pathOf(i);
    const last = names.pop();
    const shown = names.length > 6 ? ["…"].concat(names.slice(-6)) : names;
    box.append(el("b", last), `  ${show(v.sum[i], S.type)}, ${percent(v.sum[i], v.total)}`);
    if (shown.length) box.append("  in " + shown.reverse().join(" ‹ "));
  }

  function tipRow(table, what, a, b) {
    const tr = el("tr");
    tr.append(el("td", what), el("td", a), el("td", b));
    table.append(tr);
  }

  function showTip(i, x, y) {
    const tip = $("tip");
    if (i < 0) {
      tip.hidden = true;
      return;
    }
    const v = values(S.type);
    const name = D.name[i];
    tip.textContent = "";
    tip.append(el("div", label(i), "name"));
    if (i > 0) {
      const where = [D.modules[D.module[name]], D.files[D.file[name]]].filter((s) => s);
      if (where.length) tip.append(el("div", where.join(" · "), "where"));
    }
    const table = el("table");
    tipRow(table, "total", show(v.sum[i], S.type), percent(v.sum[i], v.total));
    tipRow(table, "self", show(v.self[i], S.type), percent(v.self[i], v.total));
    if (S.focus > 0) tipRow(table, "of zoomed", "", percent(v.sum[i], v.sum[S.focus]));
    if (isDiff) {
      tipRow(table, "before", show(v.baseSum[i], S.type), percent(v.baseSum[i], v.baseTotal));
      const d = 100 * ((v.total ? v.sum[i] / v.total : 0) - (v.baseTotal ? v.baseSum[i] / v.baseTotal : 0));
      tipRow(table, "change of share", signed(d), "");
    }
    tip.append(table);
    tip.hidden = false;
    const r = tip.getBoundingClientRect();
    const left = x + 14 + r.width > innerWidth ? x - 14 - r.width : x + 14;
    const top = y + 18 + r.height > innerHeight ? y - 12 - r.height : y + 18;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = Math.max(4, top) + "px";
  }

  /* ---- search ---- */
  function escaped(s) {
    return s.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  }
  /* By name; `m:` and `f:` in front look at modules and source files instead. */
  function search() {
    const input = $("search");
    const prefix = /^[mf]:/.test(S.query) ? S.query.slice(0, 2) : "";
    const query = S.query.slice(prefix.length);
    let re = null;
    input.removeAttribute("aria-invalid");
    if (query) {
      try {
        re = new RegExp(query, /[A-Z]/.test(query) ? "" : "i");
      } catch (e) {
        input.setAttribute("aria-invalid", "true");
        re = new RegExp(escaped(query), "i");
      }
    }
    const what = prefix === "m:" ? (k) => D.modules[D.module[k]] : prefix === "f:" ? (k) => D.files[D.file[k]] : (k) => D.names[k];
    hits = re ? Uint8Array.from(D.names, (s, k) => (re.test(what(k)) ? 1 : 0)) : null;
  }

  function showMatched() {
    const out = $("matched");
    out.textContent = "";
    if (!hits) return;
    const v = values(S.type);
    let sum = 0;
    let above = false;
    for (let i = S.focus; i > 0; i = parent[i]) above = above || hits[D.name[i]] === 1;
    for (let i = S.focus; i < end[S.focus]; ) {
      if (i > 0 && hits[D.name[i]]) {
        sum += v.sum[i];
        i = end[i];
      } else {
        i++;
      }
    }
    out.textContent = percent(above ? v.sum[S.focus] : sum, v.sum[S.focus]);
  }

  /* ---- the table ---- */
  /* Self and total of each name below the zoomed frame; a name inside itself counts once. */
  function tally(self, sum) {
    const flat = new Float64Array(D.names.length);
    const cum = new Float64Array(D.names.length);
    const open = new Int32Array(D.names.length);
    const path = [];
    for (let i = S.focus; i < end[S.focus]; i++) {
      while (path.length && end[path[path.length - 1]] <= i) open[D.name[path.pop()]]--;
      if (i === 0) continue;
      const name = D.name[i];
      flat[name] += self[i];
      if (open[name]++ === 0) cum[name] += sum[i];
      path.push(i);
    }
    return { flat, cum };
  }

  const COLUMNS = [
    { id: "name", title: "Function", text: true },
    { id: "module", title: "Module", text: true },
    { id: "self", title: "Self" },
    { id: "total", title: "Total" },
  ];
  if (isDiff) COLUMNS.push({ id: "change", title: "Δ self share" });

  function tableRows() {
    const v = values(S.type);
    const now = tally(v.self, v.sum);
    const before = isDiff ? tally(v.baseSelf, v.baseSum) : null;
    const whole = v.sum[S.focus];
    const wholeBefore = isDiff ? v.baseSum[S.focus] : 0;
    const rows = [];
    for (let k = 0; k < D.names.length; k++) {
      if (hits && !hits[k]) continue;
      if (now.cum[k] === 0 && now.flat[k] === 0 && !(before && before.cum[k] !== 0)) continue;
      const r = { name: k, self: now.flat[k], total: now.cum[k], change: 0 };
      if (before) {
        r.change = 100 * ((whole ? r.self / whole : 0) - (wholeBefore ? before.flat[k] / wholeBefore : 0));
      }
      rows.push(r);
    }
    const byText = (f) => (a, b) => (f(a) < f(b) ? -1 : f(a) > f(b) ? 1 : b.self - a.self);
    const sorts = {
      name: byText((r) => D.names[r.name]),
      module: byText((r) => D.modules[D.module[r.name]]),
      self: (a, b) => b.self - a.self || b.total - a.total,
      total: (a, b) => b.total - a.total || b.self - a.self,
      change: (a, b) => Math.abs(b.change) - Math.abs(a.change) || b.total - a.total,
    };
    return rows.sort(sorts[S.sort] || sorts.self);
  }

  function numberCell(value, whole) {
    const td = el("td");
    const cell = el("div", undefined, "cell");
    const bar = el("i");
    bar.style.width = whole > 0 ? Math.max(0, Math.min(100, (100 * value) / whole)) * 0.96 + "%" : "0";
    cell.append(bar, el("span", show(value, S.type)), el("span", percent(value, whole), "share"));
    td.append(cell);
    return td;
  }

  function tableRow(r, place, whole) {
    const tr = el("tr", undefined, "row" + (hits ? " hit" : ""));
    const name = el("td", D.names[r.name], "text");
    const file = D.files[D.file[r.name]];
    name.title = D.names[r.name] + (file ? "\n" + file : "");
    tr.append(name, el("td", D.modules[D.module[r.name]], "text module"));
    tr.append(numberCell(r.self, whole), numberCell(r.total, whole));
    if (isDiff) tr.append(el("td", signed(r.change), r.change > 0.005 ? "up" : r.change < -0.005 ? "down" : ""));
    tr.tabIndex = 0;
    tr.setAttribute("aria-rowindex", place + 2);
    const open = () => {
      setQuery("^" + escaped(D.names[r.name]) + "$");
      setView("graph");
    };
    tr.addEventListener("click", open);
    tr.addEventListener("keydown", (e) => e.key === "Enter" && open());
    return tr;
  }

  function showTable() {
    const box = $("tablebox");
    const rows = tableRows();
    const whole = values(S.type).sum[S.focus];
    const table = el("table");
    const head = el("tr");
    for (const c of COLUMNS) {
      const th = el("th", undefined, c.text ? "text" : "");
      const b = el("button", c.title + (S.sort === c.id ? (c.text ? " ↑" : " ↓") : ""));
      if (S.sort === c.id) th.setAttribute("aria-sort", c.text ? "ascending" : "descending");
      b.addEventListener("click", () => {
        S.sort = c.id;
        showTable();
      });
      th.append(b);
      head.append(th);
    }
    const thead = el("thead");
    thead.append(head);
    const tbody = el("tbody");
    table.append(thead, tbody);
    table.setAttribute("aria-rowcount", rows.length + 1);
    box.textContent = "";
    box.append(table);
    box.scrollTop = 0;
    listed = { rows, whole, tbody, from: 0, to: 0, height: 0 };
    if (rows.length === 0) box.append(el("div", "No function matches.", "more"));
    else fillTable();
  }

  /* An empty row as high as those that are not made. */
  function gap(height) {
    const tr = el("tr");
    const td = el("td");
    td.colSpan = COLUMNS.length;
    td.style.cssText = `height:${height}px;padding:0;border:0`;
    tr.append(td);
    return tr;
  }

  /* Of thousands of rows only those are made that are near what is seen. */
  let listed = null;
  function fillTable() {
    const box = $("tablebox");
    const { rows, whole, tbody } = listed;
    if (listed.height === 0) {
      tbody.append(tableRow(rows[0], 0, whole));
      listed.height = tbody.firstChild.getBoundingClientRect().height || 26;
      tbody.textContent = "";
    }
    const first = Math.floor(box.scrollTop / listed.height);
    const seen = Math.ceil(box.clientHeight / listed.height);
    const from = Math.max(0, Math.min(first, rows.length - seen) - ROWS_SPARE);
    const to = Math.min(rows.length, first + seen + ROWS_SPARE);
    const isNear = first - listed.from >= Math.min(first, 5) && listed.to - first - seen >= Math.min(rows.length - first - seen, 5);
    if (tbody.firstChild && isNear) return;
    const kept = new Map();
    for (const tr of tbody.querySelectorAll("tr.row")) kept.set(Number(tr.getAttribute("aria-rowindex")) - 2, tr);
    const focused = document.activeElement;
    const made = [gap(from * listed.height)];
    for (let k = from; k < to; k++) made.push(kept.get(k) || tableRow(rows[k], k, whole));
    made.push(gap((rows.length - to) * listed.height));
    tbody.replaceChildren(...made);
    if (tbody.contains(focused)) focused.focus({ preventScroll: true });
    listed.from = from;
    listed.to = to;
  }

  /* ---- changing the state ---- */
  function update(animated) {
    $("view-graph").setAttribute("aria-pressed", S.view === "graph");
    $("view-table").setAttribute("aria-pressed", S.view === "table");
    $("view-sandwich").setAttribute("aria-pressed", S.view === "sandwich");
    $("thread").value = S.thread;
    $("module").value = S.module;
    $("flip").setAttribute("aria-pressed", S.flip);
    $("theme").textContent = isDark() ? "Light" : "Dark";
    $("reset").disabled = S.focus === 0;
    $("type").value = S.type;
    $("color").value = S.color;
    if ($("search").value !== S.query) $("search").value = S.query;
    scroll.hidden = S.view === "table";
    $("tablebox").hidden = S.view !== "table";
    showMatched();
    showPath();
    showTip(-1);
    if (S.view === "table") {
      showTable();
    } else {
      if (S.view === "sandwich" && S.name < 0) S.name = meantFunction();
      if (canvas.width === 0 || stage.dataset.view !== S.view || Math.abs(scroll.clientHeight - H) > 1 || Math.abs(scroll.clientWidth - 36 - W) > 1) resize();
      moveWindow(animated);
    }
    writeAddress();
  }
  function setView(view) {
    S.view = view;
    update(false);
  }
  function setQuery(q) {
    S.query = q;
    search();
    update(false);
  }
  function setFocus(i) {
    S.focus = i;
    S.selected = -1;
    update(true);
    if (!S.flip && rowTop(D.depth[i]) < 0) scroll.scrollTop = Math.max(0, D.depth[i] * ROW - 4 * ROW);
  }
  function setType(t) {
    S.type = Math.max(0, Math.min(D.types.length - 1, t));
    fills.clear();
    if (!(values(S.type).sum[S.focus] > 0)) S.focus = 0;
    update(false);
  }
  function setFilter(which, value) {
    S[which] = value;
    fills.clear();
    if (!(values(S.type).sum[S.focus] > 0)) S.focus = 0;
    S.selected = -1;
    resize();
    update(false);
  }
  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    update(false);
  }

  /* ---- keys over the frames ---- */
  function siblings(i) {
    const v = values(S.type);
    return Array.from(v.order.subarray(childStart[parent[i]], childStart[parent[i] + 1])).filter((c) => v.sum[c] > 0);
  }
  function move(key) {
    const v = values(S.type);
    let i = S.selected >= 0 ? S.selected : S.focus;
    const deeper = S.flip ? "ArrowUp" : "ArrowDown";
    const higher = S.flip ? "ArrowDown" : "ArrowUp";
    if (S.selected < 0) {
      S.selected = i;
    } else if (key === deeper) {
      const c = v.order[childStart[i]];
      if (childStart[i] < childStart[i + 1] && v.sum[c] > 0) S.selected = c;
    } else if (key === higher) {
      if (i > 0) S.selected = parent[i];
    } else if (i > 0) {
      const s = siblings(i);
      const at = s.indexOf(i) + (key === "ArrowRight" ? 1 : -1);
      if (at >= 0 && at < s.length) S.selected = s[at];
    }
    const y = rowTop(D.depth[S.selected]);
    if (y < 0) scroll.scrollTop += y - ROW;
    if (y + ROW > H) scroll.scrollTop += y + 2 * ROW - H;
    showPath();
    draw();
  }

  document.addEventListener("keydown", (e) => {
    const typing = e.target === $("search") || e.target.tagName === "SELECT";
    if ($("keys").open || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "Escape") {
      if (S.query) setQuery("");
      else if (S.focus) setFocus(0);
      $("search").blur();
      return;
    }
    if (typing) return;
    const keys = {
      "/": () => $("search").focus(),
      t: () => setView(S.view === "graph" ? "table" : "graph"),
      s: () => (S.view === "sandwich" ? setView("graph") : showSandwich(meantFunction())),
      i: () => $("flip").click(),
      d: () => $("theme").click(),
      "?": () => $("keys").showModal(),
      "[": () => setType(S.type - 1),
      "]": () => setType(S.type + 1),
      Backspace: () => S.focus > 0 && setFocus(parent[S.focus]),
    };
    if (keys[e.key]) {
      e.preventDefault();
      keys[e.key]();
    } else if (S.view === "graph" && e.key.startsWith("Arrow")) {
      e.preventDefault();
      move(e.key);
    } else if (S.view === "graph" && e.key === "Enter" && S.selected >= 0 && e.target.tagName !== "BUTTON") {
      setFocus(S.selected);
    }
  });

  /* ---- wiring ---- */
  canvas.addEventListener("mousemove", (e) => {
    if (S.view === "sandwich") {
      const b = boxAt(e.offsetX, e.offsetY);
      canvas.style.cursor = b ? "pointer" : "default";
      canvas.title = b ? `${D.names[b.name]}\n${show(b.value, S.type)}, ${percent(b.value, b.whole)} of the function` : "";
      return;
    }
    canvas.title = "";
    const i = frameAt(e.offsetX, e.offsetY);
    if (i !== S.hover) {
      S.hover = i;
      draw();
    }
    canvas.style.cursor = i < 0 ? "default" : "pointer";
    showTip(i, e.clientX, e.clientY);
  });
  canvas.addEventListener("mouseleave", () => {
    S.hover = -1;
    showTip(-1);
    draw();
  });
  canvas.addEventListener("click", (e) => {
    if (S.view === "sandwich") {
      const b = boxAt(e.offsetX, e.offsetY);
      if (b) showSandwich(b.name);
      return;
    }
    const i = frameAt(e.offsetX, e.offsetY);
    if (i >= 0) setFocus(i);
  });
  scroll.addEventListener("scroll", draw);
  $("tablebox").addEventListener("scroll", () => listed && listed.rows.length > 0 && fillTable());
  window.addEventListener("resize", () => {
    resize();
    update(false);
  });
  $("view-graph").addEventListener("click", () => setView("graph"));
  $("view-table").addEventListener("click", () => setView("table"));
  $("view-sandwich").addEventListener("click", () => showSandwich(meantFunction()));
  $("thread").addEventListener("change", (e) => setFilter("thread", Number(e.target.value)));
  $("module").addEventListener("change", (e) => setFilter("module", Number(e.target.value)));
  $("type").addEventListener("change", (e) => setType(Number(e.target.value)));
  $("color").addEventListener("change", (e) => {
    S.color = e.target.value;
    fills.clear();
    update(false);
  });
  $("search").addEventListener("input", (e) => setQuery(e.target.value));
  $("reset").addEventListener("click", () => setFocus(0));
  $("flip").addEventListener("click", () => {
    S.flip = !S.flip;
    resize();
    scroll.scrollTop = S.flip ? stage.clientHeight : 0;
    update(false);
  });
  $("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  $("help").addEventListener("click", () => $("keys").showModal());

  /* ---- start ---- */
  document.title = D.title;
  $("title").textContent = D.title;
  $("about").textContent = D.about;
  $("lost").textContent = D.lost;
  document.documentElement.dataset.theme = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  D.types.forEach((t, i) => {
    const o = el("option", t.type + (t.unit ? ` (${t.unit})` : ""));
    o.value = i;
    $("type").append(o);
  });
  function addOption(select, text, value) {
    const o = el("option", text);
    o.value = value;
    $(select).append(o);
  }
  addOption("module", "All modules", -1);
  D.modules.forEach((m, i) => m !== "" && addOption("module", m, i));
  if (D.threads.length > 0) {
    $("thread").hidden = false;
    addOption("thread", "All threads", -1);
    D.threads.forEach((t, i) => addOption("thread", t, i));
    addOption("color", "Colour: thread", "thread");
  }
  if (isDiff) {
    const o = el("option", "Colour: difference");
    o.value = "diff";
    $("color").prepend(o);
  }
  readAddress();
  search();
  resize();
  win = targetWindow();
  update(false);
})();
