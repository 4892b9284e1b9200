//! Lists of names in sentences of events: remarks, evidence and problems.

/// Return names as text; after the first `most` names, the text has the number of the others.
pub(super) fn listed<T: AsRef<str>>(names: &[T], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let more = names.len() - shown.len();
    format!("{}{}", shown.join(", "), if more > 0 { format!(" and {more} more") } else { String::new() })
}
