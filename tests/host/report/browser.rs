//! The page in a real browser, where there is one: what its script does, what the browser complains of, and what it fetches.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, helpers included")]

use std::fs;
use std::process::Command;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{between, data, hostile, page};
use crate::support::Folder;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// What a person does with a page, and what becomes of it: written into an element that the browser's answer shows.
const PERSON: &str = include_str!("person.js");

/// A browser that can be run without a display.
fn browser() -> Option<&'static str> {
    let runs = |name: &&&str| Command::new(**name).arg("--version").output().is_ok_and(|output| output.status.success());
    BROWSERS.iter().find(runs).copied()
}

/// Opens a page from disk, and gives what it became, what the browser's console says, and the addresses that were asked for.
fn opened(browser: &str, folder: &Folder, text: &str) -> (String, String, Vec<String>) {
    let file = folder.write("page.html", text);
    let net = folder.path("net.json");
    let profile = folder.path("profile");
    let output = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--dump-dom"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--virtual-time-budget=20000",
        ])
        .args(["--enable-logging=stderr", "--log-level=0", "--window-size=1200,900"])
        .arg(format!("--log-net-log={}", net.display()))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{file}"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let console =
        String::from_utf8_lossy(&output.stderr).lines().filter(|line| line.contains("CONSOLE")).collect::<Vec<_>>().join("\n");
    let log: Value = serde_json::from_str(&fs::read_to_string(net).unwrap()).unwrap();
    (String::from_utf8_lossy(&output.stdout).into_owned(), console, asked_by_the_page(&log))
}

/// The addresses that a page asked for, by the browser's log. What the browser asks for on its own account has no origin.
fn asked_by_the_page(log: &Value) -> Vec<String> {
    let of_page = |event: &&Value| event["params"]["initiator"].as_str().is_some_and(|origin| origin != "not an origin");
    let events = log["events"].as_array().unwrap().iter().filter(of_page);
    events.filter_map(|event| event["params"]["url"].as_str()).map(str::to_owned).collect()
}

/// The page with a person at it: a second script, which its policy is told of.
fn with_a_person(page: &str) -> String {
    let hash = format!("script-src 'sha256-{}' ", BASE64_STANDARD.encode(Sha256::digest(PERSON)));
    page.replacen("script-src ", &hash, 1).replacen(
        "</body>",
        &format!("<pre id=\"seen\"></pre><script>{PERSON}</script></body>"),
        1,
    )
}

#[test]
fn a_page_works_in_a_browser() {
    let Some(browser) = browser() else {
        println!("skipped: there is none of {BROWSERS:?}");
        return;
    };
    let folder = Folder::new();
    let files = [data("nvidia-h100-overview-6.csv"), data("lavapipe.csv")];
    let text = page(&[&files[0], &files[1]]);
    let (dom, console, asked) = opened(browser, &folder, &with_a_person(&text));
    let seen = between(&dom, "<pre id=\"seen\">", "</pre>");
    assert_eq!(console, "", "the browser complains");
    let seen = seen.first().unwrap_or_else(|| panic!("nothing was done: {}", &dom[dom.len().saturating_sub(400)..]));
    let expected = "\
        a value is told: true\n\
        the arrow keys go on: true\n\
        a family alone: true\n\
        a word alone: true\n\
        a device alone: true\n\
        all again: true\n\
        flagged rows go: true\n\
        a column is sorted: true\n\
        a theme is chosen: true\n\
        rows are saved: true\n\
        all rows are saved: true\n\
        done\n";
    assert_eq!(*seen, expected);
    assert!(!asked.iter().any(|address| address.starts_with("http")), "{asked:?}");
}

#[test]
fn a_page_of_strangers_words_does_nothing_in_a_browser() {
    let Some(browser) = browser() else {
        println!("skipped: there is none of {BROWSERS:?}");
        return;
    };
    let folder = Folder::new();
    let rows = hostile(&folder);
    let text = page(&[&format!("base={rows}"), &format!("new={rows}"), "--compare"]);
    let (dom, console, asked) = opened(browser, &folder, &text);
    assert_eq!(console, "");
    assert!(!dom.contains("<img") && dom.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(!asked.iter().any(|address| address.starts_with("http")), "{asked:?}");
}

#[test]
fn what_a_page_asks_for_and_what_breaks_in_it_is_seen() {
    let Some(browser) = browser() else {
        println!("skipped: there is none of {BROWSERS:?}");
        return;
    };
    let folder = Folder::new();
    let bad = "<!DOCTYPE html><title>a</title><img src=\"http://127.0.0.1:9/a.png\"><script>undefined.b</script>";
    let (_, console, asked) = opened(browser, &folder, bad);
    assert!(console.contains("TypeError"), "{console}");
    assert!(asked.iter().any(|address| address == "http://127.0.0.1:9/a.png"), "{asked:?}");
}
