//! The native libraries, as data: where each comes from, what it must hash to, what is kept of it, whom to thank.
//!
//! All numbers were taken with `sha256sum`, `unzip` and `stat` from the wheels on the package index, not by this program.

use std::path::PathBuf;

/// A native library that an environment needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Package {
    /// The games of Procgen (Cobbe et al. 2020), with their pictures.
    Procgen,
    /// The physics of MuJoCo (Todorov et al. 2012).
    Mujoco,
}

impl Package {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Procgen, Self::Mujoco];

    /// Its name, for us and for pip.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The only version that gives our numbers.
    pub fn version(self) -> &'static str {
        self.info().version
    }

    /// The package of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|package| package.name() == name)
    }

    /// Everything known about it.
    pub fn info(self) -> &'static PackageInfo {
        match self {
            Self::Procgen => &PROCGEN,
            Self::Mujoco => &MUJOCO,
        }
    }
}

/// What is known about a package before it is fetched.
#[derive(Clone, Debug)]
pub struct PackageInfo {
    /// Its name, for us and for pip.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The file that pip fetches.
    pub wheel: Wheel,
    /// The shared library: its name in our folder, and what it hashes to.
    pub library: &'static str,
    /// SHA-256 of the library.
    pub library_sha256: &'static str,
    /// What is unpacked.
    pub members: &'static [Member],
    /// How many bytes the unpacked files have together.
    pub bytes: u64,
    /// SHA-256 of the list of their hashes, the file `SHA256SUMS`.
    pub sums_sha256: &'static str,
    /// The environment variable that names a folder with another copy.
    pub variable: &'static str,
    /// Libraries of the system that it loads, and where systems keep them: start of the file name, advice.
    pub needs: &'static [(&'static str, &'static str)],
    /// Licence and credits, printed after installation and kept beside the files.
    pub credits: &'static str,
}

/// A wheel: a zip file that is named by package, version, Python and platform.
#[derive(Clone, Debug)]
pub struct Wheel {
    /// Its file name.
    pub file: &'static str,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: &'static str,
    /// The Python it is made for. The libraries do not use Python, so one choice serves everybody.
    pub python: &'static str,
    /// The platform it is made for.
    pub platform: &'static str,
}

/// What is taken out of a wheel, and where it goes.
#[derive(Clone, Copy, Debug)]
pub enum Member {
    /// A file.
    File(&'static str, &'static str),
    /// All PNG pictures below a folder; both names end with a slash.
    Pictures(&'static str, &'static str),
}

impl PackageInfo {
    /// The arguments with which any pip, of any Python on any platform, fetches the wheel.
    pub fn pip_arguments(&self) -> Vec<String> {
        let (python, platform) = (self.wheel.python, self.wheel.platform);
        let fixed = ["download", "--no-deps", "--only-binary=:all:", "--python-version", python];
        let mut arguments: Vec<String> = fixed.map(str::to_owned).into();
        arguments.extend(["--implementation", "cp", "--platform", platform].map(str::to_owned));
        arguments.push(format!("{}=={}", self.name, self.version));
        arguments
    }

    /// The folder with another copy, if the user names one.
    pub fn other_folder(&self) -> Option<PathBuf> {
        std::env::var_os(self.variable).filter(|folder| !folder.is_empty()).map(PathBuf::from)
    }
}

/// Libraries of GLib, without which Procgen cannot be loaded.
const GLIB: &str = "`apt-get install libglib2.0-0` on Debian and Ubuntu, `dnf install glib2` on Fedora, \
                    `pacman -S glib2` on Arch";
/// The compression library, which Procgen uses for its pictures.
const ZLIB: &str = "`apt-get install zlib1g` on Debian and Ubuntu, `dnf install zlib` on Fedora, \
                    `pacman -S zlib` on Arch";
/// The run-time library of C++.
const CXX: &str = "`apt-get install libstdc++6` on Debian and Ubuntu, `dnf install libstdc++` on Fedora, \
                   `pacman -S gcc-libs` on Arch";

static PROCGEN: PackageInfo = PackageInfo {
    name: "procgen",
    version: "0.10.7",
    wheel: Wheel {
        file: "procgen-0.10.7-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        bytes: 36_395_959,
        sha256: "4b594d14e42f0f2166e59a9e294477b906eb99c90c3343b570b7124cbc865f53",
        python: "310",
        platform: "manylinux2014_x86_64",
    },
    library: "libenv.so",
    library_sha256: "f44786431a902e9ae1a32cd44f4aa650f4bdad893240a322e49e6098d6a7a2ea",
    members: &[
        Member::File("procgen/data/prebuilt/libenv.so", "libenv.so"),
        Member::Pictures("procgen/data/assets/", "assets/"),
        Member::File("procgen-0.10.7.dist-info/LICENSE", "LICENSE"),
    ],
    bytes: 54_205_391,
    sums_sha256: "a5a14397a81018c121972a4e201ad3c321c4fb217dc4e2d59b06b925622c4862",
    variable: "IVE_PROCGEN",
    needs: &[("libglib", GLIB), ("libgthread", GLIB), ("libz.", ZLIB), ("libstdc++", CXX), ("libgcc_s", CXX)],
    credits: "\
Procgen: Karl Cobbe, Christopher Hesse, Jacob Hilton, John Schulman (OpenAI), 2019. MIT licence, see LICENSE.
If you use it, cite: Cobbe, Hesse, Hilton, Schulman, Leveraging Procedural Generation to Benchmark Reinforcement Learning, ICML 2020.

The pictures are by others. Whoever shows them to the public names these authors:
  CC BY 4.0    ansimuz (mountain dusk and forest backgrounds), GameArtGuppy.com (frog)
  CC BY 3.0    Alucard (2D background set, underwater background), davis123 (top-down backgrounds),
               SugarMoonWitch (underwater background)
  OGA-BY 3.0   CraftPix.net 2D Game Assets (parallax, fantasy cartoon and beach backgrounds)
These gave theirs to everybody (CC0): Kenney, ansimuz (space, science fiction, spaceship, Sunny Land), lzubiaur, Nidhoggn, ramses2099,
  Rawdanitsu, rh0, rubberduck, tgfcoder, thekingphoenix.
",
};

static MUJOCO: PackageInfo = PackageInfo {
    name: "mujoco",
    version: "3.17.0",
    wheel: Wheel {
        file: "mujoco-3.17.0-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
        bytes: 26_482_984,
        sha256: "d66928d86a2d1b601bbaa4dc11db50214d17d5301bb8afd84721313b67ff0874",
        python: "311",
        platform: "manylinux_2_28_x86_64",
    },
    library: "libmujoco.so.3.17.0",
    library_sha256: "23496b023ee80fb61ab71167e94bc649f9941710fde96b18bb8204fb332523ad",
    members: &[
        Member::File("mujoco/libmujoco.so.3.17.0", "libmujoco.so.3.17.0"),
        Member::File("mujoco-3.17.0.dist-info/licenses/LICENSE", "LICENSE"),
        Member::File("mujoco-3.17.0.dist-info/licenses/LICENSES_THIRD_PARTY.md", "LICENSES_THIRD_PARTY.md"),
    ],
    bytes: 7_491_785,
    sums_sha256: "f1591a9c0164445d7fcc0b261c2bff753aa98f5df1353e0f79b627cbb7cbc0c9",
    variable: "IVE_MUJOCO",
    needs: &[],
    credits: "\
MuJoCo: Emanuel Todorov and the MuJoCo developers (Google DeepMind). Apache licence 2.0, see LICENSE; parts by others, see
LICENSES_THIRD_PARTY.md.
If you use it, cite: Todorov, Erez, Tassa, MuJoCo: A physics engine for model-based control, IROS 2012.
",
};
