#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# plugins.sh: 64 threads, exceptions, and plugins that come and go, in a C++ program.
. "$(dirname "$0")/../common.sh"
rounds=20
[ -z "${TEST_LONG:-}" ] || rounds=400
host plugins -ldl
plugins=$host
salt=1
for plugin in alpha beta gamma delta; do
    salt=$((salt + 2))
    ${CXX:-g++} -std=gnu++17 -O1 -g0 -fPIC -shared -DPLUGIN_NAME=$plugin -DPLUGIN_SALT=$salt \
        -o "$work/plugin_$plugin.so" "$here/plugin.cc" || failed=$((failed + 1))
done

begin "64 threads, exceptions and plugins: CPU profile"
settings="OTELPROF_CPU_HZ=1000"
bare "$plugins" "$work" $rounds
prof "$plugins" "$work" $rounds
same
equal "exit status" 0 "$status"
strict
cpu_time_is_right
judge sample-attr thread.name $(files plugins) > names
equal "named threads" 64 "$(grep -c '^worker-[0-6][0-9]$' names)"
grep -qx loader names || bad "no thread is called loader"
judge stacks cpu $(files plugins) > stacks
for plugin in alpha beta gamma delta; do
    has_function cpu "plugin_$plugin::burn(int)" $(files plugins)
    judge mappings $(files plugins) | grep -q "/plugin_$plugin\.so$" || bad "no mapping of plugin_$plugin"
    # Whole, and never with another plugin's frames in between.
    grep "plugin_$plugin::" stacks | grep -vE "^[0-9]+ ([^:]* < )?plugin_$plugin::burn\(int\) < plugin_$plugin::work\(int\) < plugin_run < " |
        grep -vE "(refuse|allocate|work)\(" > odd
    [ ! -s odd ] || bad "odd stack: $(head -n 1 odd | cut -c 1-200)"
done
mixed=$(grep -cE 'plugin_(alpha|beta|gamma|delta)::.*plugin_(alpha|beta|gamma|delta)::' stacks)
same_plugin=$(grep -cE 'plugin_(alpha|beta|gamma|delta)::.*plugin_\1::' stacks)
equal "stacks with two plugins in them" 0 "$((mixed - same_plugin))"
has_function cpu "exceptional(int)" $(files plugins)
has_function cpu "containers(int)" $(files plugins)
has_function cpu _Unwind_RaiseException $(files plugins)
end

begin "64 threads, exceptions and plugins: heap profile to the byte, over several flushes"
settings="OTELPROF_CPU_HZ=1000 OTELPROF_HEAP_INTERVAL=1 OTELPROF_INTERVAL=200ms"
bare "$plugins" "$work" $rounds
prof "$plugins" "$work" $rounds
same
strict
judge heap plugin_ $(files plugins) > heap
for plugin in alpha beta gamma delta; do
    equal "plugin_$plugin" "plugin_$plugin::allocate() $((rounds * 2)) $((rounds * 3500)) $rounds $((rounds * 3000))" \
        "$(grep "plugin_$plugin::allocate" heap)"
done
end
finish
