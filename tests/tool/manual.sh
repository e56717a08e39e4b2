#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# manual.sh: manual pages without a complaint of mandoc, and completion that completes, in bash and in zsh.
. "$(dirname "$0")/../common.sh"
export PATH="$(dirname "$tool"):$PATH"
commands=$("$tool" help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')

begin "manual pages"
if need mandoc; then
    "$tool" man 1 > otelprof.1
    "$tool" man 7 > libotelprof.7
    for page in otelprof.1 libotelprof.7; do
        mandoc -T lint -W warning $page > lint 2>&1 || bad "$page: $(head -n 3 lint)"
        mandoc -T ascii $page | sed 's/.\x08//g' > $page.txt
    done
    found=0
    for command in $commands; do
        grep -q "otelprof $command" otelprof.1.txt && found=$((found + 1)) || bad "$command has no place in the page"
        for option in $("$tool" help "$command" | sed -n 's/^  .*\(--[a-z][a-z-]*\).*/\1/p'); do
            grep -qF -e "$option" otelprof.1.txt || bad "$command $option is not in the page"
        done
    done
    [ $found -gt 10 ] || bad "only $found commands"
    while read -r variable rest; do
        grep -q "$variable" libotelprof.7.txt || bad "$variable is not in the page ($rest)"
    done << V
$(sed '/^#/d' "$top/tests/contract/options.txt")
V
fi
"$tool" man 9 2> err
equal "exit status of another page" 2 $?
one_line err "1"
end

# A real shell in a terminal: the line, a tab, and what stands there then.
cat > "$work/typed.py" << 'P'
import os, pty, select, sys, time
os.chdir(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(ZDOTDIR="home", TERM="dumb", PS1="ready> ")
    os.execvp(sys.argv[2], sys.argv[2:])
def wait_for(*words):
    text = ""
    end = time.monotonic() + 60
    while not any(w in text for w in words):
        if time.monotonic() > end:
            print("not seen: %r in %r" % (words, text))
            sys.exit(1)
        if select.select([fd], [], [], 1)[0]:
            text += os.read(fd, 65536).decode(errors="replace")
    return text
wait_for("ready> ")
for typed, answer in (("otelprof symb\t", "olize"), ("otelprof top --cu\t", "cum"), ("otelprof help mer\t", "ge")):
    os.write(fd, typed.encode())
    wait_for(typed[:-1] + answer, answer + " ")
    os.write(fd, b"\x15")
print("ok")
os.write(fd, b"\x04")
P

# The answers of bash's completion to a command line, one a line.
complete_in_bash() {
    bash -c 'source <(otelprof completion bash)
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _otelprof
        printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}

begin "completion in bash"
if need bash; then
    equal "commands" "$(echo $commands | tr ' ' '\n' | sort)" "$(complete_in_bash otelprof '' | sort)"
    equal "begun command" "symbolize" "$(complete_in_bash otelprof sy)"
    equal "options of top" "$("$tool" help top | grep -o -e ' --[a-z-]*' | tr -d " " | sort -u)" "$(complete_in_bash otelprof top -- | sort)"
    : > some.otlp
    equal "a file" "some.otlp" "$(complete_in_bash otelprof top som)"
    equal "a file behind -o" "some.otlp" "$(complete_in_bash otelprof convert -o som)"
    equal "nothing behind -n" "" "$(complete_in_bash otelprof top -n som)"
    equal "commands behind help" "merge" "$(complete_in_bash otelprof help me)"
    equal "shells" "zsh" "$(complete_in_bash otelprof completion z)"
    { "$tool" completion bash; echo "PS1='ready> '"; } > bashrc
    "$python" "$work/typed.py" "$d" bash --noprofile --rcfile bashrc -i > seen || bad "$(tail -n 3 seen)"
fi
end

begin "completion in zsh"
if need zsh; then
    "$tool" completion zsh > _otelprof
    zsh -n _otelprof 2> err || bad "$(head -n 2 err)"
    cat > zshrc << 'Z'
PS1='ready> ' fpath=($PWD $fpath)
autoload -Uz compinit && compinit -u -D
zstyle ':completion:*' list-prompt ''
Z
    mkdir -p home && mv zshrc home/.zshrc
    "$python" "$work/typed.py" "$d" zsh -i > seen || bad "$(tail -n 3 seen)"
fi
"$tool" completion fish 2> err
equal "exit status of another shell" 2 $?
end
finish
