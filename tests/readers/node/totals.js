// SPDX-License-Identifier: Apache-2.0
// totals.js FILE.pb: type, unit, total, as the npm package pprof-format reads it.
const fs = require("fs");
const zlib = require("zlib");
const { Profile } = require("pprof-format");

let data = fs.readFileSync(process.argv[2]);
if (data[0] === 0x1f) data = zlib.gunzipSync(data);
const p = Profile.decode(data);
const text = (i) => p.stringTable.strings[Number(i)];
p.sampleType.forEach((t, i) => {
  const sum = p.sample.reduce((a, s) => a + BigInt.asIntN(64, BigInt(s.value[i])), 0n);
  console.log(text(t.type), text(t.unit), String(sum));
});
