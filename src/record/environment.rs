//! The column `environment`: variables that drivers, layers and the loader read. Rows get published, and a path has its user's name in
//! it: so files are named without their folders.

/// Variables as the column has them.
pub fn environment(variables: impl IntoIterator<Item = (String, String)>) -> String {
    let mut found: Vec<String> = variables.into_iter().map(|(name, value)| format!("{name}={}", file_names(&value))).collect();
    found.sort_unstable();
    found.join(";")
}

/// The same for a cell that still has folders.
pub(super) fn without_folders(cell: &str) -> String {
    let named = |part: &str| match part.split_once('=') {
        Some((name, value)) => format!("{name}={}", file_names(value)),
        None => file_names(part),
    };
    cell.split(';').map(named).collect::<Vec<_>>().join(";")
}

/// What stands for a path that names no file: a folder of a user's may bear the user's name.
const FOLDER: &str = "(folder)";

/// A value with its paths cut down to the files that they name. Lists of paths are joined by `:`, whatever the system: in the column, `;`
/// stands between variables.
fn file_names(value: &str) -> String {
    // A Windows path has a colon of its own.
    let has_drives = value.contains('\\') || value.split([';', ',']).any(|part| part.get(1..3) == Some(":/"));
    let between = if has_drives { ';' } else { ':' };
    let paths = |part: &str| part.split([between, ';']).map(file_name).collect::<Vec<_>>().join(":");
    value.split(',').map(paths).collect::<Vec<_>>().join(",")
}

/// The file that a path names. What is no path stays as it is.
fn file_name(path: &str) -> &str {
    let separators = ['/', '\\'];
    if !path.contains(separators) {
        return path;
    }
    let last = path.trim_end_matches(separators).rsplit(separators).next().unwrap_or_default();
    if last.contains('.') { last } else { FOLDER }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(value: &str) -> String {
        environment([("VK_DRIVER_FILES".to_owned(), value.to_owned())])
    }

    #[test]
    fn a_path_is_its_last_part() {
        assert_eq!(cell("/home/ann/drivers/lvp_icd.json"), "VK_DRIVER_FILES=lvp_icd.json");
        assert_eq!(cell("/home/ann/a.json:b.json:/opt/drivers/"), "VK_DRIVER_FILES=a.json:b.json:(folder)");
        assert_eq!(cell(r"C:\Users\ann\a.json;D:\b.json"), "VK_DRIVER_FILES=a.json:b.json");
        assert_eq!(cell("nodcc,llvm"), "VK_DRIVER_FILES=nodcc,llvm");
        assert_eq!(cell("/home/ann"), "VK_DRIVER_FILES=(folder)");
        assert_eq!(cell("C:/Users/ann/x.log"), "VK_DRIVER_FILES=x.log");
        assert_eq!(cell("print,/home/ann/x.log,all"), "VK_DRIVER_FILES=print,x.log,all");
        assert_eq!(cell(""), "VK_DRIVER_FILES=");
    }

    #[test]
    fn variables_are_sorted_and_a_cell_can_be_cut_again() {
        let variables = [("B", "/x/y.z"), ("A", "1")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let cell = environment(variables);
        assert_eq!(cell, "A=1;B=y.z");
        assert_eq!(without_folders(&cell), cell);
        assert_eq!(without_folders("A=1;B=/home/ann/y.a:/home/ann/z;C"), "A=1;B=y.a:(folder);C");
        assert_eq!(without_folders(""), "");
    }
}
