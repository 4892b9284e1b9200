//! Throwaway harness: reads {"topics": [..], "patterns": [..]} from stdin and prints one JSON answer per pattern.
use assignor::matching::{dialect::Dialect, walk};
use std::io::Read;
fn main() {
    let dialect = Dialect::named(&std::env::args().nth(1).expect("dialect")).expect("dialect");
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let asked: serde_json::Value = serde_json::from_str(&text).unwrap();
    for pattern in asked["patterns"].as_array().unwrap() {
        let answer = match dialect.parse(pattern.as_str().unwrap()) {
            Err(e) => serde_json::json!({"error": e.reason, "invalid": e.invalid, "position": e.position}),
            Ok(node) => {
                let mut steps = false;
                let found: Vec<&str> = asked["topics"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|t| t.as_str().unwrap())
                    .filter(|t| {
                        walk::matches(&node, t.as_bytes()).unwrap_or_else(|_| {
                            steps = true;
                            false
                        })
                    })
                    .collect();
                if steps {
                    serde_json::json!({"error": "too many steps", "invalid": false, "position": 0})
                } else {
                    serde_json::json!({"matches": found})
                }
            }
        };
        println!("{answer}");
    }
}
