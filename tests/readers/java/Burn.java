// SPDX-License-Identifier: Apache-2.0
import one.profiler.AsyncProfiler;

/** Works for a while under async-profiler (its library, events, stem of the files), and leaves what it saw, as text and as OTLP. */
public class Burn {
    static volatile long sink;
    static byte[][] kept = new byte[64][];
    static void lefty(long until) {
        while (System.nanoTime() < until)
            for (int i = 0; i < 10000; i++) {
                sink += i * 31L;
                kept[(int) (sink & 63)] = new byte[2000];
            }
    }
    static void righty(long until) {
        while (System.nanoTime() < until)
            for (int i = 1; i < 10000; i++) sink += (long) Math.sqrt(sink & 0xffff);
    }
    public static void main(String[] args) throws Exception {
        AsyncProfiler profiler = AsyncProfiler.getInstance(args[0]);
        profiler.execute("start," + args[1]);
        long until = System.nanoTime() + 1500000000L;
        Thread left = new Thread(() -> lefty(until), "lefty"), right = new Thread(() -> righty(until), "righty");
        left.start();
        right.start();
        left.join();
        right.join();
        profiler.execute("stop");
        profiler.execute("collapsed,file=" + args[2] + ".collapsed");
        profiler.execute("otlp,file=" + args[2] + ".otlp");
    }
}
