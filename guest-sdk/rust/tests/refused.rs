//! Programs that the macros refuse enter, the compiler's messages are compared with the files beside them.

#[test]
fn mistakes_are_explained_where_they_are() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}
