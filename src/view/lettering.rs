//! Words in pictures.

use ab_glyph::{Font, FontRef, PxScale, ScaleFont};

use super::Picture;
use super::colors::Rgb;

const FONT: &[u8] = include_bytes!("../../data/fonts/DejaVuSans-subset.ttf");

fn font() -> Option<FontRef<'static>> {
    FontRef::try_from_slice(FONT).ok()
}

/// Width of a line of text of `height` pixels, in pixels.
pub(super) fn width(text: &str, height: f32) -> f32 {
    let Some(font) = font() else { return 0.0 };
    let font = font.as_scaled(PxScale::from(height));
    text.chars().map(|c| font.h_advance(font.glyph_id(c))).sum()
}

/// `text`, cut off with an ellipsis if it is wider than `room`.
pub(super) fn shortened(text: &str, height: f32, room: f32) -> String {
    if width(text, height) <= room {
        return text.to_string();
    }
    let mut short: String = text.to_string();
    while short.pop().is_some() && width(&format!("{short}…"), height) > room {}
    format!("{}…", short.trim_end())
}

/// Writes a line of text whose upper left corner is at (`x`, `y`); what does not fit is cut off.
pub(super) fn write(picture: &mut Picture, text: &str, x: f32, y: f32, height: f32, color: Rgb) {
    let Some(font) = font() else { return };
    let scaled = font.as_scaled(PxScale::from(height));
    let mut pen = ab_glyph::point(x, y + scaled.ascent());
    for c in text.chars() {
        let mut glyph = scaled.scaled_glyph(c);
        glyph.position = pen;
        pen.x += scaled.h_advance(glyph.id);
        let Some(outline) = font.outline_glyph(glyph) else {
            continue;
        };
        let bounds = outline.px_bounds();
        outline.draw(|gx, gy, cover| {
            picture.blend(
                bounds.min.x as i64 + i64::from(gx),
                bounds.min.y as i64 + i64::from(gy),
                color,
                cover,
            );
        });
    }
}

impl Picture {
    /// A picture of one colour.
    pub fn filled(width: u32, height: u32, color: Rgb) -> Picture {
        Picture {
            width,
            height,
            rgb: [color.0, color.1, color.2].repeat(width as usize * height as usize),
        }
    }

    /// Lays a colour over a pixel; outside there is nothing to do.
    pub(super) fn blend(&mut self, x: i64, y: i64, color: Rgb, cover: f32) {
        if x < 0 || y < 0 || x >= i64::from(self.width) || y >= i64::from(self.height) {
            return;
        }
        let i = 3 * (y as usize * self.width as usize + x as usize);
        for (old, new) in self.rgb[i..i + 3].iter_mut().zip([color.0, color.1, color.2]) {
            *old = (f32::from(*old) + (f32::from(new) - f32::from(*old)) * cover.clamp(0.0, 1.0)).round() as u8;
        }
    }

    /// Lays a rectangle over the picture.
    pub(super) fn shade(&mut self, x: i64, y: i64, width: i64, height: i64, color: Rgb, cover: f32) {
        for row in y..y + height {
            for column in x..x + width {
                self.blend(column, row, color, cover);
            }
        }
    }

    /// Puts another picture in with its upper left corner at (`x`, `y`); what does not fit is cut off.
    pub(super) fn place(&mut self, other: &Picture, x: u32, y: u32) {
        let columns = other.width.min(self.width.saturating_sub(x)) as usize;
        for row in 0..other.height.min(self.height.saturating_sub(y)) {
            let from = 3 * (row as usize * other.width as usize);
            let to = 3 * ((y + row) as usize * self.width as usize + x as usize);
            self.rgb[to..to + 3 * columns].copy_from_slice(&other.rgb[from..from + 3 * columns]);
        }
    }
}
