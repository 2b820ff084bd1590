//! The two system-call filters: one for the zygote and a far stricter one that each child adds.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use super::SandboxError;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn condition(argument: u8, length: Length, op: Op, value: u64) -> Result<SeccompCondition, SandboxError> {
    SeccompCondition::new(argument, length, op, value).map_err(|error| SandboxError::Filter(error.to_string()))
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, SandboxError> {
    SeccompRule::new(conditions).map_err(|error| SandboxError::Filter(error.to_string()))
}

fn compile(rules: Rules, otherwise: SeccompAction, matched: SeccompAction) -> Result<BpfProgram, SandboxError> {
    let fault = |error: &dyn std::fmt::Display| SandboxError::Filter(error.to_string());
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| fault(&error))?;
    let filter = SeccompFilter::new(rules, otherwise, matched, arch).map_err(|error| fault(&error))?;
    BpfProgram::try_from(filter).map_err(|error| fault(&error))
}

/// Denies system calls that no part of the sandbox needs. Everything else is allowed, because the interpreter still has
/// to start and fork.
pub(super) fn zygote_filter() -> Result<BpfProgram, SandboxError> {
    const EPERM: SeccompAction = SeccompAction::Errno(libc::EPERM as u32);
    let denied = [
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_accept,
        libc::SYS_accept4,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_pidfd_getfd,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_userfaultfd,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_open_by_handle_at,
        libc::SYS_name_to_handle_at,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_kexec_load,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_syslog,
        libc::SYS_acct,
        libc::SYS_quotactl,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_adjtimex,
        libc::SYS_clock_adjtime,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        libc::SYS_personality,
        libc::SYS_kcmp,
        libc::SYS_shmget,
        libc::SYS_shmat,
        libc::SYS_semget,
        libc::SYS_semop,
        libc::SYS_msgget,
        libc::SYS_msgsnd,
        libc::SYS_mq_open,
        libc::SYS_memfd_create,
        libc::SYS_kill,
        libc::SYS_tkill,
        libc::SYS_fanotify_init,
        libc::SYS_inotify_init1,
    ];
    let mut rules: Rules = denied.into_iter().map(|number| (number, Vec::new())).collect();
    let namespaces = (libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP) as u64;
    let mut with_namespace = Vec::new();
    for bit in (0..u64::BITS).map(|bit| 1_u64 << bit).filter(|bit| namespaces & bit != 0) {
        with_namespace.push(rule(vec![condition(0, Length::Qword, Op::MaskedEq(bit), bit)?])?);
    }
    rules.insert(libc::SYS_clone, with_namespace);
    compile(rules, SeccompAction::Allow, EPERM)
}

/// The system calls a child may make; everything else fails with EPERM, including numbers of other call tables.
const CHILD_ALLOWED: &[i64] = &[
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    // A second number for an open file gives no access that the first does not give.
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getcwd,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_uname,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

#[cfg(target_arch = "x86_64")]
const CHILD_ALLOWED_BY_OLD_NAME: &[i64] =
    &[libc::SYS_dup2, libc::SYS_stat, libc::SYS_lstat, libc::SYS_access, libc::SYS_readlink, libc::SYS_time];
#[cfg(not(target_arch = "x86_64"))]
const CHILD_ALLOWED_BY_OLD_NAME: &[i64] = &[];

/// The filter that a child installs on top, before it reads its request.
///
/// No new processes or threads, no signals, no executable memory, no files except for reading, and nothing that waits:
/// sleeping returns at once and waiting for a lock fails, so a child is always either running (using CPU time) or
/// ended. Nothing that differs from child to child without need: no randomness of the kernel, no CPU time, and process
/// ids are 0.
pub(super) fn child_filter() -> Result<BpfProgram, SandboxError> {
    let mut rules: Rules =
        CHILD_ALLOWED.iter().chain(CHILD_ALLOWED_BY_OLD_NAME).map(|number| (*number, Vec::new())).collect();
    let no_exec = || -> Result<_, SandboxError> {
        rule(vec![condition(2, Length::Dword, Op::MaskedEq(libc::PROT_EXEC as u64), 0)?])
    };
    rules.insert(libc::SYS_mmap, vec![no_exec()?]);
    rules.insert(libc::SYS_mprotect, vec![no_exec()?]);
    // Direct reads go past the cache each time, and waiting for the disk is not CPU time.
    let not_reading = (libc::O_ACCMODE
        | libc::O_CREAT
        | libc::O_TRUNC
        | libc::O_APPEND
        | libc::O_DIRECT
        | libc::O_TMPFILE ^ libc::O_DIRECTORY) as u64;
    let reading = |argument| -> Result<_, SandboxError> {
        rule(vec![condition(argument, Length::Dword, Op::MaskedEq(not_reading), 0)?])
    };
    rules.insert(libc::SYS_openat, vec![reading(2)?]);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, vec![reading(1)?]);
    let only = |argument, value: u64| -> Result<_, SandboxError> {
        rule(vec![condition(argument, Length::Dword, Op::Eq, value)?])
    };
    let harmless = [libc::F_GETFD, libc::F_GETFL, libc::F_DUPFD_CLOEXEC];
    let harmless: Result<Vec<_>, _> = harmless.into_iter().map(|command| only(1, command as u64)).collect();
    rules.insert(libc::SYS_fcntl, harmless?);
    rules.insert(
        libc::SYS_futex,
        vec![rule(vec![condition(1, Length::Dword, Op::MaskedEq(0x7F), libc::FUTEX_WAKE as u64)?])?],
    );
    // Clocks that are the same for all; those of CPU time tell how a child fares.
    let clocks = [
        libc::CLOCK_REALTIME,
        libc::CLOCK_MONOTONIC,
        libc::CLOCK_MONOTONIC_RAW,
        libc::CLOCK_REALTIME_COARSE,
        libc::CLOCK_MONOTONIC_COARSE,
        libc::CLOCK_BOOTTIME,
    ];
    let clocks: Result<Vec<_>, _> = clocks.into_iter().map(|clock| only(0, clock as u64)).collect();
    rules.insert(libc::SYS_clock_gettime, clocks?);
    // Reading a limit is allowed, setting one is not.
    rules.insert(libc::SYS_prlimit64, vec![rule(vec![condition(2, Length::Qword, Op::Eq, 0)?])?]);
    let mut program = returning_zero(&[
        libc::SYS_nanosleep,
        libc::SYS_clock_nanosleep,
        libc::SYS_getpid,
        libc::SYS_getppid,
        libc::SYS_gettid,
    ]);
    program.extend(compile(rules, SeccompAction::Errno(libc::EPERM as u32), SeccompAction::Allow)?);
    Ok(program)
}

/// Instructions that make the calls return 0 at once and pass every other call on.
fn returning_zero(calls: &[i64]) -> Vec<sock_filter> {
    const LOAD_NUMBER: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let last = calls.len() - 1;
    // A jump skips instructions: the remaining comparisons, or the return.
    let compare = |(at, call): (usize, &i64)| {
        let past_return = u8::from(at == last);
        step(JUMP_IF_EQUAL, (last - at) as u8, past_return, *call as u32)
    };
    let mut steps = vec![step(LOAD_NUMBER, 0, 0, 0)];
    steps.extend(calls.iter().enumerate().map(compare));
    steps.push(step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO));
    steps
}

/// The filter's bytes for the kernel, which the zygote hands to its children.
pub(super) fn to_bytes(program: &[sock_filter]) -> Vec<u8> {
    program
        .iter()
        .flat_map(|step| {
            let mut bytes = step.code.to_ne_bytes().to_vec();
            bytes.extend([step.jt, step.jf]);
            bytes.extend(step.k.to_ne_bytes());
            bytes
        })
        .collect()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::{child_filter, zygote_filter};

    /// Runs `call` in a fork under both filters; returns the signal that ended it, if any.
    fn ending_signal(call: fn()) -> Option<i32> {
        let filters = [zygote_filter(), child_filter()].map(|filter| filter.expect("a filter"));
        // SAFETY: between fork and exit the child only makes system calls and allocates nothing.
        unsafe {
            let child = libc::fork();
            assert!(child >= 0, "fork");
            if child == 0 {
                let is_filtered = filters.iter().all(|filter| seccompiler::apply_filter(filter).is_ok());
                if is_filtered {
                    call();
                }
                libc::_exit(i32::from(!is_filtered));
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            assert!(!libc::WIFEXITED(status) || libc::WEXITSTATUS(status) == 0, "the filters went in");
            libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status))
        }
    }

    #[test]
    fn a_system_call_of_another_architecture_ends_the_process() {
        // `getpid` from the 32-bit table, through the 32-bit entry point.
        let foreign = || unsafe {
            std::arch::asm!("int 0x80", inlateout("rax") 20_i64 => _);
        };
        assert_eq!(ending_signal(foreign), Some(libc::SIGSYS));
    }

    #[test]
    fn the_same_call_of_the_own_architecture_is_allowed() {
        // SAFETY: getuid takes nothing.
        assert_eq!(ending_signal(|| unsafe { assert!(libc::syscall(libc::SYS_getuid) >= 0) }), None);
    }
}
