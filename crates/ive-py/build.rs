//! What the linker of macOS must be told about symbols that Python brings along; nothing elsewhere.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
