#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hostile.sh: files that names are read from are gone, exchanged, cut or corrupt: the program is unharmed, the profile
# is in order, and no name is wrong.
. "$(dirname "$0")/../common.sh"
host swap
swap=$host
compile() {
    ${CC:-gcc} -std=gnu11 -O1 -fPIC -shared -Wl,--build-id -o "$@" "$here/swapped.c"
}
compile "$work/good.so"
compile "$work/other.so" -DOTHER
compile "$work/noid.so" -Wl,--build-id=none
compile "$work/other-noid.so" -DOTHER -Wl,--build-id=none

# one REPLACEMENT: swaps and checks what must always hold.
one() {
    cp "${2:-$work/good.so}" lib.so
    prof "$swap" "$d/lib.so" ${1:+"$1"}
    equal "exit status" 0 "$status"
    equal "standard output" "done" "$(cat "$d/prof.out")"
    equal "standard error" "" "$(cat "$d/prof.err")"
    [ -n "${no_id:-}" ] || strict
    equal "bytes from the library" 200000 "$(judge stacks alloc_space $(files swap) | grep -E 'swapped|lib\.so' | awk '{ s += $1 } END { print s }')"
    ! judge stacks alloc_space $(files swap) | grep -q other_ || bad "a name of the new file for code of the old one"
}
all="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU=false"

begin "a library that stays has its names"
settings=$all
one ""
has_function alloc_space swapped_inner $(files swap)
end

begin "a library that is removed keeps its mapping"
settings=$all
one -
judge mappings $(files swap) | grep -q '/lib\.so$' || bad "no mapping of that name: $(judge mappings $(files swap) | xargs)"
end

begin "a library that is exchanged for another gets no name from that one"
settings=$all
cp "$work/other.so" new.so
one "$d/new.so"
end

begin "the same without build ids"
settings=$all
cp "$work/other-noid.so" new.so
# Nothing is left that could identify it: the one thing that the format wants and that cannot be had.
no_id=1
one "$d/new.so" "$work/noid.so"
no_id=
end

begin "a library without a build id that stays has its names"
settings=$all
one "" "$work/noid.so"
has_function alloc_space swapped_inner $(files swap)
end

begin "a library that was loaded by a relative name from a folder that was left"
settings=$all
mkdir sub
cp "$work/good.so" sub/lib.so
prof sh -c "cd sub && exec '$swap' ./lib.so"
equal "exit status" 0 "$status"
strict
has_function alloc_space swapped_inner $(files swap)
judge mappings $(files swap) | grep -qx "$d/sub/lib.so" || bad "mappings: $(judge mappings $(files swap) | xargs)"
rm -f "$p"/*
prof perl -e 'chdir "sub"; exec @ARGV' "$swap" ./lib.so
strict
has_function alloc_space swapped_inner $(files swap)
end

begin "exchanged for something that is no library"
settings=$all
: > new.so
one "$d/new.so"
rm -f "$p"/*
head -c 100 "$work/good.so" > new.so
one "$d/new.so"
rm -f "$p"/*
head -c 5000 /dev/urandom > new.so
one "$d/new.so"
rm -f "$p"/*
mkfifo new.so
one "$d/new.so"
rm -f "$p"/* lib.so
ln -s /dev/zero new.so
one "$d/new.so"
rm -f "$p"/* lib.so
mkdir new.so
rm -f lib.so
end

begin "exchanged for the same library with damage in its tables"
settings=$all
cat > damage.py << 'PYTHON'
import random, sys
source, target, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
random.seed(seed)
data = bytearray(open(source, "rb").read())
sections = int.from_bytes(data[40:48], "little")
for _ in range(random.choice((1, 3, 30))):
    where = random.choice((random.randrange(16, 64), random.randrange(64, 1000), random.randrange(sections, len(data)),
                           random.randrange(len(data))))
    data[where] = random.choice((0, 255, 127, 128, random.randrange(256)))
if seed % 5 == 0:
    data = data[:random.randrange(len(data))]
open(target, "wb").write(data)
PYTHON
seed=0
while [ $seed -lt ${HOSTILE_RUNS:-40} ] && [ $problems = 0 ]; do
    rm -f "$p"/*
    "$python" damage.py "$work/good.so" new.so $seed
    one "$d/new.so"
    seed=$((seed + 1))
done
[ $problems = 0 ] || echo "    seed $seed"
end

begin "the program itself is replaced while it runs"
settings=$all
cp "$swap" ./me
cp "$work/good.so" lib.so
cp "$work/other.so" ./new
# The program exchanges itself: its library argument stays, its own file goes.
cat > run.py << 'PYTHON'
import os, subprocess, sys
child = subprocess.Popen(["./me", sys.argv[1]], stdout=subprocess.PIPE)
os.rename("./new", "./me")
print(child.communicate()[0].decode(), end="")
sys.exit(child.returncode)
PYTHON
prof "$python" run.py "$d/lib.so"
equal "exit status" 0 "$status"
strict
! judge stacks alloc_space $(files) | grep -q other_ || bad "a name of the new file for code of the old one"
end
finish
