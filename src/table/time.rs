//! Points in time as RFC 3339 writes them, in UTC.

use std::time::{Duration, SystemTime};

/// Behind the year 9999, where the form ends: seconds since 1970.
const END: u64 = 253_402_300_800;

/// To the second. Nothing before 1970 and after 9999.
pub(crate) fn text(when: SystemTime) -> Option<String> {
    let seconds = when.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    let [year, month, day] = date(seconds / 86_400);
    let [hour, minute, second] = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60];
    (seconds < END).then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
}

/// Takes fractions of a second, and the two ways to say UTC. Nothing for what is no point in time from 1970 to 9999.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let text = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00"))?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fits = |(own, form): (u8, &u8)| if *form == b'0' { own.is_ascii_digit() } else { own == *form };
    let is_form = whole.len() == FORM.len() && whole.bytes().zip(FORM).all(fits);
    if !is_form || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let number = |from: usize, to: usize| whole.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    // The 60th second is a leap second, which system clocks don't count.
    if year < 1970 || month == 0 || day == 0 || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days(year, month, day);
    let is_date = date(days) == [year, month, day];
    let nanoseconds = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    let since = Duration::new(((days * 24 + hour) * 60 + minute) * 60 + second.min(59), nanoseconds);
    SystemTime::UNIX_EPOCH.checked_add(since).filter(|_| is_date)
}

// Both as in Howard Hinnant, chrono-compatible low-level date algorithms, 2013: eras of 400 years, whose years begin in March, so that
// the leap day is the last one.
const DAYS_OF_ERA: u64 = 146_097;
/// From the first day of the first era to 1970.
const DAYS_TO_1970: u64 = 719_468;

/// Year, month and day, so many days after the beginning of 1970.
fn date(days: u64) -> [u64; 3] {
    let days = days + DAYS_TO_1970;
    let (era, day) = (days / DAYS_OF_ERA, days % DAYS_OF_ERA);
    let year = (day - day / 1460 + day / 36_524 - day / (DAYS_OF_ERA - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    [400 * era + year + later, month, day]
}

/// How many days after the beginning of 1970 a date is, which lies not before; a date that isn't there is another one.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year) = (year / 400, year % 400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    era * DAYS_OF_ERA + 365 * year + year / 4 - year / 100 + day_of_year - DAYS_TO_1970
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, nanoseconds: u32) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds)
    }

    /// Every fifth day of the 8030 years, at another second of it each.
    #[test]
    fn a_time_is_what_others_say_it_is() {
        for day in (0..END / 86_400).step_by(5) {
            let when = at(day * 86_400 + day * 7919 % 86_400, 0);
            let expected = humantime::format_rfc3339_seconds(when).to_string();
            assert_eq!(text(when).as_ref(), Some(&expected));
            assert_eq!(parse(&expected), Some(when), "{expected}");
        }
    }

    #[test]
    fn only_times_of_the_form_are_written() {
        assert_eq!(text(at(END - 1, 999_999_999)).unwrap(), "9999-12-31T23:59:59Z");
        assert_eq!([text(at(END, 0)), text(SystemTime::UNIX_EPOCH - Duration::from_nanos(1))], [None, None]);
    }

    #[test]
    fn what_is_no_time_is_refused_as_others_do() {
        for (taken, seconds, nanoseconds) in [
            ("1970-01-01T00:00:01.5Z", 1, 500_000_000),
            ("1970-01-01T00:00:01.1234567899Z", 1, 123_456_789),
            ("1970-01-01T00:00:01+00:00", 1, 0),
            ("1972-06-30T23:59:60Z", 78_796_799, 0),
            ("2000-02-29T00:00:00Z", 951_782_400, 0),
        ] {
            assert_eq!(parse(taken), Some(at(seconds, nanoseconds)), "{taken}");
            assert_eq!(humantime::parse_rfc3339(taken), Ok(at(seconds, nanoseconds)), "{taken}");
        }
        for wrong in [
            "",
            "Z",
            "1970-01-01",
            "1970-01-01T00:00:01",
            "1970-01-01 00:00:01Z",
            "1970-01-01T00:00:01+01:00",
            "1970-01-01T00:00:01.5.5Z",
            "1970-01-01T00:00:01.-5Z",
            "1970-01-01T00:00:1Z",
            "1970-01-01T00:00:+1Z",
            "1970-01-01T00:00:61Z",
            "1970-01-01T00:60:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-00T00:00:00Z",
            "1970-01-32T00:00:00Z",
            "1970-00-01T00:00:00Z",
            "1970-13-01T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2001-02-29T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:0\u{e9}Z",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
            assert!(humantime::parse_rfc3339(wrong).is_err(), "{wrong}");
        }
    }
}
