//! Build script that passes the Cargo profile to the crate and, if the feature `python` is enabled, the version of Python that the
//! binding is compiled for.

use std::{env, path::PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // PROFILE is "release" for every profile that inherits from it; the folder has the name of the profile itself.
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let profile =
        output.ancestors().nth(3).and_then(|folder| folder.file_name()).expect("OUT_DIR is below the profile");
    println!("cargo::rustc-env=ASSIGNOR_PROFILE_FOLDER={}", profile.display());
    #[cfg(feature = "python")]
    pyo3_build_config::use_pyo3_cfgs();
}
