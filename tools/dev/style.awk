# SPDX-License-Identifier: Apache-2.0
# style.awk: what check_style.sh wants to know of each line of C. Strings, characters and block comments are
# skipped by a small state machine; `code` is the line without them.

function fail(text) { print FILENAME ":" FNR ": " text }

# Cuts strings, character constants and comments out of `line`; in_comment lives across lines.
function strip(line,   out, i, c, two, quote) {
    out = ""
    quote = ""
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        two = substr(line, i, 2)
        if (in_comment) {
            if (two == "*/") { in_comment = 0; i++ }
        } else if (quote != "") {
            if (c == "\\") i++
            else if (c == quote) { quote = ""; out = out "s" }
        } else if (two == "/*") { in_comment = 1; i++ }
        else if (two == "//") { fail("// comment"); break }
        else if (c == "\"" || c == "'") quote = c
        else out = out c
    }
    return out
}

# Blocks that hang on a condition, a loop or a function head; initialisers and case blocks do not count.
function nest(code,   i, c) {
    for (i = 1; i <= length(code); i++) {
        c = substr(code, i, 1)
        if (c == "{") {
            is_block[++braces] = (before ~ /(\)|else|do)$/)
            depth += is_block[braces]
            if (depth > 4 && is_block[braces]) fail("nested deeper than 3 blocks")
            before = ""
        } else if (c == "}") {
            if (braces > 0) depth -= is_block[braces--]
            before = ""
        } else if (c == ";") before = ""
        else if (c !~ /[ \t]/) before = substr(before c, length(before) > 20 ? 2 : 1)
    }
}

FNR == 1 {
    in_comment = braces = depth = continued = 0
    before = ""
    if ($0 !~ /^\/\* SPDX-License-Identifier: Apache-2\.0 \*\/$/) fail("no SPDX licence line on top")
}
FNR == max_file + 1 { fail("more than " max_file " lines") }
/\t/ { fail("tab") }
/[ \t]$/ { fail("space at the end of the line") }
length($0) > 100 { fail(length($0) " columns") }
{
    code = strip($0)
    if (!continued && code !~ /^[ \t]*#/) nest(code)
    continued = code ~ /\\$/ && (continued || code ~ /^[ \t]*#/)
    if (code ~ /(^|[^a-z_])typedef[ \t]+(struct|union|enum)/ && code !~ /\(/) fail("typedef of a struct, union or enum")
    if (code ~ /(^|[^A-Za-z_])(alloca|strcpy|strcat|sprintf|gets)[ \t]*\(/) fail("banned function")
}
