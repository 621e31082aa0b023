//! Lists of a twin, by the numbers that invocations have.

/// What stands at a place of a list; zero where nothing does.
pub fn at<T: Copy + Default>(list: &[T], place: u64) -> T {
    usize::try_from(place).ok().and_then(|place| list.get(place).copied()).unwrap_or_default()
}

/// The same for every place of a list that is this one's own.
pub fn of<T: Copy + Default + Send + Sync>(list: Vec<T>) -> impl Fn(u64) -> T + Send + Sync {
    move |place| at(&list, place)
}
