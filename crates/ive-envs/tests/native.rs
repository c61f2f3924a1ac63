//! Native libraries are installed completely or not at all, whatever happens on the way.
//!
//! Most tests install a package of three small files, with a shell script in place of pip: they need no network. The last one
//! takes the true packages through the true pip. Hashes are computed here, from the bytes that the tests make.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use std::fs;
use std::io::{Cursor, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ive_envs::native::{
    self, Installed, Member, NativeError, Package, PackageInfo, Pip, Problem, Progress, Store, Wheel,
};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const LIBRARY: &[u8] = b"not really a library";
const PICTURE: &[u8] = b"not really a picture";
const LICENCE: &[u8] = b"do what you like";

/// The members of a good wheel: three that are kept, two that are not.
const GOOD: [(&str, &[u8]); 5] = [
    ("demo/__init__.py", b"import this"),
    ("demo/libdemo.so", LIBRARY),
    ("demo/data/a/ .png", PICTURE),
    ("demo/data/a/notes.txt", b"not a picture"),
    ("demo-1.0.dist-info/LICENSE", LICENCE),
];

fn sha256(bytes: &[u8]) -> &'static str {
    let text: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    text.leak()
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A store in a directory of its own, a package, and the wheel that the pretended pip hands out.
struct Demo {
    root: TempDir,
    store: Store,
    info: PackageInfo,
}

impl Demo {
    /// The package is the one of [`GOOD`], except that this wheel passes for its wheel.
    fn new(wheel: &[u8]) -> Self {
        let root = TempDir::new().unwrap();
        let info = PackageInfo {
            name: "demo",
            version: "1.0",
            wheel: Wheel {
                file: "demo-1.0-py3-none-any.whl",
                bytes: wheel.len() as u64,
                sha256: sha256(wheel),
                python: "310",
                platform: "any",
            },
            library: "libdemo.so",
            library_sha256: sha256(LIBRARY),
            members: &[
                Member::File("demo/libdemo.so", "libdemo.so"),
                Member::Pictures("demo/data/", "data/"),
                Member::File("demo-1.0.dist-info/LICENSE", "LICENSE"),
            ],
            bytes: (LIBRARY.len() + PICTURE.len() + LICENCE.len()) as u64,
            sums_sha256: sha256(Self::sums().as_bytes()),
            variable: "IVE_DEMO",
            needs: &[],
            credits: "Thanks to nobody.\n",
        };
        fs::write(root.path().join(info.wheel.file), wheel).unwrap();
        let store = Store { home: root.path().join("home"), pip: Pip::default() };
        let mut demo = Self { root, store, info };
        demo.pip("cp \"$root/demo-1.0-py3-none-any.whl\" \"$dest\"");
        demo
    }

    fn good() -> Self {
        Self::new(&zip(&GOOD))
    }

    /// As `LC_ALL=C sort` puts the lines of `sha256sum` by name.
    fn sums() -> String {
        let line = |name, bytes| format!("{}  {name}\n", sha256(bytes));
        [line("LICENSE", LICENCE), line("data/a/ .png", PICTURE), line("libdemo.so", LIBRARY)].concat()
    }

    /// Puts a shell script in pip's place. It finds `$dest`, where the wheel should go, and `$root`, the test's directory, and
    /// every call is a line in the file `calls`.
    fn pip(&mut self, body: &str) {
        let root = self.root.path().display();
        let script = format!(
            "[ \"$1\" = --version ] && exit 0\nroot='{root}'\necho \"$@\" >> \"$root/calls\"\n\
             while [ $# -gt 0 ]; do [ \"$1\" = --dest ] && dest=$2; shift; done\n{body}\n"
        );
        let path = self.root.path().join("pip.sh");
        fs::write(&path, script).unwrap();
        // By way of the shell: a file that was just written may not be executable yet, while other threads start processes.
        self.store.pip =
            Pip { commands: vec![vec!["/bin/sh".into(), path.into()]], patience: Duration::from_secs(20) };
    }

    fn calls(&self) -> usize {
        fs::read_to_string(self.root.path().join("calls")).map_or(0, |calls| calls.lines().count())
    }

    fn shelf(&self) -> PathBuf {
        self.store.home.join("native")
    }

    fn provide(&self) -> Result<Installed, NativeError> {
        self.store.provide(&self.info, &mut |_| ControlFlow::Continue(()))
    }

    fn setup(&self) -> Result<Installed, NativeError> {
        self.store.setup(&self.info, None, &mut |_| ControlFlow::Continue(()))
    }

    /// Providing fails, says how to do it by hand, and leaves nothing but the lock file.
    fn fails(&self) -> NativeError {
        let error = self.provide().unwrap_err();
        let commands = "  pip download --no-deps --only-binary=:all: --python-version 310 --implementation cp \
                        --platform any demo==1.0\n  ive setup demo --wheel demo-1.0-py3-none-any.whl";
        assert!(error.to_string().ends_with(commands), "{error}");
        assert_eq!(names(&self.shelf()), [".demo-1.0.lock"]);
        assert_eq!(self.store.installed(&self.info).unwrap(), None);
        error
    }
}

/// What is in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_package_is_fetched_once_and_found_ever_after() {
    let demo = Demo::good();
    assert_eq!(demo.store.installed(&demo.info).unwrap(), None);
    let mut seen = Vec::new();
    let found = demo.store.provide(&demo.info, &mut |progress| {
        seen.push(progress);
        ControlFlow::Continue(())
    });
    let found = found.unwrap();
    let folder = demo.shelf().join("demo-1.0");
    assert_eq!(found, Installed { library: folder.join("libdemo.so"), folder: folder.clone(), exact: true });
    assert_eq!(names(&folder), ["CREDITS.txt", "LICENSE", "SHA256SUMS", "data", "libdemo.so"]);
    assert_eq!(names(&folder.join("data/a")), [" .png"]);
    assert_eq!(fs::read(&found.library).unwrap(), LIBRARY);
    assert_eq!(fs::read_to_string(folder.join("SHA256SUMS")).unwrap(), Demo::sums());
    let credits = fs::read_to_string(folder.join("CREDITS.txt")).unwrap();
    assert!(credits.starts_with("demo 1.0, from demo-1.0-py3-none-any.whl (SHA-256 "), "{credits}");
    assert!(credits.ends_with("Thanks to nobody.\n"), "{credits}");
    assert!(seen.contains(&Progress::Checking) && seen.contains(&Progress::Unpacking { files: 5, of: 5 }));

    assert_eq!(demo.provide().unwrap(), found);
    assert_eq!(demo.setup().unwrap(), found);
    assert_eq!(demo.store.installed(&demo.info).unwrap(), Some(found.clone()));
    assert_eq!(demo.store.check(&demo.info).unwrap(), Some(found));
    assert_eq!(demo.calls(), 1);
    assert_eq!(names(&demo.shelf()), [".demo-1.0.lock", "demo-1.0"]);
    // Whoever prefers coreutils gets the same answer.
    let check = Command::new("sha256sum").args(["-c", "SHA256SUMS"]).current_dir(&folder).output().unwrap();
    assert!(check.status.success(), "{check:?}");
}

#[test]
fn a_wheel_on_disk_is_installed_without_pip() {
    let mut demo = Demo::good();
    demo.pip("exit 1");
    let wheel = demo.root.path().join(demo.info.wheel.file);
    let install =
        |wheel: &Path| demo.store.setup(&demo.info, Some(wheel), &mut |_| ControlFlow::Continue(()));
    install(&wheel).unwrap();
    assert_eq!(demo.calls(), 0);
    assert!(demo.store.check(&demo.info).unwrap().is_some());
    assert!(wheel.exists());
    // A bad one is refused, is not touched, and does not harm what is there.
    let bad = demo.root.path().join("bad.whl");
    fs::write(&bad, b"something else").unwrap();
    assert!(matches!(install(&bad).unwrap_err().problem, Problem::Hash { .. }));
    assert!(matches!(install(&demo.root.path().join("none.whl")).unwrap_err().problem, Problem::Io { .. }));
    assert!(bad.exists());
    assert!(demo.store.check(&demo.info).unwrap().is_some());
}

/// A library of the right size is not enough: its constructors would run before anybody looked.
#[test]
fn a_library_of_the_same_size_is_not_loaded() {
    let demo = Demo::good();
    let library = demo.provide().unwrap().library;
    fs::write(&library, vec![b'x'; LIBRARY.len()]).unwrap();
    let error = demo.provide().unwrap_err();
    assert!(matches!(error.problem, Problem::Damaged { .. }), "{error}");
}

#[test]
fn a_store_that_others_can_write_to_is_warned_of() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let demo = Demo::good();
    let found = demo.provide().unwrap();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for place in [&demo.store.home, &demo.shelf(), &found.folder, &found.library] {
        mode(place, 0o755);
    }
    assert_eq!(native::others_can_write(&found), None);
    for place in [&demo.store.home, &demo.shelf(), &found.folder, &found.library] {
        mode(place, 0o777);
        let warning = native::others_can_write(&found).unwrap();
        assert!(warning.contains(&format!("other users can write to {}", place.display())), "{warning}");
        mode(place, 0o755);
    }
    // Only an administrator can give a file away.
    if chown(&found.library, Some(4711), Some(4711)).is_ok() {
        assert!(native::others_can_write(&found).is_some());
    }
}

/// A device has no end, and a pipe without a writer never begins.
#[test]
fn what_is_read_of_a_wheel_is_bounded() {
    let demo = Demo::good();
    let setup = |wheel: &Path| {
        let error = demo.store.setup(&demo.info, Some(wheel), &mut |_| ControlFlow::Continue(()));
        error.unwrap_err().to_string()
    };
    assert!(setup(Path::new("/dev/zero")).contains("it is not a regular file"));
    let pipe = demo.root.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(setup(&pipe).contains("it is not a regular file"));
    let long = demo.root.path().join("long.whl");
    fs::File::create(&long).unwrap().set_len(1 << 40).unwrap();
    assert!(setup(&long).contains("it has 1099511627776 bytes"));
    assert_eq!(names(&demo.shelf()), [".demo-1.0.lock"]);
}

/// `python3 -m pip` would take a `pip.py` in its working directory for pip.
#[test]
fn pip_works_in_the_download_folder_not_in_that_of_the_user() {
    let mut demo = Demo::good();
    demo.pip("pwd > \"$root/where\"; cp \"$root/demo-1.0-py3-none-any.whl\" \"$dest\"");
    demo.provide().unwrap();
    let place = fs::read_to_string(demo.root.path().join("where")).unwrap();
    let download = demo.shelf().join(format!(".demo-1.0.tmp/download-{}", std::process::id()));
    assert_eq!(place.trim(), download.to_str().unwrap());
}

#[test]
fn a_wheel_with_another_hash_is_refused() {
    let mut demo = Demo::good();
    demo.pip("echo changed > \"$dest/demo-1.0-py3-none-any.whl\"");
    let Problem::Hash { file, expected, got } = demo.fails().problem else { panic!("not the hash") };
    assert!(file.ends_with("demo-1.0-py3-none-any.whl"), "{file}");
    assert_eq!((expected.as_str(), got.as_str()), (demo.info.wheel.sha256, sha256(b"changed\n")));
}

#[test]
fn a_wheel_that_was_cut_short_is_refused() {
    let mut demo = Demo::good();
    demo.pip("head -c 100 \"$root/demo-1.0-py3-none-any.whl\" > \"$dest/demo-1.0-py3-none-any.whl\"");
    assert!(matches!(demo.fails().problem, Problem::Hash { .. }));
    // Even if its hash were right.
    let whole = zip(&GOOD);
    assert!(matches!(Demo::new(&whole[..100]).fails().problem, Problem::Wheel { .. }));
}

#[test]
fn a_wheel_with_other_contents_is_refused() {
    let without: Vec<_> = GOOD.into_iter().filter(|(name, _)| *name != "demo/libdemo.so").collect();
    assert!(matches!(Demo::new(&zip(&without)).fails().problem, Problem::Wheel { .. }));
    let mut other = GOOD;
    other[1].1 = b"another library";
    let Problem::Hash { file, .. } = Demo::new(&zip(&other)).fails().problem else { panic!("not the hash") };
    assert_eq!(file, "libdemo.so");
    let mut other = GOOD;
    other[2].1 = b"another picture";
    let Problem::Hash { file, .. } = Demo::new(&zip(&other)).fails().problem else { panic!("not the hash") };
    assert!(file.starts_with("the list of files"), "{file}");
}

#[test]
fn names_that_lead_out_of_the_folder_are_refused() {
    for name in ["../evil.png", "demo/data/../../../evil.png", "/evil.png", "demo\\..\\evil.png"] {
        let mut members = GOOD.to_vec();
        members.push((name, b"evil"));
        let demo = Demo::new(&zip(&members));
        let Problem::Wheel { reason, .. } = demo.fails().problem else { panic!("{name} was not refused") };
        assert!(reason.contains("outside"), "{reason}");
        assert_eq!(names(demo.root.path()), ["calls", "demo-1.0-py3-none-any.whl", "home", "pip.sh"]);
    }
}

#[test]
fn without_pip_the_user_is_told() {
    let mut demo = Demo::good();
    demo.store.pip.commands =
        vec![vec!["/no/such/python3".into(), "-m".into(), "pip".into()], vec!["/bin/false".into()]];
    let error = demo.fails();
    assert!(matches!(error.problem, Problem::NoPip { .. }));
    assert!(error.to_string().contains("none of `/no/such/python3 -m pip`, `/bin/false` works"), "{error}");
}

#[test]
fn the_first_pip_that_works_is_used() {
    let mut demo = Demo::good();
    demo.store.pip.commands.splice(0..0, [vec!["/no/such/python3".into()], vec!["/bin/false".into()]]);
    demo.provide().unwrap();
    assert_eq!(demo.calls(), 1);
}

#[test]
fn failures_of_pip_are_told_apart() {
    let broken = "echo \"WARNING: Retrying after connection broken by 'NewConnectionError'\" >&2";
    let none = "echo 'ERROR: No matching distribution found for demo==1.0' >&2; exit 1";
    let mut demo = Demo::good();
    let mut problem_of = |body: &str| {
        demo.pip(body);
        demo.fails().problem
    };
    assert!(matches!(problem_of(&format!("{broken}\n{none}")), Problem::Network { .. }));
    assert!(matches!(problem_of(none), Problem::NotInIndex { .. }));
    assert!(matches!(problem_of("exit 0"), Problem::Pip { .. }));
    let Problem::Pip { said } = problem_of("echo 'a bug'; exit 2") else { panic!("not pip") };
    assert_eq!(said, "  a bug");
    let Problem::NoSpace { folder, .. } =
        problem_of("touch \"$dest/part\"; echo 'OSError: [Errno 28] No space left on device' >&2; exit 1")
    else {
        panic!("not the space")
    };
    assert!(folder.ends_with("home/native"), "{}", folder.display());
}

#[test]
fn a_pip_that_hangs_is_stopped() {
    let mut demo = Demo::good();
    demo.pip("echo waiting for godot; exec sleep 60");
    demo.store.pip.patience = Duration::from_millis(300);
    let start = Instant::now();
    let Problem::Stalled { said, .. } = demo.fails().problem else { panic!("not stalled") };
    assert_eq!(said, "  waiting for godot");
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn whoever_watches_may_stop_it() {
    let mut demo = Demo::good();
    demo.pip("exec sleep 60");
    let start = Instant::now();
    let error = demo.store.provide(&demo.info, &mut |_| ControlFlow::Break(())).unwrap_err();
    assert!(matches!(error.problem, Problem::Interrupted), "{error}");
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(names(&demo.shelf()), [".demo-1.0.lock"]);
}

#[test]
fn of_many_at_once_one_fetches_and_the_others_wait() {
    let mut demo = Demo::good();
    demo.pip("sleep 1; cp \"$root/demo-1.0-py3-none-any.whl\" \"$dest\"");
    let waited = AtomicUsize::new(0);
    let one = || {
        let mut waits = false;
        let found = demo.store.provide(&demo.info, &mut |progress| {
            waits |= progress == Progress::Waiting;
            ControlFlow::Continue(())
        });
        waited.fetch_add(waits.into(), Ordering::Relaxed);
        found.unwrap()
    };
    let found = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(found.iter().all(|one| *one == found[0]));
    assert_eq!((demo.calls(), waited.into_inner()), (1, 3));
}

#[test]
fn what_a_killed_process_left_is_removed() {
    let demo = Demo::good();
    let left = demo.shelf().join(".demo-1.0.tmp/unpacked/data");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("half.png"), b"half").unwrap();
    fs::write(demo.shelf().join(".demo-1.0.lock"), b"").unwrap();
    assert_eq!(demo.store.installed(&demo.info).unwrap(), None);
    demo.provide().unwrap();
    assert_eq!(names(&demo.shelf()), [".demo-1.0.lock", "demo-1.0"]);
    assert!(demo.store.check(&demo.info).unwrap().is_some());
}

#[test]
fn damage_is_told_and_repaired_by_setup_only() {
    let demo = Demo::good();
    let library = demo.provide().unwrap().library;
    let folder = demo.store.folder(&demo.info);
    let mut flipped = LIBRARY.to_vec();
    flipped[7] ^= 1;
    let mut picture = PICTURE.to_vec();
    picture[7] ^= 1;
    // What is done, what the thorough check says of it, and whether the quick one sees it too.
    let cases: [(&dyn Fn(), &str, bool); 6] = [
        (&|| fs::write(&library, &flipped).unwrap(), "libdemo.so has the SHA-256", true),
        (
            &|| fs::write(folder.join("data/a/ .png"), &picture).unwrap(),
            "data/a/ .png has the SHA-256",
            false,
        ),
        (&|| fs::write(&library, b"cut").unwrap(), "libdemo.so has the SHA-256", true),
        (&|| fs::remove_file(&library).unwrap(), "libdemo.so is missing", true),
        (&|| fs::remove_dir_all(folder.join("data")).unwrap(), "data/a/ .png is missing", true),
        (&|| fs::write(folder.join("SHA256SUMS"), b"x").unwrap(), "not the list of demo 1.0", true),
    ];
    for (number, (harm, says, seen_at_once)) in cases.into_iter().enumerate() {
        harm();
        let error = demo.store.check(&demo.info).unwrap_err().to_string();
        assert!(error.contains(says) && error.ends_with("`ive setup demo` repairs it"), "{error}");
        assert_eq!(demo.store.installed(&demo.info).is_err(), seen_at_once, "{says}");
        assert_eq!(demo.provide().is_err(), seen_at_once, "{says}");
        demo.setup().unwrap();
        assert!(demo.store.check(&demo.info).unwrap().is_some());
        assert_eq!(demo.calls(), number + 2);
    }
    assert_eq!(names(&demo.shelf()), [".demo-1.0.lock", "demo-1.0"]);
}

/// A disk of 64 kB, in a name space of its own, where this test calls itself. Where the system does not allow that, the
/// pretended pip that finds no space must do.
#[test]
fn a_full_disk_leaves_nothing_half_made() {
    let noise: Vec<u8> = (0..100_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut members = GOOD;
    members[2].1 = &noise;
    let mut demo = Demo::new(&zip(&members));
    if let Some(home) = std::env::var_os("IVE_TEST_SMALL_DISK") {
        demo.store.home = home.into();
        // Stored under the same name on the small disk, the wheel would already be too large: take it from here.
        let wheel = demo.root.path().join(demo.info.wheel.file);
        let error =
            demo.store.setup(&demo.info, Some(&wheel), &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(matches!(error.problem, Problem::NoSpace { .. }), "{error}");
        assert_eq!(names(&demo.shelf()), [".demo-1.0.lock"]);
        // And the same while pip is at work, whose words are those of the system.
        let Problem::NoSpace { .. } = demo.fails().problem else { panic!("not the space") };
        return;
    }
    let disk = demo.root.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let this = std::env::current_exe().unwrap();
    let inside = "mount -t tmpfs -o size=64k none \"$1\" || exit 99; exec \"$2\" --exact \"$3\"";
    let run = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", inside, "sh"])
        .args([disk.as_os_str(), this.as_os_str(), "a_full_disk_leaves_nothing_half_made".as_ref()])
        .env("IVE_TEST_SMALL_DISK", &disk)
        .env("TMPDIR", demo.root.path())
        .output();
    match run {
        Ok(run) if run.status.success() => {
            assert!(String::from_utf8_lossy(&run.stdout).contains("1 passed"), "{run:?}");
        }
        Ok(run) if run.status.code() == Some(101) => panic!("{run:?}"),
        other => eprintln!("skipped: no small disk can be mounted here: {other:?}"),
    }
}

#[test]
fn another_copy_is_taken_where_the_user_says() {
    let demo = Demo::good();
    let folder = demo.root.path().join("site-packages/demo");
    let copy = || native::other_copy(&demo.info, &folder);
    let problem = copy().unwrap_err().to_string();
    assert!(problem.starts_with("IVE_DEMO is ") && problem.contains("no libdemo.so"), "{problem}");
    fs::create_dir_all(folder.join("prebuilt")).unwrap();
    fs::write(folder.join("prebuilt/libdemo.so.2"), b"another version").unwrap();
    assert!(copy().unwrap_err().to_string().contains("no folder data/"));
    fs::create_dir(folder.join("data")).unwrap();
    let library = folder.join("prebuilt/libdemo.so.2");
    assert_eq!(copy().unwrap(), Installed { folder: folder.clone(), library, exact: false });
    fs::write(folder.join("libdemo.so"), LIBRARY).unwrap();
    let library = folder.join("libdemo.so");
    assert_eq!(copy().unwrap(), Installed { folder: folder.clone(), library, exact: true });
}

/// The true packages, through the true pip on a fresh machine. Sizes and numbers of files are those of `unzip -l`.
#[test]
fn the_true_packages_are_whole() {
    for (package, pictures, bytes) in [(Package::Procgen, 1288, 28_340_568), (Package::Mujoco, 0, 7_252_544)]
    {
        let Some(found) = native::for_tests(package) else { continue };
        if package.info().other_folder().is_some() {
            // The user's own copy, which may be anything.
            continue;
        }
        assert_eq!(count_pictures(&found.folder), pictures);
        assert_eq!(fs::metadata(&found.library).unwrap().len(), bytes);
        assert_eq!(Store::of_user().unwrap().check(package.info()).unwrap(), Some(found));
    }
}

fn count_pictures(folder: &Path) -> usize {
    let count = |path: PathBuf| {
        if path.is_dir() {
            return count_pictures(&path);
        }
        path.extension().is_some_and(|end| end == "png").into()
    };
    fs::read_dir(folder).unwrap().map(|entry| count(entry.unwrap().path())).sum()
}
