# SPDX-License-Identifier: Apache-2.0
# cpython: the interpreter's own tests of threads, processes, signals, memory and system calls.
packages="python3 lib$(basename "$(readlink -f /usr/bin/python3)")-testsuite"
programs='python3*'
least=800

prepare() {
    :
}

cases() {
    set -- test_threading test_thread test_subprocess test_signal test_threadsignals test_os test_posix test_mmap test_gc \
        test_faulthandler test_fork1 test_wait3 test_wait4 test_select test_poll test_epoll test_exceptions test_sys \
        test_atexit test_resource test_time test_pty test_ctypes
    [ -n "$quick" ] || set -- "$@" test_asyncio test_multiprocessing_fork test_multiprocessing_spawn \
        test_multiprocessing_forkserver test_concurrent_futures test_socket test_ssl test_selectors test_queue test_asyncore \
        test_socketserver test_json test_pickle test_re test_generators test_capi test_tracemalloc test_io test_shutil \
        test_tempfile test_sqlite3 test_zlib test_lzma test_hashlib test_decimal test_array test_buffer test_weakref \
        test_embed test_import test_cmd_line test_popen test_eintr test_openpty test_regrtest test_fcntl test_lib2to3 \
        test_httpservers test_urllib2_localnet test_xmlrpc test_logging test_statistics test_random test_descr
    under "$python" -m test -j2 --timeout 300 --junit-xml "$scratch/cases.xml" "$@" >&2
    parse junit "$scratch/cases.xml"
}
