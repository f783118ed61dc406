//! A report in a real browser: whether every plot is shown, and every text whole and by itself.

use std::path::Path;
use std::process::Command;

use ambler::report::Report;

/// Chromium, if it is installed; without it a test is skipped, but where tools are required that is a failure.
pub fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = (names.into_iter()).find(|n| Command::new(n).arg("--version").output().is_ok());
    if found.is_none() {
        assert!(
            std::env::var_os("AMBLER_REQUIRE_TOOLS").is_none(),
            "chromium is needed: apt-get install chromium"
        );
        println!("skipped: chromium is not installed");
    }
    found
}

/// Opens the page of `report` under this name in `folder` and has every plot and text of it measured.
pub fn check_page(browser: &str, folder: &Path, name: &str, report: &Report) {
    let page = folder.join(format!("{name}.html"));
    // the shipped page has no script; this copy measures itself
    let html = report.html().replace(
        "</body>",
        &format!("<pre id=\"measured\"></pre><script>{MEASURE}</script></body>"),
    );
    std::fs::write(&page, html).unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args(["--enable-logging=stderr", "--v=0", "--window-size=1000,800"])
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!(
            "--user-data-dir={}",
            folder.join(format!("profile {name}")).display()
        ))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let (dom, log) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let complaints: Vec<&str> = log.lines().filter(|l| l.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    let measured = dom
        .rsplit("<pre id=\"measured\">")
        .next()
        .unwrap()
        .split("</pre>")
        .next()
        .unwrap();
    let expected = format!("{} plots, 0 texts cut off: , 0 texts overlap: ", report.figures().len());
    assert_eq!(measured, expected, "{name}\n{log}");
}

const MEASURE: &str = r#"
document.fonts.ready.then(() => {
  let shown = 0, cut = [], overlap = [];
  for (const svg of document.querySelectorAll("figure svg")) {
    const box = svg.getBoundingClientRect();
    if (box.width > 300 && box.height > 40) shown++;
    const texts = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
    for (const [text, r] of texts)
      if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1) cut.push(text);
    for (let i = 0; i < texts.length; i++) for (let j = 0; j < i; j++) {
      const [a, b] = [texts[i][1], texts[j][1]];
      const w = Math.min(a.right, b.right) - Math.max(a.left, b.left), h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (w > 1 && h > 4) overlap.push(texts[i][0] + "/" + texts[j][0]);
    }
  }
  document.getElementById("measured").textContent =
    `${shown} plots, ${cut.length} texts cut off: ${cut}, ${overlap.length} texts overlap: ${overlap}`;
});
"#;
