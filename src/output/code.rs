//! What drivers show of their code: a file for each case, in a folder.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::model::{Case, DeviceInfo, Executable, PipelineStatistics};
use crate::record::Record;
use crate::regular;

/// As many digits of a device's and a driver's UUID as keep those of one run apart.
const DIGITS: usize = 8;

/// A folder of code. Files of an earlier run's case that is measured again are replaced; others are left.
#[derive(Debug)]
pub struct CodeFolder {
    path: PathBuf,
    is_empty: bool,
}

impl CodeFolder {
    /// Creates the folder where there is none.
    ///
    /// # Errors
    /// [`Error::Output`] where that can't be done.
    pub fn create(path: &Path) -> Result<Self, Error> {
        regular::folder(path).map_err(Error::unwritable(path))?;
        Ok(Self { path: path.to_owned(), is_empty: true })
    }

    /// Whether nothing was written so far.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the code of a row's case, where the driver shows any, to a file named after the row's experiment, variant, `case_id`,
    /// device and driver.
    ///
    /// # Errors
    /// [`Error::Output`] where it can't be written.
    pub fn write(&mut self, row: &Record, case: &Case, kernels: &[PipelineStatistics]) -> Result<(), Error> {
        if kernels.iter().flat_map(|kernel| &kernel.executables).all(|executable| executable.representations.is_empty()) {
            return Ok(());
        }
        let path = self.path.join(file_name(row));
        regular::overwrite(&path, text(row, case, kernels).as_bytes()).map_err(Error::unwritable(&path))?;
        self.is_empty = false;
        Ok(())
    }
}

impl CodeFolder {
    /// Writes the code of a pipeline that is of no row, where the driver shows any: the file's name ends with device and driver, as
    /// those of rows do, after the device's name: devices that aren't there, for which some drivers compile, differ in nothing else.
    /// Gives the file.
    ///
    /// # Errors
    /// [`Error::Output`] where it can't be written.
    pub fn write_pipeline(
        &mut self,
        name: &str,
        head: &str,
        device: &DeviceInfo,
        pipeline: &PipelineStatistics,
    ) -> Result<Option<PathBuf>, Error> {
        if pipeline.executables.iter().all(|executable| executable.representations.is_empty()) {
            return Ok(None);
        }
        let ids =
            [device.device_uuid, device.driver.uuid].map(|uuid| uuid.to_string().chars().take(DIGITS).collect::<String>());
        let path = self.path.join(format!("{}-{}-{}.txt", slug(name), slug(&device.name), ids.join("-")));
        let mut text = String::new();
        line(&mut text, &format!("# {head}"));
        line(&mut text, &format!("# {}, {} {}", device.name, device.driver.name, device.driver.version));
        pipeline.executables.iter().for_each(|executable| show(&mut text, name, executable));
        regular::overwrite(&path, text.as_bytes()).map_err(Error::unwritable(&path))?;
        self.is_empty = false;
        Ok(Some(path))
    }
}

/// A name as a part of a file's: what file systems or shells may take amiss is a hyphen.
fn slug(name: &str) -> String {
    let words = name.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

fn file_name(row: &Record) -> String {
    case_file([&row.experiment, &row.variant, &row.case_id, &row.device_uuid, &row.driver_uuid], ".txt")
}

/// The name of a case's file: after its experiment, variant, `case_id`, device and driver.
pub(super) fn case_file([experiment, variant, case_id, device, driver]: [&str; 5], end: &str) -> String {
    let ids = [device, driver].map(|uuid| uuid.chars().take(DIGITS).collect::<String>());
    let name = [experiment, variant, case_id].into_iter().chain(ids.iter().map(String::as_str));
    name.filter(|part| !part.is_empty()).map(|part| part.replace('/', "-")).collect::<Vec<_>>().join("-") + end
}

fn text(row: &Record, case: &Case, kernels: &[PipelineStatistics]) -> String {
    let mut text = String::new();
    let Record { device_name, driver_name, driver_version, .. } = row;
    line(&mut text, &format!("# {}", row.case_name()));
    line(&mut text, &format!("# {device_name}, {driver_name} {driver_version}"));
    for (place, kernel) in kernels.iter().enumerate() {
        let source = case.kernels.get(place).map_or("kernel", |kernel| &kernel.source[..]);
        kernel.executables.iter().for_each(|executable| show(&mut text, source, executable));
    }
    text
}

fn show(text: &mut String, source: &str, executable: &Executable) {
    for form in &executable.representations {
        line(text, &format!("\n== {source}: {}: {} ({})\n", executable.name, form.name, form.description));
        line(text, form.text.trim_end());
    }
}

fn line(text: &mut String, line: &str) {
    // A string takes all that is written to it.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use crate::model::{Kernel, Point, Representation};

    use std::fs;

    use super::*;

    fn kernel(texts: &[&str]) -> PipelineStatistics {
        let form = |text: &&str| Representation {
            name: "Assembly".to_owned(),
            description: "What runs".to_owned(),
            text: (*text).to_owned(),
        };
        let representations = texts.iter().map(form).collect();
        PipelineStatistics { executables: vec![Executable { name: "CS".to_owned(), representations, ..Executable::default() }] }
    }

    #[test]
    fn a_pipeline_of_no_row_is_in_a_file_of_its_device() {
        let parent = tempfile::tempdir().unwrap();
        let mut folder = CodeFolder::create(&parent.path().join("isa")).unwrap();
        let device = DeviceInfo { name: "A (device, 256 bits)".to_owned(), ..DeviceInfo::mock() };
        assert_eq!(folder.write_pipeline("blur-main", "blur.comp main", &device, &kernel(&[])).unwrap(), None);
        assert!(folder.is_empty());
        let path = folder.write_pipeline("../blur-main", "blur.comp main", &device, &kernel(&["nop"])).unwrap().unwrap();
        assert_eq!(path, folder.path().join("..-blur-main-A-device-256-bits-00000000-00000000.txt"));
        let text = fs::read_to_string(path).unwrap();
        assert!(text.starts_with("# blur.comp main\n# A (device, 256 bits), mock 1\n") && text.ends_with("\nnop\n"), "{text}");
    }

    fn row() -> Record {
        let [device_uuid, driver_uuid] = ["0123456789ab", "ba9876543210"].map(str::to_owned);
        let [experiment, variant, axis_values, case_id] = ["load/path", "ubo", "n=1", "cafe"].map(str::to_owned);
        let [device_name, driver_name, driver_version] = ["a device", "a driver", "1.2"].map(str::to_owned);
        Record {
            experiment,
            variant,
            axis_values,
            case_id,
            device_uuid,
            driver_uuid,
            device_name,
            driver_name,
            driver_version,
            ..Record::default()
        }
    }

    #[test]
    fn each_case_has_a_file_with_all_that_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let mut code = CodeFolder::create(&folder.path().join("some/where")).unwrap();
        let kernels = ["a.comp", "b.comp"].map(|source| Kernel::new(source, [1; 3])).into();
        let case = Case { kernels, ..Case::new("load/path", &Point::default()) };
        code.write(&row(), &case, &[kernel(&["one\n", "two"]), kernel(&["three"])]).unwrap();
        assert!(!code.is_empty());
        let text = fs::read_to_string(code.path().join("load-path-ubo-cafe-01234567-ba987654.txt")).unwrap();
        let expected = "# load/path ubo n=1\n# a device, a driver 1.2\n\
                        \n== a.comp: CS: Assembly (What runs)\n\none\n\n== a.comp: CS: Assembly (What runs)\n\ntwo\n\
                        \n== b.comp: CS: Assembly (What runs)\n\nthree\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn nothing_shown_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut code = CodeFolder::create(folder.path()).unwrap();
        code.write(&row(), &Case::new("load/path", &Point::default()), &[kernel(&[])]).unwrap();
        assert!(code.is_empty() && fs::read_dir(folder.path()).unwrap().next().is_none());
    }

    #[test]
    fn a_folder_that_cannot_be_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(CodeFolder::create(&file).unwrap_err().to_string().contains("file"));
    }
}
