//! Arbitrary bytes enter as `SKILL.md`; a skill that keeps the format's rules or a readable finding with its place leaves.
//! Nothing is read from disk.

#![no_main]

use std::path::Path;

use airlock_core::{Skill, SkillName};
use airlock_fuzz::{check_message, check_shown};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("skills/tidy/SKILL.md");
    match (Skill::parse(bytes, path), Skill::parse(bytes, path)) {
        (Ok(skill), Ok(again)) => {
            assert_eq!(skill, again);
            check(&skill);
        }
        (Err(finding), Err(again)) => {
            assert_eq!(finding, again);
            check_message(&finding.message);
            check_shown(&finding.subject);
            let place = finding.location.as_ref();
            assert!(place.is_some_and(|place| place.line.is_some_and(|line| line > 0)), "{finding:?}");
        }
        (one, other) => assert_eq!(one.is_ok(), other.is_ok(), "the same bytes were read in two ways"),
    }
});

/// What a reader of an accepted skill relies on.
fn check(skill: &Skill) {
    assert!(SkillName::parse(skill.name().as_str()).is_ok(), "{} is no name", skill.name());
    let chars = skill.description().chars().count();
    assert!((1..=1_024).contains(&chars), "{chars} characters");
    if let Some(allowed) = skill.allowed_tools() {
        // Every entry is a name, or is told to be none.
        let (names, unreadable) = (allowed.names().len(), allowed.unreadable().count());
        assert!(names + unreadable <= 256, "{names} names, {unreadable} others");
    }
}
