use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::*;

fn size(n: u64) -> BTreeMap<String, u64> {
    BTreeMap::from([("n".to_owned(), n)])
}

fn entry(n: u64, local_size_x: u64, seconds: u64) -> TableEntry {
    TableEntry {
        kernel: KernelId { name: "blur.comp".into(), hash: "v1".into() },
        device: DeviceId { name: "one".into(), vendor_id: 1, device_id: 10, uuid: Uuid([1; 16]) },
        driver: DriverId { id: "MESA_RADV".into(), name: "radv".into(), info: "Mesa 24".into() },
        size: size(n),
        configuration: BTreeMap::from([("local_size_x".to_owned(), local_size_x.into()), ("layout".to_owned(), "row".into())]),
        time_ns: 1000.0 / 3.0,
        ci_low_ns: 300.0,
        ci_high_ns: 400.0,
        when: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
        tool_version: "v0.1.0".into(),
    }
}

fn table(entries: impl IntoIterator<Item = TableEntry>) -> Table {
    let mut table = Table::default();
    entries.into_iter().for_each(|entry| assert_eq!(table.insert(entry), None));
    table
}

/// What a table finds for the device and driver of `entry`: how well it fits, and its workgroup size.
fn found(table: &Table, like: &TableEntry, kernel: &str, n: u64) -> Option<(Quality, AxisValue)> {
    let query = Query { kernel, device: &like.device, driver: &like.driver, size: &size(n) };
    table.find(&query).map(|found| (found.quality, found.configuration["local_size_x"].clone()))
}

#[test]
fn a_table_reads_back_as_it_was_written() {
    let written = table([entry(64, 8, 1), entry(1 << 40, 16, 2)]);
    let text = written.text().unwrap();
    assert_eq!(Table::parse(&text).unwrap(), written);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["version"], 1);
    assert_eq!(
        json["entries"][0],
        serde_json::json!({
            "kernel": {"name": "blur.comp", "hash": "v1"},
            "device": {"name": "one", "vendor_id": 1, "device_id": 10, "uuid": "01010101-0101-0101-0101-010101010101"},
            "driver": {"id": "MESA_RADV", "name": "radv", "info": "Mesa 24"},
            "size": {"n": 64},
            "configuration": {"layout": "row", "local_size_x": 8},
            "time_ns": 1000.0 / 3.0,
            "ci_low_ns": 300.0,
            "ci_high_ns": 400.0,
            "when": "1970-01-01T00:00:01Z",
            "tool_version": "v0.1.0",
        })
    );
}

#[test]
fn an_entry_replaces_the_one_for_its_case() {
    let mut table = table([entry(64, 8, 1), entry(65, 8, 1)]);
    let mut renamed = entry(64, 16, 0);
    renamed.device.name = "one (new name)".into();
    assert_eq!(table.insert(renamed), Some(entry(64, 8, 1)));
    let others: [fn(&mut TableEntry); 5] = [
        |other| other.kernel.hash = "v2".into(),
        |other| other.driver.info = "Mesa 25".into(),
        |other| other.device.uuid = Uuid([2; 16]),
        |other| other.device.device_id = 11,
        |other| other.size = BTreeMap::from([("m".to_owned(), 64)]),
    ];
    for change in others {
        let mut other = entry(64, 8, 1);
        change(&mut other);
        assert_eq!(table.insert(other), None);
    }
    assert_eq!(table.entries().len(), 2 + others.len());
}

#[test]
fn the_later_entry_of_a_case_stays() {
    let mut one = table([entry(1, 8, 5), entry(2, 8, 5)]);
    one.merge(table([entry(1, 16, 6), entry(2, 16, 5), entry(3, 16, 1)]));
    assert_eq!(one, table([entry(1, 16, 6), entry(2, 8, 5), entry(3, 16, 1)]));
    // As a merge of files by hand leaves them.
    let text = one.text().unwrap().replace("\"n\": 3", "\"n\": 1");
    assert_eq!(Table::parse(&text).unwrap(), table([entry(1, 16, 6), entry(2, 8, 5)]));
}

#[test]
fn the_best_fit_comes_first() {
    let like = entry(0, 0, 0);
    let mut same_device = entry(1000, 3, 0);
    same_device.driver.info = "Mesa 25".into();
    let mut part = entry(1000, 4, 9);
    part.device.name = "one, an eighth of it".into();
    part.device.uuid = Uuid([9; 16]);
    let mut same_vendor = entry(1000, 5, 0);
    same_vendor.device.device_id = 11;
    let mut fallback = entry(1000, 6, 0);
    fallback.device.vendor_id = 2;
    let mut all = vec![fallback, same_vendor, same_device, entry(10, 2, 0), entry(1000, 1, 0)];
    let at = |all: &[TableEntry]| found(&table(all.to_vec()), &like, "v1", 1000);
    let mut expected = vec![
        (Quality::Fallback, 6_u64),
        (Quality::SameVendor, 5),
        (Quality::SameDevice, 3),
        (Quality::NearestSize, 2),
        (Quality::Exact, 1),
    ];
    assert!(expected.is_sorted_by(|a, b| a.0 > b.0));
    while let Some((quality, local_size)) = expected.pop() {
        assert_eq!(at(&all), Some((quality, local_size.into())));
        all.pop();
    }
    assert_eq!(at(&all), None);
    assert_eq!(at(&[part]), Some((Quality::SameDevice, 4_u64.into())));
}

#[test]
fn the_nearest_size_is_near_by_its_magnitude() {
    let all = table([entry(100, 1, 0), entry(10_000, 2, 0), entry(0, 3, 0)]);
    let nearest = |n| found(&all, &entry(0, 0, 0), "v1", n).unwrap();
    assert_eq!(nearest(900), (Quality::NearestSize, 1_u64.into()));
    assert_eq!(nearest(1100), (Quality::NearestSize, 2_u64.into()));
    assert_eq!(nearest(u64::MAX), (Quality::NearestSize, 2_u64.into()));
    assert_eq!(nearest(5), (Quality::NearestSize, 3_u64.into()));
    assert_eq!(nearest(0), (Quality::Exact, 3_u64.into()));
    // In two dimensions, 2 and 2 apart is nearer than 1 and 8.
    let planar = |width, height, local_size| {
        let size = BTreeMap::from([("width".to_owned(), width), ("height".to_owned(), height)]);
        TableEntry { size, ..entry(0, local_size, 0) }
    };
    let all = table([planar(64, 8 * 64, 1), planar(32, 128, 2), entry(64, 3, 0)]);
    let like = planar(64, 64, 0);
    let query = Query { kernel: "v1", device: &like.device, driver: &like.driver, size: &like.size };
    assert_eq!(all.find(&query).unwrap().configuration["local_size_x"], 2_u64.into());
    // What has other dimensions is better than nothing.
    let line = table([entry(64, 3, 0)]);
    assert_eq!(line.find(&query).unwrap().quality, Quality::NearestSize);
}

#[test]
fn ties_end_the_same_way_each_time() {
    let with_uuid = |uuid, local_size, seconds| {
        let mut entry = entry(64, local_size, seconds);
        entry.device.uuid = Uuid([uuid; 16]);
        entry
    };
    let like = entry(64, 0, 0);
    // The very device, though others of its model have later entries.
    let all = table([with_uuid(0, 1, 9), with_uuid(1, 2, 3), with_uuid(2, 3, 9)]);
    assert_eq!(found(&all, &like, "v1", 64), Some((Quality::Exact, 2_u64.into())));
    // The latest of others, then the first of the table.
    let all = table([with_uuid(3, 1, 8), with_uuid(4, 2, 9), with_uuid(5, 3, 9)]);
    assert_eq!(found(&all, &like, "v1", 64), Some((Quality::Exact, 2_u64.into())));
    let all = table([entry(32, 1, 9), entry(128, 2, 9)]);
    assert_eq!(found(&all, &like, "v1", 64), Some((Quality::NearestSize, 1_u64.into())));
}

#[test]
fn a_kernel_goes_by_its_hash_or_its_name() {
    let mut new = entry(64, 2, 1);
    new.kernel.hash = "v2".into();
    let all = table([entry(64, 1, 0), new]);
    let at = |kernel| found(&all, &entry(0, 0, 0), kernel, 64).map(|(_, local_size)| local_size);
    assert_eq!(
        [at("v1"), at("v2"), at("blur.comp"), at("v3")],
        [Some(1_u64), Some(2), Some(2), None].map(|n| n.map(AxisValue::from))
    );
}

#[test]
fn what_is_no_table_is_refused() {
    for (text, expected) in [
        ("", "no tuning table: EOF"),
        ("{\"version\": 1, \"entries\": [", "no tuning table: EOF"),
        ("{\"entries\": []}", "missing field `version`"),
        ("{\"version\": 1, \"entries\": [], \"more\": 1}", "unknown field `more`"),
        ("{\"version\": 1, \"entries\": [{}]}", "missing field `kernel`"),
        ("{\"version\": 2, \"anything\": 1}", "a tuning table of version 2, and this program knows version 1: use one as new"),
    ] {
        let error = Table::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let text = table([entry(1, 1, 1)]).text().unwrap();
    for (right, wrong, expected) in [
        ("1970-01-01T00:00:01Z", "1970-01-01", "`1970-01-01` is no point in time"),
        ("01010101-0101", "0101-01010101", "is no UUID"),
        ("\"one\"", "1", "invalid type"),
    ] {
        let error = Table::parse(text.replace(right, wrong)).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("line"), "{error}");
    }
}

#[test]
fn what_the_form_can_not_hold_is_an_error() {
    let endless = TableEntry { time_ns: f64::INFINITY, ..entry(1, 1, 1) };
    assert!(table([endless]).text().unwrap_err().to_string().contains("no finite number"));
    let early = TableEntry { when: SystemTime::UNIX_EPOCH - Duration::from_secs(1), ..entry(1, 1, 1) };
    assert!(table([early]).text().unwrap_err().to_string().contains("before 1970"));
}
