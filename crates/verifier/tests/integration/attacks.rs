//! Attacks on the sandbox, one test each, named for the property that holds. Each runs in every mode that this machine
//! and user allow; afterwards the zygote must still serve and be unchanged.

use crate::support::{assert_alive, modes, run};
use lyceum_verifier::Status;

const PRELUDE: &str = r#"import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def denied(attempt):
    try:
        return "had an effect: %r" % (attempt(),)
    except (OSError, ValueError, ImportError):
        return None
def syscall(*arguments):
    number = ctypes.c_long(arguments[0])
    rest = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments[1:]]
    result = libc.syscall(number, *rest)
    return None if result == -1 else "returned %d" % result
"#;

/// The attack must return None, which means it had no effect.
fn no_effect(body: &str) {
    for mode in modes() {
        let verdict = run(&mode.pool, &program(body));
        assert_eq!((verdict.status, verdict.correct), (Status::Ok, Some(true)), "{}: {}", mode.name, verdict.reason);
        assert_alive(mode);
    }
}

/// The attack must end in one of these ways and never be judged correct.
fn ends_in(statuses: &[Status], body: &str) {
    for mode in modes() {
        let verdict = run(&mode.pool, &program(body));
        assert_eq!(verdict.correct, Some(false), "{}: {}", mode.name, verdict.reason);
        assert!(statuses.contains(&verdict.status), "{}: {:?} {}", mode.name, verdict.status, verdict.reason);
        assert_alive(mode);
    }
}

fn program(body: &str) -> String {
    let lines: String = body.lines().map(|line| format!("    {line}\n")).collect();
    format!("{PRELUDE}def f(x):\n{lines}    return None\n")
}

macro_rules! attacks {
    ($($name:ident: $check:ident($($status:ident),*) $body:literal;)*) => {
        $(#[test] fn $name() { attacks!(@ $check [$($status),*] $body); })*
    };
    (@ no_effect [] $body:literal) => { no_effect($body) };
    (@ ends_in [$($status:ident),*] $body:literal) => { ends_in(&[$(Status::$status),*], $body) };
}

attacks! {
    an_infinite_loop_times_out: ends_in(Timeout) r#"while True: pass"#;
    sleep_does_not_hold_a_slot: no_effect() r#"import time; time.sleep(1000)"#;
    a_loop_that_swallows_every_exception_times_out: ends_in(Timeout) r#"while True:
  try:
    while True: pass
  except BaseException: pass"#;
    a_regular_expression_that_explodes_times_out: ends_in(Timeout) r#"import re; re.match('(a+)+$', 'a'*50+'b')"#;
    a_towering_power_times_out: ends_in(Timeout, Memory, Error) r#"return len(str(10**10**8))"#;
    ignored_signals_do_not_outlive_the_limit: ends_in(Timeout) r#"import signal
for s in range(1,65):
  try: signal.signal(s, signal.SIG_IGN)
  except (OSError, ValueError): pass
while True: pass"#;
    a_flood_of_prints_times_out: ends_in(Timeout) r#"while True: print('x'*10000)"#;
    an_alarm_handler_changes_nothing: ends_in(Timeout) r#"import signal; signal.signal(signal.SIGXCPU, lambda *a: None)
while True: pass"#;
    a_lock_taken_twice_ends: ends_in(Error, Timeout) r#"import threading; l=threading.Lock(); l.acquire(); l.acquire()"#;
    a_fork_bomb_is_refused: no_effect() r#"return denied(os.fork)"#;
    vfork_is_refused: no_effect() r#"return syscall(58)"#;
    clone_is_refused: no_effect() r#"return syscall(56, 17, 0, 0, 0, 0)"#;
    clone3_is_refused: no_effect() r#"return syscall(435, 0, 0)"#;
    fork_by_system_call_is_refused: no_effect() r#"return syscall(57)"#;
    exec_is_refused: no_effect() r#"return syscall(59, 0, 0, 0)"#;
    execveat_is_refused: no_effect() r#"return syscall(322, -1, 0, 0, 0, 0)"#;
    a_subprocess_is_refused: no_effect() r#"try: import subprocess
except ImportError: return None
return denied(lambda: subprocess.run(['/bin/true']))"#;
    os_system_runs_nothing: no_effect() r#"return None if os.system('true') != 0 else 'ran'"#;
    posix_spawn_is_refused: no_effect() r#"return denied(lambda: os.posix_spawn('/bin/true', ['true'], {}))"#;
    threads_are_refused: no_effect() r#"import threading
try: threading.Thread(target=lambda: None).start()
except RuntimeError: return None
return 'thread'"#;
    a_list_of_ten_thousand_million_is_refused: ends_in(Memory) r#"return [0]*10**10"#;
    a_string_of_ten_thousand_million_is_refused: ends_in(Memory) r#"return 'a'*10**10"#;
    growing_memory_is_limited: ends_in(Memory, Timeout) r#"x=[]
while True: x.append(bytearray(1<<20))"#;
    a_swallowed_memory_error_does_not_outlive_the_limit: ends_in(Timeout) r#"x=[]
while True:
  try: x.append(bytearray(1<<20))
  except MemoryError: pass"#;
    anonymous_maps_are_limited: ends_in(Error, Memory) r#"import mmap; m=[mmap.mmap(-1, 1<<30) for _ in range(4)]"#;
    endless_recursion_raises: ends_in(Error) r#"def g(): return g()
return g()"#;
    a_recursion_limit_of_a_thousand_million_is_contained: ends_in(Error, Memory, Timeout) r#"sys.setrecursionlimit(10**9)
def g(n): return repr(g(n+1))
return g(0)"#;
    a_repr_that_overflows_the_stack_is_contained: ends_in(Error, Memory, Timeout) r#"sys.setrecursionlimit(10**9)
x=[]
for _ in range(10**6): x=[x]
return repr(x)"#;
    a_deeply_nested_value_is_unserialisable: ends_in(Unserialisable) r#"x=[]
for _ in range(10**5): x=[x]
return x"#;
    a_value_that_contains_itself_is_unserialisable: ends_in(Unserialisable) r#"x=[]; x.append(x); return x"#;
    a_compile_bomb_of_brackets_is_contained: ends_in(Error, Memory) r#"compile('('*10**5+')'*10**5,'x','exec')"#;
    a_compile_bomb_of_constants_is_contained: ends_in(Error, Memory, Timeout) r#"compile('1'+'**1'*10**5,'x','eval')"#;
    a_constant_folding_bomb_is_contained: no_effect() r#"compile('(1<<62)**(1<<20)','x','eval'); return None"#;
    a_value_of_twenty_megabytes_is_unserialisable: ends_in(Unserialisable) r#"return 'a'*(2*10**7)"#;
    endless_writes_to_the_socket_are_stopped: ends_in(Error, Timeout) r#"while True: os.write(3, b'V'+b'\0'*4096)"#;
    a_frame_of_four_gigabytes_is_stopped: ends_in(Error) r#"os.write(3, b'V\xff\xff\xff\xff'); return 1"#;
    the_password_file_is_not_there: no_effect() r#"return denied(lambda: open('/etc/passwd').read())"#;
    the_shadow_file_is_not_there: no_effect() r#"return denied(lambda: open('/etc/shadow').read())"#;
    the_environment_of_the_process_is_not_there: no_effect() r#"return denied(lambda: open('/proc/self/environ').read())"#;
    the_process_table_is_not_there: no_effect() r#"return denied(lambda: os.listdir('/proc'))"#;
    other_processes_memory_is_not_there: no_effect() r#"return denied(lambda: open('/proc/%d/mem' % os.getppid(), 'rb'))"#;
    the_environment_is_empty: no_effect() r#"return dict(os.environ) or None"#;
    the_c_environment_holds_only_the_hash_seed: no_effect() r#"e=ctypes.POINTER(ctypes.c_char_p).in_dll(libc,'environ'); i=0; out=[]
while e and e[i]: out.append(e[i]); i+=1
return [x for x in out if not x.startswith(b'PYTHONHASHSEED')] or None"#;
    home_folders_are_not_there: no_effect() r#"return denied(lambda: os.listdir('/root')) or denied(lambda: os.listdir('/home'))"#;
    parent_folders_do_not_lead_out: no_effect() r#"return denied(lambda: open('/usr/lib/../../etc/passwd'))"#;
    files_cannot_be_written_0: no_effect() r#"return denied(lambda: open('/tmp'+'/x','w'))"#;
    files_cannot_be_written_1: no_effect() r#"return denied(lambda: open('/dev/shm'+'/x','w'))"#;
    files_cannot_be_written_2: no_effect() r#"return denied(lambda: open('/var/tmp'+'/x','w'))"#;
    files_cannot_be_written_3: no_effect() r#"return denied(lambda: open('.'+'/x','w'))"#;
    files_cannot_be_written_4: no_effect() r#"return denied(lambda: open('/usr/lib/python3'+'/x','w'))"#;
    folders_cannot_be_made: no_effect() r#"return denied(lambda: os.mkdir('/tmp/x'))"#;
    files_cannot_be_removed: no_effect() r#"return denied(lambda: os.unlink(os.__file__))"#;
    files_cannot_be_renamed: no_effect() r#"return denied(lambda: os.rename(os.__file__, os.__file__+'x'))"#;
    modes_cannot_be_changed: no_effect() r#"return denied(lambda: os.chmod(os.__file__, 0o777))"#;
    links_cannot_be_made: no_effect() r#"return denied(lambda: os.symlink('/etc/passwd','/tmp/x')) or denied(lambda: os.link(os.__file__,'/tmp/x'))"#;
    modules_cannot_be_overwritten: no_effect() r#"return denied(lambda: open(os.__file__,'a'))"#;
    memory_files_cannot_be_made: no_effect() r#"return denied(lambda: os.memfd_create('x'))"#;
    pipes_cannot_be_made: no_effect() r#"return denied(os.pipe)"#;
    internet_sockets_are_refused: no_effect() r#"import socket; return denied(lambda: socket.socket(2, 2))"#;
    unix_sockets_are_refused: no_effect() r#"import socket; return denied(lambda: socket.socket(1, 2))"#;
    netlink_sockets_are_refused: no_effect() r#"import socket; return denied(lambda: socket.socket(16, 2))"#;
    vsock_sockets_are_refused: no_effect() r#"import socket; return denied(lambda: socket.socket(40, 2))"#;
    packet_sockets_are_refused: no_effect() r#"import socket; return denied(lambda: socket.socket(17, 2))"#;
    socket_pairs_are_refused: no_effect() r#"import socket; return denied(socket.socketpair)"#;
    no_process_can_be_signalled: no_effect() r#"import signal
for p in (os.getppid(),1,-1,0):
  r=denied(lambda: os.kill(p, signal.SIGKILL))
  if r: return r"#;
    tgkill_is_refused: no_effect() r#"return syscall(234, 1, 1, 9)"#;
    queued_signals_are_refused: no_effect() r#"return syscall(129, 1, 9, 0)"#;
    pidfds_cannot_signal: no_effect() r#"return syscall(424, 3, 9, 0, 0)"#;
    ptrace_is_refused: no_effect() r#"return syscall(101, 0, 0, 0, 0)"#;
    reading_another_process_is_refused: no_effect() r#"return syscall(310, 1, 0, 0, 0, 0, 0)"#;
    writing_another_process_is_refused: no_effect() r#"return syscall(311, 1, 0, 0, 0, 0, 0)"#;
    pidfd_getfd_is_refused: no_effect() r#"return syscall(438, 3, 0, 0)"#;
    bpf_is_refused: no_effect() r#"return syscall(321, 0, 0, 0)"#;
    perf_is_refused: no_effect() r#"return syscall(298, 0, 0, -1, -1, 0)"#;
    io_uring_is_refused: no_effect() r#"return syscall(425, 1, 0)"#;
    userfaultfd_is_refused: no_effect() r#"return syscall(323, 0)"#;
    unshare_is_refused: no_effect() r#"return syscall(272, 268435456)"#;
    setns_is_refused: no_effect() r#"return syscall(308, 3, 0)"#;
    mount_is_refused: no_effect() r#"return syscall(165, 0, 0, 0, 0, 0)"#;
    chroot_is_refused: no_effect() r#"return syscall(161, 0)"#;
    keyctl_is_refused: no_effect() r#"return syscall(250, 0, 0, 0, 0)"#;
    file_handles_are_refused: no_effect() r#"return syscall(304, -1, 0, 0)"#;
    prctl_is_refused: no_effect() r#"return syscall(157, 1, 0, 0, 0, 0)"#;
    another_seccomp_filter_is_refused: no_effect() r#"return syscall(317, 1, 0, 0)"#;
    limits_cannot_be_raised: no_effect() r#"return syscall(302, 0, 9, ctypes.byref((ctypes.c_ulong*2)(1<<40,1<<40)), 0)"#;
    x32_system_calls_are_refused: no_effect() r#"return syscall(0x40000000|39)"#;
    shared_memory_is_refused: no_effect() r#"return syscall(29, 0, 4096, 896)"#;
    semaphores_are_refused: no_effect() r#"return syscall(64, 0, 1, 896)"#;
    message_queues_are_refused: no_effect() r#"return syscall(68, 0, 896)"#;
    posix_queues_are_refused: no_effect() r#"return syscall(240, b'/x', 64, 384, 0)"#;
    file_locks_are_refused: no_effect() r#"return syscall(73, 3, 2)"#;
    record_locks_are_refused: no_effect() r#"try: import fcntl
except ImportError: return None
return denied(lambda: fcntl.lockf(3, fcntl.LOCK_EX))"#;
    executable_memory_is_refused: no_effect() r#"libc.mmap.restype=ctypes.c_void_p; p=libc.mmap(None,4096,7,0x22,-1,0); return None if p in (None, 2**64-1) else 'mapped'"#;
    memory_cannot_become_executable: no_effect() r#"libc.mmap.restype=ctypes.c_void_p; p=libc.mmap(None,4096,3,0x22,-1,0)
libc.mprotect.argtypes=[ctypes.c_void_p,ctypes.c_size_t,ctypes.c_int]; return None if libc.mprotect(p,4096,7) else 'made executable'"#;
    ctypes_callbacks_make_no_machine_code: no_effect() r#"try: cb=ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 7)
except (MemoryError, OSError, PermissionError): return None
return None"#;
    leaving_early_is_no_answer: ends_in(Error) r#"os._exit(0)"#;
    sys_exit_is_no_answer: ends_in(Error) r#"sys.exit(0)"#;
    a_segmentation_fault_is_contained: ends_in(Error) r#"ctypes.string_at(0)"#;
    bad_bytecode_is_contained: ends_in(Error, Timeout, Memory) r#"import types; c=(lambda: 0).__code__; g=types.FunctionType(c.replace(co_code=b'd\xff'*64), {}); return g()"#;
    patched_builtins_reach_no_other_program: no_effect() r#"import builtins; builtins.sorted=lambda *a: 'HACKED'; builtins.planted=1; return None"#;
    patched_modules_reach_no_other_program: no_effect() r#"import json; json.dumps=lambda *a: 'HACKED'; sys.modules['planted']=json; return None"#;
    frames_on_every_descriptor_reach_no_other_program: no_effect() r#"for fd in range(64):
  if fd != 3:
    try: os.write(fd, b'V\0\0\0\1N')
    except OSError: pass
return None"#;
    a_duplicate_of_the_socket_is_the_socket: ends_in(Error) r#"os.write(os.dup2(os.dup(3), 20), b'V\0\0\0\1N'); return None"#;
    duplicates_are_limited: no_effect() r#"try:
  for _ in range(1000): os.dup(3)
except OSError: return None
return 'no limit'"#;
    two_frames_are_a_violation: ends_in(Error) r#"os.write(3, b'V\0\0\0\1N'); return None"#;
    half_a_frame_is_a_violation: ends_in(Error) r#"os.write(3, b'V\0\0\0\7N'); os._exit(0)"#;
    bytes_after_the_frame_are_a_violation: ends_in(Error) r#"os.write(3, b'V\0\0\0\1Nxx'); os._exit(0)"#;
    a_frame_from_a_failing_process_is_not_believed: ends_in(Error) r#"os.write(3, b'V\0\0\0\1N'); os._exit(1)"#;
    a_frame_from_a_crashing_process_is_not_believed: ends_in(Error) r#"os.write(3, b'V\0\0\0\1N'); ctypes.string_at(0)"#;
    a_frame_from_a_process_that_never_ends_is_not_believed: ends_in(Timeout, Error) r#"os.write(3, b'V\0\0\0\1N')
while True: pass"#;
    a_closed_socket_is_no_answer: ends_in(Timeout) r#"os.close(3)
while True: pass"#;
    an_unknown_frame_is_no_value: ends_in(Error) r#"os.write(3, b'?\0\0\0\1N'); os._exit(0)"#;
    an_object_that_equals_everything_is_unserialisable: ends_in(Unserialisable) r#"class E:
  def __eq__(s,o): return True
  __hash__=None
return E()"#;
    a_subclass_of_int_is_unserialisable: ends_in(Unserialisable) r#"class I(int):
  def __eq__(s,o): return True
  def __hash__(s): return 0
return I(5)"#;
    a_class_that_lies_about_itself_is_unserialisable: ends_in(Unserialisable) r#"class L:
  __class__=type(None)
return L()"#;
    a_subclass_of_dict_is_unserialisable: ends_in(Unserialisable) r#"class D(dict): pass
return D()"#;
    no_frame_holds_an_expected_value: no_effect() r#"fr=sys._getframe(); out=[]
while fr:
  out += [k for k,v in fr.f_locals.items() if 'expected' in k or 'gold' in k]; fr=fr.f_back
return out or None"#;
    no_object_holds_an_expected_value: no_effect() r#"import gc; return [1 for o in gc.get_objects() if isinstance(o, dict) and ('expected' in o or 'answer_key' in o)] or None"#;
    the_parents_request_is_not_in_memory: no_effect() r#"import gc; return None if not [o for o in gc.get_objects() if isinstance(o,(list,tuple)) and 'None' in o and '0' in o and len(o)==2] else 'seen'"#;
}

#[test]
fn a_program_does_not_learn_the_name_of_the_host() {
    let modes = modes().iter().filter(|mode| mode.name.ends_with("with namespaces"));
    for mode in modes {
        let verdict = run(
            &mode.pool,
            "import os\ndef f(x):\n    name = os.uname().nodename\n    return None if name == 'sandbox' else name",
        );
        assert_eq!(verdict.correct, Some(true), "{}: {}", mode.name, verdict.reason);
    }
}

#[test]
fn reads_past_the_cache_are_denied() {
    no_effect("return denied(lambda: os.open(os.__file__, os.O_RDONLY | os.O_DIRECT))");
}

/// What is readable fits into memory many times, so it is read from the disk once.
#[test]
fn there_is_little_to_read() {
    let body = "total, folders = 0, ['/', '/usr', '/usr/lib', '/usr/lib64', '/lib', os.path.dirname(os.__file__)]\n\
                while folders:\n    \
                    try: entries = list(os.scandir(folders.pop()))\n    \
                    except OSError: continue\n    \
                    for entry in entries:\n        \
                        if entry.is_symlink(): continue\n        \
                        if entry.is_dir(): folders.append(entry.path)\n        \
                        elif os.access(entry.path, os.R_OK): total += entry.stat().st_size\n\
                if total > 300 << 20: return '%d MB' % (total >> 20)";
    no_effect(body);
}
