/* SPDX-License-Identifier: Apache-2.0 */
/* Paths are relative to the root of the project, from where everything is compiled. */
#include "tools/otelprof/flame_page.h"

#define FILE_AS_TEXT(symbol, path)                                                                 \
    __asm__(".section .rodata." #symbol ",\"a\",@progbits\n"                                       \
            ".globl " #symbol "\n"                                                                 \
            ".hidden " #symbol "\n"                                                                \
            ".type " #symbol ", @object\n" #symbol ":\n"                                           \
            ".incbin \"" path "\"\n"                                                               \
            ".byte 0\n"                                                                            \
            ".size " #symbol ", . - " #symbol "\n"                                                 \
            ".previous\n")

FILE_AS_TEXT(otp_flame_page_css, "tools/otelprof/flame_page.css");
FILE_AS_TEXT(otp_flame_page_html, "tools/otelprof/flame_page.html");
FILE_AS_TEXT(otp_flame_page_js, "tools/otelprof/flame_page.js");
