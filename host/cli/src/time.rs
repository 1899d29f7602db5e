//! Moments as people read them: milliseconds since 1970 enter; a date and a time in UTC leave.

use std::time::SystemTime;

/// Now, in milliseconds since 1970.
pub(crate) fn now_unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// `2026-12-01 09:30:00.125Z`. A log is read in more than one place, so it has no local times.
pub(crate) fn utc(unix_ms: u64) -> String {
    const DAY_MS: u64 = 86_400_000;
    let (days, ms) = (unix_ms / DAY_MS, unix_ms % DAY_MS);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1_000)
}

/// Year, month and day, from days since 1970. Years begin in March here, so that the day that comes and goes is the last.
fn date(days: u64) -> (u64, u64, u64) {
    /// From 1 March of the year 0 to 1 January 1970.
    const EPOCH_DAYS: u64 = 719_468;
    /// Four hundred years, after which the calendar repeats.
    const ERA_DAYS: u64 = 146_097;
    let days = days + EPOCH_DAYS;
    let (era, day_of_era) = (days / ERA_DAYS, days % ERA_DAYS);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (unix_ms, shown) in [
            (0, "1970-01-01 00:00:00.000Z"),
            (951_782_400_000, "2000-02-29 00:00:00.000Z"),
            (951_868_800_000, "2000-03-01 00:00:00.000Z"),
            (1_796_102_996_024, "2026-12-01 05:29:56.024Z"),
            (4_107_542_399_999, "2100-02-28 23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01 00:00:00.000Z"),
        ] {
            assert_eq!(utc(unix_ms), shown);
        }
        assert!(utc(u64::MAX).ends_with('Z'));
    }
}
