//! Unicode names (`\N{...}`) of the characters that a topic name can have.

const NUMBERS: [&str; 10] = ["ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE"];
const SIGNS: [(&str, char); 33] = [
    ("SPACE", ' '),
    ("EXCLAMATION MARK", '!'),
    ("QUOTATION MARK", '"'),
    ("NUMBER SIGN", '#'),
    ("DOLLAR SIGN", '$'),
    ("PERCENT SIGN", '%'),
    ("AMPERSAND", '&'),
    ("APOSTROPHE", '\''),
    ("LEFT PARENTHESIS", '('),
    ("RIGHT PARENTHESIS", ')'),
    ("ASTERISK", '*'),
    ("PLUS SIGN", '+'),
    ("COMMA", ','),
    ("HYPHEN-MINUS", '-'),
    ("FULL STOP", '.'),
    ("SOLIDUS", '/'),
    ("COLON", ':'),
    ("SEMICOLON", ';'),
    ("LESS-THAN SIGN", '<'),
    ("EQUALS SIGN", '='),
    ("GREATER-THAN SIGN", '>'),
    ("QUESTION MARK", '?'),
    ("COMMERCIAL AT", '@'),
    ("LEFT SQUARE BRACKET", '['),
    ("REVERSE SOLIDUS", '\\'),
    ("RIGHT SQUARE BRACKET", ']'),
    ("CIRCUMFLEX ACCENT", '^'),
    ("LOW LINE", '_'),
    ("GRAVE ACCENT", '`'),
    ("LEFT CURLY BRACKET", '{'),
    ("VERTICAL LINE", '|'),
    ("RIGHT CURLY BRACKET", '}'),
    ("TILDE", '~'),
];

/// Return the code of a printable ASCII character by its name; None for any other name.
pub(super) fn character_named(name: &str) -> Option<u32> {
    let upper = name.to_ascii_uppercase();
    if let Some((_, sign)) = SIGNS.iter().find(|(known, _)| *known == upper) {
        return Some(u32::from(*sign));
    }
    if let Some(number) = upper.strip_prefix("DIGIT ") {
        return (0..10).zip(NUMBERS).find(|(_, known)| *known == number).map(|(digit, _)| u32::from(b'0') + digit);
    }
    let small = upper.strip_prefix("LATIN SMALL LETTER ");
    let letter = small.or_else(|| upper.strip_prefix("LATIN CAPITAL LETTER "))?;
    match letter.as_bytes() {
        [letter @ b'A'..=b'Z'] if small.is_some() => Some(u32::from(letter.to_ascii_lowercase())),
        [letter @ b'A'..=b'Z'] => Some(u32::from(*letter)),
        _ => None,
    }
}
