//! The page in a real browser, where there is one: what its script does, what the browser complains of, and what it fetches.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, helpers included")]

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{between, data, hostile, page};
use crate::support::{Folder, skip};

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// What a person does with a page, and what becomes of it: written into an element that the browser's answer shows.
const PERSON: &str = include_str!("person.js");

/// How long a person may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser that can be run without a display.
fn browser() -> Option<&'static str> {
    let runs = |name: &&&str| Command::new(**name).arg("--version").output().is_ok_and(|output| output.status.success());
    BROWSERS.iter().find(runs).copied()
}

/// What became of a page that a browser opened.
struct Opened {
    /// The page, as it was at the end.
    dom: String,
    /// What the browser's console says.
    console: String,
    /// The addresses that the page asked for.
    asked: Vec<String>,
}

/// Opens a page from disk; it is left once it is loaded.
fn opened(browser: &str, folder: &Folder, text: &str) -> Opened {
    let file = folder.write("page.html", text);
    let net = folder.path("net.json");
    let profile = folder.path("profile");
    let output = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--dump-dom"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
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
    Opened { dom: String::from_utf8_lossy(&output.stdout).into_owned(), console, asked: asked_by_the_page(&log) }
}

/// Opens a page with a person at it, who may take as long as a busy machine needs: the page's loading isn't over before the person is done,
/// since a picture that they look at comes only then.
fn opened_by(person: &str, browser: &str, folder: &Folder, page: &str) -> Opened {
    let doors = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", doors.local_addr().unwrap());
    let waiting = thread::spawn(move || until_done(&doors));
    let script = format!(
        "const ask = (path) => {{ new Image().src = \"{address}\" + path; }};\n\
         const done = () => ask(\"/done\");\nask(\"/look\");\n{person}"
    );
    let policy = format!("img-src {address}; script-src 'sha256-{}' ", BASE64_STANDARD.encode(Sha256::digest(&script)));
    let end = format!("<pre id=\"seen\"></pre><script>{script}</script></body>");
    let text = page.replacen("script-src ", &policy, 1).replacen("</body>", &end, 1);
    let opened = opened(browser, folder, &text);
    waiting.join().unwrap();
    let (own, asked) = opened.asked.into_iter().partition::<Vec<_>, _>(|asked| asked.starts_with(&address));
    assert!(["/look", "/done"].iter().all(|path| own.contains(&format!("{address}{path}"))), "{own:?} {}", opened.console);
    Opened { asked, ..opened }
}

/// Answers nobody before somebody says that they are done, or too long has passed.
fn until_done(doors: &TcpListener) {
    doors.set_nonblocking(true).unwrap();
    let begin = Instant::now();
    let mut visitors: Vec<TcpStream> = Vec::new();
    let is_done = |visitor: &TcpStream| {
        let mut asked = [0; 64];
        visitor.peek(&mut asked).is_ok_and(|length| asked[..length].starts_with(b"GET /done"))
    };
    while begin.elapsed() < PATIENCE && !visitors.iter().any(is_done) {
        if let Ok((visitor, _)) = doors.accept() {
            visitor.set_nonblocking(true).unwrap();
            visitors.push(visitor);
        }
        thread::sleep(Duration::from_millis(10));
    }
    visitors.extend(std::iter::from_fn(|| doors.accept().ok()).map(|(visitor, _)| visitor));
    for visitor in &mut visitors {
        // What is left unread would be an error of the connection. One that has gone needs no answer.
        let _ = visitor.set_nonblocking(true);
        let _ = visitor.read(&mut [0; 4096]);
        let _ = visitor.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    }
}

/// The addresses that a page asked for, by the browser's log. What the browser asks for on its own account has no origin.
fn asked_by_the_page(log: &Value) -> Vec<String> {
    let of_page = |event: &&Value| event["params"]["initiator"].as_str().is_some_and(|origin| origin != "not an origin");
    let events = log["events"].as_array().unwrap().iter().filter(of_page);
    events.filter_map(|event| event["params"]["url"].as_str()).map(str::to_owned).collect()
}

#[test]
fn a_page_works_in_a_browser() {
    let Some(browser) = browser() else {
        skip!("there is none of {BROWSERS:?}");
    };
    let folder = Folder::new();
    let files = [data("nvidia-h100-overview-6.csv"), data("lavapipe.csv")];
    let text = page(&[&files[0], &files[1]]);
    let Opened { dom, console, asked } = opened_by(PERSON, browser, &folder, &text);
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
        skip!("there is none of {BROWSERS:?}");
    };
    let folder = Folder::new();
    let rows = hostile(&folder);
    let text = page(&[&format!("base={rows}"), &format!("new={rows}"), "--compare"]);
    let Opened { dom, console, asked } = opened_by("setTimeout(done, 500);", browser, &folder, &text);
    assert_eq!(console, "");
    assert!(!dom.contains("<img") && dom.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(!asked.iter().any(|address| address.starts_with("http")), "{asked:?}");
}

#[test]
fn what_a_page_asks_for_and_what_breaks_in_it_is_seen() {
    let Some(browser) = browser() else {
        skip!("there is none of {BROWSERS:?}");
    };
    let folder = Folder::new();
    let bad = "<!DOCTYPE html><title>a</title><img src=\"http://127.0.0.1:9/a.png\"><script>undefined.b</script>";
    let Opened { console, asked, .. } = opened(browser, &folder, bad);
    assert!(console.contains("TypeError"), "{console}");
    assert!(asked.iter().any(|address| address == "http://127.0.0.1:9/a.png"), "{asked:?}");
}
