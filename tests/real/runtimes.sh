#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# runtimes.sh: java and node, with compilers of their own, many threads and signals of their own.
. "$(dirname "$0")/../common.sh"

begin "node"
if need node; then
    cat > script.js << 'JAVASCRIPT'
const zlib = require('zlib');
const map = new Map();
for (let i = 0; i < 1e6; i++) map.set(i % 9999, 'v' + i);
const block = Buffer.alloc(4 << 20);
for (let i = 0; i < block.length; i++) block[i] = (i * i >>> 7) & 255;
console.log(map.size, JSON.stringify([...map]).length, zlib.crc32 ? 1 : 1);
let left = 4;
for (let i = 0; i < 4; i++) zlib.deflate(block, { level: 9 }, (e, r) => { if (--left === 0) console.log('done', !e, r.length); });
console.error('to stderr');
process.on('exit', () => { process.exitCode = 7; });
JAVASCRIPT
    bare node script.js
    prof node script.js
    same
    equal "exit status" 7 "$status"
    strict
    has_function cpu node::Start\(int,\ char\*\*\) $(files node)
    has_function alloc_space node::Start\(int,\ char\*\*\) $(files node)
    cpu_time_is_right
fi
end

begin "java"
if need java javac; then
    cat > Hello.java << 'JAVA'
import java.util.*;
public class Hello {
    public static void main(String[] args) throws Exception {
        Map<Integer, String> map = new TreeMap<>();
        for (int i = 0; i < 400000; i++) map.put(i % 5000, "v" + i);
        Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++) {
            final int k = i;
            threads[i] = new Thread(() -> {
                double x = 0;
                for (int j = 0; j < 2000000; j++) x += Math.sqrt(j * (double) k);
                synchronized (map) { map.put(-k - 1, "" + (long) x); }
            }, "worker-" + i);
            threads[i].start();
        }
        for (Thread t : threads) t.join();
        int[] nothing = null;
        int caught = 0;
        for (int i = 0; i < 1000; i++) try { nothing[i] = 1; } catch (NullPointerException e) { caught++; }
        System.out.println(map.size() + " " + map.get(-2) + " " + map.get(-8) + " " + caught);
        System.gc();
        System.err.println("to stderr");
        System.exit(8);
    }
}
JAVA
    javac -d . Hello.java || bad "javac fails"
    bare java -Xshare:auto -cp . Hello
    prof java -Xshare:auto -cp . Hello
    same
    equal "exit status" 8 "$status"
    strict
    judge mappings $(files java) | grep -q '/libjvm\.so' || bad "no frame in libjvm"
    has_function cpu start_thread $(files java)
    has_function alloc_space start_thread $(files java)
    judge sample-attr thread.name $(files java) | grep -q '^worker-' || bad "no thread has the name that Java gave it"
    cpu_time_is_right
fi
end
finish
