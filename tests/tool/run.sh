#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh: otelprof run sets the variables and becomes the command, with its status; doctor tells the command's kind.
. "$(dirname "$0")/../common.sh"
# A stand-in for the library beside a copy of the tool: what counts here is how it is started.
mkdir -p "$work/bin" "$work/prefix/bin" "$work/prefix/lib"
cp "$tool" "$work/bin/otelprof"
echo 'int otelprof_stand_in;' | ${CC:-gcc} -shared -fPIC -x c -o "$work/bin/libotelprof.so" -
cp "$tool" "$work/prefix/bin/otelprof"
cp "$work/bin/libotelprof.so" "$work/prefix/lib/"
run=$work/bin/otelprof

begin "the exit status is the command's own"
for code in 0 1 5 126 127 255; do
    "$run" run -- sh -c "exit $code" > out 2> err
    equal "exit status" $code $?
    equal "standard error" "" "$(cat err)"
done
"$run" run -- sh -c 'kill -TERM $$' 2> err
equal "exit status of a killed command" 143 $?
end

begin "the variables"
"$run" run --cpu-hz 50 --heap-interval=1m -o x.otlp -- sh -c 'env' > out
for want in OTELPROF_CPU_HZ=50 OTELPROF_HEAP_INTERVAL=1m OTELPROF_OUTPUT=file:x.otlp "LD_PRELOAD=$work/bin/libotelprof.so"; do
    grep -qx "$want" out || bad "$want is not set"
done
env -u OTELPROF_CPU_BUDGET "$run" run -- env > out
equal "variables without options" 0 "$(grep -c '^OTELPROF_' out)"
for output in unix:/x tcp:h:1 http://h https://h grpc://h:1 grpcs://h:1 file:y otlp none OTLP otlp,file:y; do
    equal "output $output" "OTELPROF_OUTPUT=$output" "$("$run" run -o $output -- env | grep '^OTELPROF_OUTPUT')"
done
end

begin "what is preloaded already stays"
other=$work/prefix/lib/libotelprof.so
equal "LD_PRELOAD" "LD_PRELOAD=$work/bin/libotelprof.so:$other" "$(LD_PRELOAD=$other "$run" run env | grep '^LD_PRELOAD=')"
equal "LD_PRELOAD, run in run" "LD_PRELOAD=$work/bin/libotelprof.so" \
    "$("$run" run "$run" run env | grep '^LD_PRELOAD=')"
for entry in "$work/bin/libotelprof.so.1" "/x$work/bin/libotelprof.so"; do
    equal "LD_PRELOAD beside $entry" "LD_PRELOAD=$work/bin/libotelprof.so:$entry" \
        "$(LD_PRELOAD=$entry "$run" run env 2> err | grep '^LD_PRELOAD=')"
done
for list in "$other:$work/bin/libotelprof.so" "$other $work/bin/libotelprof.so"; do
    equal "LD_PRELOAD that has it" "LD_PRELOAD=$list" "$(LD_PRELOAD=$list "$run" run env | grep '^LD_PRELOAD=')"
done
equal "the installed library" "LD_PRELOAD=$other" "$("$work/prefix/bin/otelprof" run env | grep '^LD_PRELOAD=')"
mkdir "a b"
cp "$work"/bin/* "a b"
"a b/otelprof" run true 2> err
equal "exit status of a path with a space" 3 $?
one_line err "space"
cp "$tool" alone
./alone run true 2> err
equal "exit status without the library" 3 $?
one_line err "libotelprof.so"
end

begin "arguments of the command are its own"
equal "arguments" "-o --help -- x" "$("$run" run echo -o --help -- x)"
equal "arguments behind --" "--cpu-hz 5" "$("$run" run -- echo --cpu-hz 5)"
end

begin "commands that cannot be run"
"$run" run no-such-command 2> err
equal "exit status of a missing command" 127 $?
one_line err "no-such-command" "not found"
: > plain
"$run" run ./plain 2> err
equal "exit status of a plain file" 126 $?
one_line err "./plain"
"$run" run . 2> err
equal "exit status of a folder" 126 $?
printf '#!/no/such/interpreter\n' > script
chmod +x script
"$run" run ./script 2> err
equal "exit status of a script without its interpreter" 127 $?
one_line err "/no/such/interpreter"
"$run" run 2> err
equal "exit status without a command" 2 $?
for option in "--cpu-hz 0" "--cpu-hz 10001" "--cpu-hz x" "--heap-interval 0" "--heap-interval 5q" "--nothing"; do
    # shellcheck disable=SC2086
    "$run" run $option -- true 2> err
    equal "exit status of $option" 2 $?
    one_line err
done
end

echo 'int main(void) { return 7; }' > "$work/seven.c"
begin "a static program: one line of warning, and it runs"
if ! ${CC:-gcc} -static -o static "$work/seven.c" 2> err; then
    skip "static programs cannot be linked: $(tail -n 1 err)"
else
    "$run" run ./static 2> err
    equal "exit status of a static program" 7 $?
    one_line err "warning" "static"
    "$run" doctor ./static > out
    equal "exit status of doctor" 1 $?
fi
end

begin "programs that cannot be profiled: one line of warning, and they run"
${CC:-gcc} -o "$work/seven" "$work/seven.c"
cp "$work/seven" seven
"$run" run ./seven 2> err
equal "exit status" 7 $?
equal "standard error" "" "$(cat err)"
sed 's|/lib64/ld-linux-x86-64.so.2|/lib/ld-musl-x86_64.so.1\x00|' seven > musl
chmod +x musl
"$run" doctor ./musl > out
equal "exit status of doctor for another libc" 1 $?
grep -q 'another C library' out || bad "$(tail -n 2 out)"
printf '\177ELF\001\001\001\0\0\0\0\0\0\0\0\0\002\0\003\0\001\0\0\0%048d' 0 > narrow
chmod +x narrow
"$run" doctor ./narrow > out
grep -q '32-bit' out || bad "$(tail -n 2 out)"
end

begin "a program with rights of its own: one line of warning, and it runs"
if [ "$(id -u)" != 0 ]; then
    skip "only root can make one"
else
    cp "$work/seven" other_user
    chown nobody other_user
    chmod u+s other_user
    "$run" run ./other_user 2> err
    one_line err "warning" "setuid"
fi
end

begin "doctor"
"$run" doctor > out
equal "exit status" 0 $?
for word in otelprof "$work/bin/libotelprof.so" glibc "kernel tick" perf_event_paranoid; do
    grep -qF "$word" out || bad "$word is not said"
done
"$run" doctor sh > out
equal "exit status for a command" 0 $?
grep -q 'it can be profiled' out || bad "$(tail -n 2 out)"
end

begin "doctor of a path to nothing, or to no file: one line, and the status of input that cannot be read"
mkdir folder
mkfifo fifo
chmod +x fifo
for command in /no/such/command ./folder ./fifo; do
    for option in "" --json; do
        # shellcheck disable=SC2086
        "$run" doctor $option $command > out 2> err
        equal "exit status of doctor $option $command" 3 $?
        equal "output of doctor $option $command" "" "$(cat out)"
        one_line err "$command"
    done
done
"$run" doctor no-such-command > out 2> err
equal "exit status for a name that is not found" 1 $?
: > plain
"$run" doctor ./plain > out 2> err
equal "exit status for a file that cannot be executed" 1 $?
printf '#!/no/such/interpreter\n' > script
chmod +x script
"$run" doctor ./script > out 2> err
equal "exit status for a script without its interpreter" 1 $?
equal "standard error" "" "$(cat err)"
end
finish
