//! The font in which every text of a picture is set, and how wide texts are.

use std::sync::OnceLock;

use plotters::style::{FontStyle, register_font};

/// DejaVu Sans, Latin, Greek and mathematical signs. See `data/fonts`.
pub const BYTES: &[u8] = include_bytes!("../../data/fonts/DejaVuSans-subset.ttf");

/// Its name, for plotters and for SVG.
pub const NAME: &str = "DejaVu Sans";

/// What plotters calls the size of letters is ascent and descent together; in DejaVu Sans that is this multiple of the em.
pub const HEIGHT_PER_EM: f64 = 1.164_062_5;

/// Makes plotters know the font.
pub fn register() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        // fails only for bytes that are no font
        let _ = register_font(NAME, FontStyle::Normal, BYTES);
    });
}

/// Width of a text in letters of `size`.
pub fn width(text: &str, size: f64) -> f64 {
    /// Measured large, since plotters rounds to whole pixels.
    const MEASURED: f64 = 200.0;
    register();
    let font = plotters::style::FontDesc::from((NAME, MEASURED * HEIGHT_PER_EM));
    match font.box_size(text) {
        Ok((width, _)) => f64::from(width) * size / MEASURED,
        Err(_) => 0.6 * size * text.chars().count() as f64,
    }
}

/// The text, or as much of its beginning as fits into `room` followed by an ellipsis.
pub fn fitted(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_string();
    }
    let mut kept: Vec<char> = text.chars().collect();
    while kept.pop().is_some() {
        let shorter: String = kept.iter().collect::<String>().trim_end().to_string() + "…";
        if width(&shorter, size) <= room {
            return shorter;
        }
    }
    String::new()
}

/// The text, or as much of its end as fits behind an ellipsis: of dotted paths the end tells more.
pub fn fitted_end(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_string();
    }
    let mut rest = text.chars();
    while rest.next().is_some() {
        let shorter = format!("…{}", rest.as_str().trim_start_matches('.'));
        if width(&shorter, size) <= room {
            return shorter;
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every sign that a picture may need is in the font: its width is its own, not that of the box for unknown signs.
    #[test]
    fn minus_degree_superscript_and_greek_have_glyphs() {
        let unknown = width("\u{4e00}", 100.0);
        for sign in "−°²³⁻⁹µ·×≤≥±…ωθΔäß".chars() {
            let own = width(&sign.to_string(), 100.0);
            assert!(own > 5.0 && own != unknown, "{sign}: {own}, unknown signs {unknown}");
        }
    }

    /// A shortened text fits and says that it was shortened.
    #[test]
    fn long_texts_end_in_an_ellipsis_within_their_room() {
        let text = fitted("a_body_with_a_very_long_name", 11.0, 80.0);
        assert!(text.ends_with('…') && text.starts_with("a_body"), "{text}");
        assert!(width(&text, 11.0) <= 80.0);
        assert_eq!(fitted("short", 11.0, 80.0), "short");
    }
}
