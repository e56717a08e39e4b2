/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof completion: what bash and zsh need to complete commands, options and files. */
#include <stdio.h>
#include <string.h>

#include "tools/otelprof/args.h"
#include "tools/otelprof/command.h"

/* Is the value of an option, or an operand, a file or folder? */
static bool is_path(const char *name)
{
    return strstr(name, "FILE") != NULL || strstr(name, "OUT") != NULL ||
           strstr(name, "DIR") != NULL || strstr(name, "BASE") != NULL;
}

static void put_command_names(void)
{
    size_t count;
    const struct otp_command *const *commands = otp_commands(&count);
    for (size_t i = 0; i < count; i++) {
        (void)printf("%s%s", i > 0 ? " " : "", commands[i]->name);
    }
}

/* ---- bash ---- */

/* All options of a command, or those whose value is of that kind. */
enum wanted { WANT_ALL, WANT_PATH, WANT_OTHER };

static void put_bash_options(const struct otp_command *c, enum wanted wanted)
{
    for (int i = 0; c->options != NULL && c->options[i].name != NULL; i++) {
        const struct otp_option *o = &c->options[i];
        bool is_wanted =
            wanted == WANT_ALL || (o->value != NULL && is_path(o->value) == (wanted == WANT_PATH));
        if (is_wanted && o->letter != 0) {
            (void)printf(" -%c", o->letter);
        }
        if (is_wanted) {
            (void)printf(" --%s", o->name);
        }
    }
}

static void put_bash(void)
{
    size_t count;
    const struct otp_command *const *commands = otp_commands(&count);

    (void)fputs("# bash completion of otelprof: source it, or put it where bash-completion looks\n"
                "_otelprof()\n{\n"
                "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                "    local commands='",
                stdout);
    put_command_names();
    (void)fputs("' options='' paths='' others=''\n    COMPREPLY=()\n"
                "    if ((COMP_CWORD == 1)); then\n"
                "        mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$cur\")\n"
                "        return\n    fi\n    case ${COMP_WORDS[1]} in\n",
                stdout);
    for (size_t i = 0; i < count; i++) {
        (void)printf("    %s)\n        options='", commands[i]->name);
        put_bash_options(commands[i], WANT_ALL);
        (void)fputs("' paths='", stdout);
        put_bash_options(commands[i], WANT_PATH);
        (void)fputs(" ' others='", stdout);
        put_bash_options(commands[i], WANT_OTHER);
        (void)fputs(" '\n        ;;\n", stdout);
    }
    (void)fputs("    esac\n"
                "    if [[ \" $others\" == *\" $prev \"* ]]; then\n        return\n    fi\n"
                "    if [[ $cur == -* && \" $paths\" != *\" $prev \"* ]]; then\n"
                "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
                "    elif [[ ${COMP_WORDS[1]} == help ]]; then\n"
                "        mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$cur\")\n"
                "    elif [[ ${COMP_WORDS[1]} == completion ]]; then\n"
                "        mapfile -t COMPREPLY < <(compgen -W 'bash zsh' -- \"$cur\")\n"
                "    else\n        compopt -o filenames 2> /dev/null\n"
                "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n    fi\n}\n"
                "complete -F _otelprof otelprof\n",
                stdout);
}

/* ---- zsh ---- */

/* Text inside single quotes in which brackets and colons mean something. */
static void put_zsh_text(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            (void)fputs("'\\''", stdout);
            continue;
        }
        if (strchr("[]:\\", *text) != NULL) {
            (void)putchar('\\');
        }
        (void)putchar(*text);
    }
}

static void put_zsh_option(const struct otp_option *o)
{
    if (o->letter != 0) {
        (void)printf(" \\\n            '(-%c --%s)'{-%c,--%s}'[", o->letter, o->name, o->letter,
                     o->name);
    } else {
        (void)printf(" \\\n            '--%s[", o->name);
    }
    put_zsh_text(o->help);
    (void)putchar(']');
    if (o->value != NULL) {
        (void)putchar(':');
        put_zsh_text(o->value);
        (void)fputs(is_path(o->value) ? ":_files" : ":", stdout);
    }
    (void)putchar('\'');
}

static void put_zsh_command(const struct otp_command *c)
{
    (void)printf("    %s)\n        _arguments", c->name);
    for (int i = 0; c->options != NULL && c->options[i].name != NULL; i++) {
        put_zsh_option(&c->options[i]);
    }
    if (strcmp(c->name, "help") == 0) {
        (void)fputs(" '1:command:(", stdout);
        put_command_names();
        (void)fputs(")'", stdout);
    } else if (strcmp(c->name, "completion") == 0) {
        (void)fputs(" '1:shell:(bash zsh)'", stdout);
    } else if (c->stops_at_operand) {
        (void)fputs(" '*::command:_normal'", stdout);
    } else {
        (void)fputs(" '*:file:_files'", stdout);
    }
    (void)fputs("\n        ;;\n", stdout);
}

static void put_zsh(void)
{
    size_t count;
    const struct otp_command *const *commands = otp_commands(&count);

    (void)fputs("#compdef otelprof\n_otelprof()\n{\n    local -a commands\n    commands=(\n",
                stdout);
    for (size_t i = 0; i < count; i++) {
        (void)printf("        '%s:", commands[i]->name);
        put_zsh_text(commands[i]->summary);
        (void)fputs("'\n", stdout);
    }
    (void)fputs("    )\n    if ((CURRENT == 2)); then\n        _describe command commands\n"
                "        return\n    fi\n    local command=$words[2]\n    shift words\n"
                "    ((CURRENT--))\n    case $command in\n",
                stdout);
    for (size_t i = 0; i < count; i++) {
        put_zsh_command(commands[i]);
    }
    (void)fputs("    esac\n}\nif [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
                "    _otelprof \"$@\"\nelse\n    compdef _otelprof otelprof\nfi\n",
                stdout);
}

static int run_completion(const struct otp_args *args)
{
    const char *shell = args->operand_count == 1 ? args->operands[0] : "";

    if (strcmp(shell, "bash") == 0) {
        put_bash();
    } else if (strcmp(shell, "zsh") == 0) {
        put_zsh();
    } else {
        return otp_usage_error(args->command, "it is there for bash and zsh");
    }
    return OTP_EXIT_OK;
}

const struct otp_command otp_command_completion = {
    .name = "completion",
    .operands = "bash|zsh",
    .summary = "print what the shell needs to complete otelprof's command line",
    .details = "For this shell: source <(otelprof completion bash). `make install` puts both in "
               "place.\n",
    .run = run_completion,
};
