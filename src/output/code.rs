//! What drivers show of their code: a file for each case, in a folder.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::model::{Case, DeviceInfo, PipelineStatistics, Representation};
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
    /// Makes the folder where there is none.
    pub fn create(path: &Path) -> Result<Self, Error> {
        regular::folder(path).map_err(Error::unwritable(path))?;
        Ok(Self { path: path.to_owned(), is_empty: true })
    }

    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the code of a row's case, where the driver shows any, to a file named after the row's experiment, variant, `case_id`,
    /// device and driver.
    pub fn write(&mut self, row: &Record, case: &Case, kernels: &[PipelineStatistics]) -> Result<(), Error> {
        let Record { experiment, variant, case_id, device_uuid, driver_uuid, device_name, driver_name, driver_version, .. } =
            row;
        let name = case_file([experiment, variant, case_id, device_uuid, driver_uuid], ".txt");
        let head = format!("# {}\n# {device_name}, {driver_name} {driver_version}\n", row.case_name());
        let sources = case.kernels.iter().map(|kernel| &kernel.source[..]).chain(std::iter::repeat("kernel"));
        self.put(&name, head, kernels.iter().zip(sources)).map(|_| ())
    }

    /// Writes the code of a pipeline that is of no row, where the driver shows any: the file's name ends with device and driver, as
    /// those of rows do, after the device's name: devices that aren't there, for which some drivers compile, differ in nothing else.
    /// Gives the file.
    pub fn write_pipeline(
        &mut self,
        name: &str,
        head: &str,
        device: &DeviceInfo,
        pipeline: &PipelineStatistics,
    ) -> Result<Option<PathBuf>, Error> {
        let ids = [device.device_uuid, device.driver.uuid].map(|uuid| digits(&uuid.to_string()));
        let file = format!("{}-{}-{}.txt", slug(name), slug(&device.name), ids.join("-"));
        let head = format!("# {head}\n# {}, {} {}\n", device.name, device.driver.name, device.driver.version);
        self.put(&file, head, [(pipeline, name)].into_iter())
    }

    /// Writes what a driver shows of pipelines, each of a source, and gives the file; `None` where it shows nothing.
    fn put<'p>(
        &mut self,
        name: &str,
        head: String,
        pipelines: impl Iterator<Item = (&'p PipelineStatistics, &'p str)>,
    ) -> Result<Option<PathBuf>, Error> {
        let mut text = String::new();
        for (pipeline, source) in pipelines {
            for executable in &pipeline.executables {
                for Representation { name: form, description, text: code } in &executable.representations {
                    let end = code.trim_end();
                    text += &format!("\n== {source}: {}: {form} ({description})\n\n{end}\n", executable.name);
                }
            }
        }
        if text.is_empty() {
            return Ok(None);
        }
        let path = self.path.join(name);
        regular::overwrite(&path, (head + &text).as_bytes()).map_err(Error::unwritable(&path))?;
        self.is_empty = false;
        Ok(Some(path))
    }
}

/// A name as a part of a file's: what file systems or shells may take amiss is a hyphen.
fn slug(name: &str) -> String {
    let words = name.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

fn digits(uuid: &str) -> String {
    uuid.chars().take(DIGITS).collect()
}

/// The name of a case's file: after its experiment, variant, `case_id`, device and driver.
pub fn case_file([experiment, variant, case_id, device, driver]: [&str; 5], end: &str) -> String {
    let parts = [experiment, variant, case_id, &digits(device), &digits(driver)].map(|part| part.replace('/', "-"));
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-") + end
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::model::{Executable, Kernel, Point};

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
        Record {
            experiment: "load/path".into(),
            variant: "ubo".into(),
            axis_values: "n=1".into(),
            case_id: "cafe".into(),
            device_uuid: "0123456789ab".into(),
            driver_uuid: "ba9876543210".into(),
            device_name: "a device".into(),
            driver_name: "a driver".into(),
            driver_version: "1.2".into(),
            ..Record::default()
        }
    }

    #[test]
    fn each_case_has_a_file_with_all_that_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let mut code = CodeFolder::create(&folder.path().join("some/where")).unwrap();
        let kernels = ["a.comp", "b.comp"].map(|source| Kernel::new(source, [1; 3])).into();
        let case = Case { kernels, ..Case::new("load/path", &Point::default()) };
        code.write(&row(), &case, &[kernel(&[])]).unwrap();
        assert!(code.is_empty() && fs::read_dir(code.path()).unwrap().next().is_none(), "nothing shown is no file");
        code.write(&row(), &case, &[kernel(&["one\n", "two"]), kernel(&["three"])]).unwrap();
        assert!(!code.is_empty());
        let text = fs::read_to_string(code.path().join("load-path-ubo-cafe-01234567-ba987654.txt")).unwrap();
        let expected = "# load/path ubo n=1\n# a device, a driver 1.2\n\
                        \n== a.comp: CS: Assembly (What runs)\n\none\n\n== a.comp: CS: Assembly (What runs)\n\ntwo\n\
                        \n== b.comp: CS: Assembly (What runs)\n\nthree\n";
        assert_eq!(text, expected);
    }
}
