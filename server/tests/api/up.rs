//! `lyceum up`: started, stopped, killed, and refused in every way that it should refuse.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::machine::{Machine, kill};
use nix::sys::signal::Signal;

#[test]
fn the_first_start_makes_a_token_and_later_ones_keep_it() {
    let machine = Machine::new();
    let mut first = machine.up(&["--no-worker"]);
    let token = fs::read_to_string(machine.data().join("admin-token")).unwrap();
    let place = machine.data().join("admin-token");
    assert!(first.said.iter().any(|line| line.contains(place.to_str().unwrap())), "{:?}", first.said);
    assert!(!first.said.iter().any(|line| line.contains(token.trim())), "a log is no place for it: {:?}", first.said);
    let mode = machine.data().join("admin-token").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(seen_by_others(&machine.data()), [] as [PathBuf; 0]);
    assert!(first.get("/healthz").starts_with("HTTP/1.1 200"));
    assert!(first.get("/readyz").starts_with("HTTP/1.1 200"));
    first.stop(Signal::SIGTERM);
    assert!(!machine.data().join("postgres/cluster/postmaster.pid").exists(), "Postgres has stopped in order");
    assert!(!machine.data().join("address").exists());

    let mut second = machine.up(&["--no-worker"]);
    second.stop(Signal::SIGINT);
    assert_eq!(fs::read_to_string(machine.data().join("admin-token")).unwrap(), token);
}

/// The files in `folder` that other users can read, and the folders that they can list, found as such a user would.
fn seen_by_others(folder: &Path) -> Vec<PathBuf> {
    let mode = folder.metadata().unwrap().permissions().mode();
    let mut seen = Vec::new();
    if mode & 0o004 != 0 {
        seen.push(folder.to_owned());
    }
    if mode & 0o001 != 0 {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => seen.extend(seen_by_others(&entry.path())),
                kind if kind.is_file() && entry.metadata().unwrap().permissions().mode() & 0o004 != 0 => {
                    seen.push(entry.path());
                }
                _ => {}
            }
        }
    }
    seen
}

#[test]
fn what_earlier_releases_left_readable_is_closed() {
    let machine = Machine::new();
    machine.up(&["--no-worker"]).stop(Signal::SIGTERM);
    let open = [("artifacts", 0o755), ("format", 0o644), ("lyceum.toml", 0o644)];
    fs::write(machine.data().join("lyceum.toml"), "").unwrap();
    for (name, mode) in open {
        fs::set_permissions(machine.data().join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    machine.up(&["--no-worker"]).stop(Signal::SIGTERM);
    assert_eq!(seen_by_others(&machine.data()), [] as [PathBuf; 0]);
}

#[test]
fn a_terminal_shows_the_link_and_then_no_request() {
    let machine = Machine::new();
    let worker = machine.worker("0.1.0");
    let mut up = machine.up_in_terminal(&["--worker", &worker]);
    up.worker_started();
    assert!(up.get("/readyz").starts_with("HTTP/1.1 200"));
    let said = up.said.join("\n") + &up.stop(Signal::SIGTERM);
    let token = fs::read_to_string(machine.data().join("admin-token")).unwrap();
    for part in
        [&format!("/login#{}", token.trim()), machine.data().to_str().unwrap(), "Ctrl-C", "--log info", "log warn"]
    {
        assert!(said.contains(part), "no `{part}` in: {said}");
    }
    assert!(!said.contains("answered"), "{said}");
}

#[test]
fn the_worker_gets_no_token_and_a_role_of_its_own() {
    let machine = Machine::new();
    machine.set("LYCEUM_TOKEN", "lyc_somebody's");
    let worker = machine.worker("0.1.0");
    let mut up = machine.up(&["--worker", &worker]);
    up.worker_started();
    let said = up.said.join("\n") + &up.stop(Signal::SIGTERM);
    assert!(said.contains("token unset") && said.contains("database postgres://lyceum_worker"), "{said}");
}

#[test]
fn a_terminal_shows_everything_if_asked_to() {
    let machine = Machine::new();
    let worker = machine.worker("0.1.0");
    let mut up = machine.up_in_terminal(&["--worker", &worker, "--log", "info"]);
    up.worker_started();
    assert!(up.get("/readyz").starts_with("HTTP/1.1 200"));
    let said = up.said.join("\n") + &up.stop(Signal::SIGTERM);
    assert!(said.contains("answered") && said.contains("log info"), "{said}");
}

#[test]
fn a_worker_that_dies_is_started_again_and_stopped_in_the_end() {
    let machine = Machine::new();
    let worker = machine.worker("0.1.0");
    let mut up = machine.up(&["--worker", &worker]);
    let first = up.worker_started();
    kill(first, Signal::SIGKILL);
    let second = up.worker_started();
    assert_ne!(first, second);
    let crash = up.crash_of("worker");
    assert_eq!((&crash["cause"], &crash["times"]), (&"signal: 9 (SIGKILL)".into(), &1.into()));
    assert!(up.stop(Signal::SIGTERM).contains(&format!("worker {second} drained")));
}

#[test]
fn a_worker_that_cannot_live_is_one_crash_with_its_last_words() {
    let machine = Machine::new();
    let script = "if [ \"$1\" = --version ]; then echo lyceum-worker 0.1.0; exit; fi\n\
                  echo 'thread main panicked: <b>no room</b>' >&2; echo worker $$ started; exit 101";
    let worker = machine.program("lyceum-worker", script);
    let mut up = machine.up(&["--worker", &worker]);
    for _ in 0..3 {
        up.worker_started();
    }
    // Two of them have been recorded before the third start.
    let crash = loop {
        let crash = up.crash_of("worker");
        if crash["times"].as_i64() >= Some(2) {
            break crash;
        }
    };
    assert_eq!(crash["cause"], "exit status: 101");
    assert_eq!(crash["last_words"], "thread main panicked: <b>no room</b>");
    assert_eq!(up.crashes().len(), 1);
    up.stop(Signal::SIGTERM);
}

#[test]
fn a_server_that_dies_is_started_again_and_its_port_stays_open() {
    let machine = Machine::new();
    let mut up = machine.up(&["--no-worker"]);
    let first = up.server();
    kill(first, Signal::SIGKILL);
    // The socket is open throughout: this waits for the next server, if the first was not still taking it.
    while !up.get_or_reset("/readyz").starts_with("HTTP/1.1 200") {}
    let crash = up.crash_of("server");
    assert_eq!(crash["cause"], "signal: 9 (SIGKILL)");
    assert_ne!(up.server(), first);
    up.stop(Signal::SIGTERM);
    let mut again = machine.up(&["--no-worker"]);
    assert_eq!(again.crashes().len(), 1, "stopping is not a crash, and the crash is still shown");
    again.stop(Signal::SIGTERM);
}

#[test]
fn a_postgres_that_dies_is_started_again_and_the_server_goes_on() {
    let machine = Machine::new();
    let mut up = machine.up(&["--no-worker"]);
    let server = up.server();
    let pid_file = machine.data().join("postgres/cluster/postmaster.pid");
    let pid = || fs::read_to_string(&pid_file).unwrap().lines().next().unwrap().parse::<u32>().unwrap();
    let first = pid();
    kill(first, Signal::SIGKILL);
    assert_eq!(up.crash_of("Postgres")["cause"], "signal: 9 (SIGKILL)");
    assert_ne!(pid(), first);
    assert!(up.get("/readyz").starts_with("HTTP/1.1 200"));
    assert_eq!(up.server(), server);
    up.stop(Signal::SIGTERM);
}

#[test]
fn a_killed_lyceum_takes_its_processes_along_and_starts_again() {
    let machine = Machine::new();
    let worker = machine.worker("0.1.0");
    let mut up = machine.up(&["--worker", &worker]);
    let pid = up.worker_started();
    kill(up.pid(), Signal::SIGKILL);
    // The worker holds the other end too, so this ends when both are gone.
    assert!(up.rest().contains(&format!("worker {pid} drained")));

    let mut again = machine.up(&["--no-worker"]);
    assert!(again.get("/readyz").starts_with("HTTP/1.1 200"));
    let crash = again.crash_of("lyceum up");
    assert!(crash["cause"].as_str().unwrap().contains("nobody had stopped it"), "{crash}");
    again.stop(Signal::SIGTERM);
}

#[test]
fn two_of_them_do_not_share_a_data_folder() {
    let machine = Machine::new();
    let mut first = machine.up(&["--no-worker"]);
    let address = first.address();
    machine.refused(&["--no-worker", "--port", "0"], &["is in use by another `lyceum up`", &address, "--data"]);
    assert!(first.get("/readyz").starts_with("HTTP/1.1 200"));
    first.stop(Signal::SIGTERM);
}

#[test]
fn an_own_database_is_used_instead_of_a_private_one() {
    let database = crate::machine::database();
    let machine = Machine::new();
    let mut up = machine.up(&["--no-worker", "--database-url", database.url()]);
    assert!(up.get("/readyz").starts_with("HTTP/1.1 200"));
    assert!(!machine.data().join("postgres").exists());
    up.stop(Signal::SIGTERM);
}

#[test]
fn a_port_in_use_is_named_and_nothing_is_made() {
    let machine = Machine::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    machine.refused(&["--no-worker", "--port", &port], &[&format!("port {port} of 127.0.0.1 is in use"), "--port"]);
    assert!(!machine.data().exists());
}

#[test]
fn an_address_of_another_machine_is_refused() {
    let machine = Machine::new();
    machine
        .refused(&["--no-worker", "--host", "192.0.2.1"], &["192.0.2.1 is not an address of this machine", "--host"]);
    assert!(!machine.data().exists());
}

#[test]
fn an_unreachable_database_is_named_without_its_password() {
    let machine = Machine::new();
    let nobody = "postgres://me:secret@127.0.0.1:1/lyceum";
    let said = machine.refused(&["--no-worker", "--database-url", nobody], &["cannot reach the database", "me:***@"]);
    assert!(!said.contains("secret"), "{said}");
    assert!(!machine.data().exists());
}

#[test]
fn a_postgres_that_is_too_old_is_refused_and_nothing_is_made() {
    let machine = Machine::new();
    let binaries = machine.postgres("13.4");
    machine.set("LYCEUM_POSTGRES_BIN", &binaries);
    machine
        .refused(&["--no-worker", "--port", "0"], &["Postgres 13", "too old", "needs 15", "install `postgresql-15`"]);
    assert!(!machine.data().exists());
}

#[test]
fn a_missing_postgres_is_refused_and_nothing_is_made() {
    let machine = Machine::new();
    machine.set("LYCEUM_POSTGRES_BIN", "/nowhere");
    machine.refused(
        &["--no-worker", "--port", "0"],
        &["no Postgres server found in /nowhere", "apt-get install postgresql"],
    );
    assert!(!machine.data().exists());
}

#[test]
fn a_missing_worker_is_refused_and_nothing_is_made() {
    let machine = Machine::new();
    machine.refused(&["--worker", "/nowhere/lyceum-worker"], &["/nowhere/lyceum-worker does not run"]);
    assert!(!machine.data().exists());
}

#[test]
fn a_worker_of_another_release_is_refused_and_nothing_is_made() {
    let machine = Machine::new();
    let worker = machine.worker("0.0.9");
    machine.refused(&["--worker", &worker], &["is lyceum-worker 0.0.9", "install both from one release"]);
    assert!(!machine.data().exists());
}

#[test]
fn a_missing_libtorch_is_refused_and_nothing_is_made() {
    let machine = Machine::new();
    let said = "error while loading shared libraries: libtorch_cpu.so: cannot open shared object file";
    let worker = machine.program("lyceum-worker", &format!("echo '{said}' >&2; exit 127"));
    machine.refused(&["--worker", &worker], &["cannot load libtorch", "script/bootstrap"]);
    assert!(!machine.data().exists());
}

#[test]
fn a_data_folder_of_another_release_is_refused_and_left_alone() {
    let machine = Machine::new();
    fs::create_dir(machine.data()).unwrap();
    fs::write(machine.data().join("format"), "7\n").unwrap();
    machine.refused(&["--no-worker", "--port", "0"], &["has format 7", "reads format 1"]);
    assert_eq!(fs::read_dir(machine.data()).unwrap().count(), 1);
}

#[test]
fn a_folder_of_something_else_is_refused_and_left_alone() {
    let machine = Machine::new();
    fs::create_dir(machine.data()).unwrap();
    fs::write(machine.data().join("thesis.tex"), "").unwrap();
    machine.refused(&["--no-worker", "--port", "0"], &["neither empty nor a data folder of Lyceum"]);
    assert_eq!(fs::read_dir(machine.data()).unwrap().count(), 1);
}

#[test]
fn a_file_in_the_place_of_the_data_folder_is_refused() {
    let machine = Machine::new();
    fs::write(machine.data(), "").unwrap();
    machine.refused(&["--no-worker"], &["is not a folder", "--data"]);
}

#[test]
fn a_data_folder_of_somebody_else_is_refused_and_left_alone() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: only root can give a folder away");
        return;
    }
    let machine = Machine::new();
    fs::create_dir(machine.data()).unwrap();
    std::os::unix::fs::chown(machine.data(), Some(65534), None).unwrap();
    machine.refused(&["--no-worker", "--port", "0"], &["belongs to user nobody", "run as nobody"]);
    assert_eq!(fs::read_dir(machine.data()).unwrap().count(), 0);
}

#[test]
fn a_failed_first_start_leaves_nothing_and_the_settings_alone() {
    let machine = Machine::new();
    fs::create_dir(machine.data()).unwrap();
    fs::write(machine.data().join("lyceum.toml"), "port = 0\nno_worker = true\n").unwrap();
    machine.set("LYCEUM_POSTGRES_BIN", "/nowhere");
    machine.refused(&[], &["no Postgres server found"]);
    assert_eq!(fs::read_dir(machine.data()).unwrap().count(), 1);
}

#[test]
fn flag_before_environment_before_file_before_default() {
    let machine = Machine::new();
    fs::create_dir(machine.data()).unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let in_use = format!("port {port} of");
    fs::write(machine.data().join("lyceum.toml"), format!("port = {port}\nno_worker = true\n")).unwrap();
    machine.refused(&[], &[&in_use]);
    fs::write(machine.data().join("lyceum.toml"), "port = 1\nno_worker = true\n").unwrap();
    machine.set("LYCEUM_PORT", &port);
    machine.refused(&[], &[&in_use]);
    machine.set("LYCEUM_PORT", "1");
    machine.refused(&["--port", &port], &[&in_use]);
}

#[test]
fn faults_in_settings_are_one_line_with_the_cure() {
    let machine = Machine::new();
    fs::create_dir(machine.data()).unwrap();
    let file = machine.data().join("lyceum.toml");
    fs::write(&file, "prot = 1\n").unwrap();
    machine.refused(&[], &["there is no setting `prot`; did you mean `port`?"]);
    fs::write(&file, "port = 99999\n").unwrap();
    machine.refused(&[], &["lyceum.toml", "port"]);
    fs::write(&file, "database_url = \"mysql://me:secret@db/lyceum\"\n").unwrap();
    machine.refused(&[], &["lyceum.toml", "postgres://user:password@host"]);
    fs::remove_file(&file).unwrap();
    machine.refused(&["--config", "/nowhere.toml"], &["cannot read the settings file /nowhere.toml"]);
    machine.refused(&["--log", "=="], &["is not a log filter"]);
}

#[test]
fn a_demo_without_its_preset_is_refused_and_nothing_is_made() {
    let machine = Machine::new();
    let presets = machine.data().with_file_name("presets");
    fs::create_dir(&presets).unwrap();
    let arguments = ["--no-worker", "--demo", "--presets", presets.to_str().unwrap()];
    machine.refused(&arguments, &["there is no preset `demo`", "start without --demo"]);
    assert!(!machine.data().exists());
}

#[test]
fn wrong_flags_name_the_right_ones() {
    let machine = Machine::new();
    let said = machine.wrong(&["--prot", "1"]);
    assert!(said.contains("--prot") && said.contains("--port"), "{said}");
    let said = machine.wrong(&["--port", "99999"]);
    assert!(said.contains("99999 is not in 0..=65535"), "{said}");
    let said = machine.wrong(&["--database-url", "me:secret@db"]);
    assert!(said.contains("postgres://user:password@host"), "{said}");
}

/// Whatever a preset for two cores needs, ships with Lyceum.
#[test]
fn every_preset_of_a_shipped_base_starts_in_an_empty_lab() {
    let machine = Machine::new();
    let mut up = machine.up(&["--no-worker"]);
    let presets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/runs");
    let mut started = Vec::new();
    for path in fs::read_dir(presets).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let preset: toml::Value = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let populations = preset["populations"].as_table().unwrap();
        let is_shipped = |population: &toml::Value| {
            let base = population["base_model"]["name"].as_str().unwrap();
            base.starts_with("seedling")
        };
        if populations.values().all(is_shipped) {
            let name = path.file_stem().unwrap().to_str().unwrap();
            let created = std::process::Command::new(env!("CARGO_BIN_EXE_lyceum"))
                .arg("--data")
                .arg(machine.data())
                .args(["run", "create", "--preset", name])
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&created.stderr).into_owned();
            assert!(created.status.success(), "{name}: {said}");
            started.push(name.to_owned());
        }
    }
    assert!(started.iter().any(|name| name == "gasp-seedling"), "{started:?}");
    up.stop(Signal::SIGTERM);
}
