//! PNG of a drawing, painted by plotters' bitmap backend.

use plotters::backend::{BitMapBackend, DrawingBackend};
use plotters::style::{FontDesc, FontTransform, RGBAColor, TextStyle};

use super::drawing::{Anchor, Drawing, Ink, Mark};
use super::font;

/// Says in every PNG of ours who made it.
pub const MARKER: &[u8] = b"Software\0ambler report";

/// Painted that many times larger in each direction and averaged, since plotters' edges are on whole pixels.
const FINER: u32 = 2;

/// The largest picture, pixels of the larger painting.
const LARGEST: f64 = 2.0e8;

type Problem = Box<dyn std::error::Error + Send + Sync>;

/// The drawing with `scale` pixels to its unit, 8-bit RGB on white.
///
/// Errors: a picture that is too large, and whatever plotters reports.
pub fn to_png(drawing: &Drawing, scale: u32) -> Result<Vec<u8>, Problem> {
    let (w, h) = (
        (drawing.width * f64::from(scale)).ceil(),
        (drawing.height * f64::from(scale)).ceil(),
    );
    if !(w >= 1.0 && h >= 1.0 && w * h * f64::from(FINER * FINER) <= LARGEST) {
        return Err(format!("a picture of {w} x {h} pixels is too large; use SVG").into());
    }
    let (w, h) = (w as u32, h as u32);
    let mut painted = vec![255; (w * h * FINER * FINER * 3) as usize];
    {
        let mut backend = BitMapBackend::with_buffer(&mut painted, (w * FINER, h * FINER));
        let mut painter = Painter {
            backend: &mut backend,
            scale: f64::from(scale * FINER),
        };
        for mark in &drawing.marks {
            painter.mark(mark)?;
        }
        backend.present().map_err(|e| e.to_string())?;
    }
    let pixels = averaged(&painted, w as usize, h as usize);
    Ok(encode(&pixels, w, h, scale))
}

struct Painter<'a, 'b> {
    backend: &'a mut BitMapBackend<'b>,
    scale: f64,
}

fn color(ink: Ink, opacity: f64) -> RGBAColor {
    let [r, g, b] = ink.rgb();
    RGBAColor(r, g, b, opacity)
}

impl Painter<'_, '_> {
    fn pixel(&self, p: [f64; 2]) -> (i32, i32) {
        ((p[0] * self.scale).round() as i32, (p[1] * self.scale).round() as i32)
    }

    fn stroke(&mut self, points: &[[f64; 2]], ink: Ink, width: f64) -> Result<(), Problem> {
        let width = (width * self.scale).round().max(1.0) as u32;
        let style = plotters::style::ShapeStyle {
            color: color(ink, 1.0),
            filled: true,
            stroke_width: width,
        };
        for pair in points.windows(2) {
            let (a, b) = (self.pixel(pair[0]), self.pixel(pair[1]));
            if a != b {
                self.backend.draw_line(a, b, &style).map_err(|e| e.to_string())?;
            }
        }
        // round the corners of what would otherwise fall apart into bars
        if width > 2 && points.len() > 2 {
            for p in &points[1..points.len() - 1] {
                let center = self.pixel(*p);
                self.backend
                    .draw_circle(center, width / 2, &style, true)
                    .map_err(|e| e.to_string())?;
            }
        }
        Ok(())
    }

    fn mark(&mut self, mark: &Mark) -> Result<(), Problem> {
        match mark {
            Mark::Line { points, stroke } => {
                for piece in broken(points, stroke.dash.lengths()) {
                    self.stroke(&piece, stroke.ink, stroke.width)?;
                }
            }
            Mark::Area { points, ink, opacity } => {
                let points: Vec<_> = points.iter().map(|p| self.pixel(*p)).collect();
                self.backend
                    .fill_polygon(points, &color(*ink, *opacity))
                    .map_err(|e| e.to_string())?;
            }
            Mark::Dot { center, radius, ink } => {
                let radius = (radius * self.scale).round().max(1.0) as u32;
                let center = self.pixel(*center);
                self.backend
                    .draw_circle(center, radius, &color(*ink, 1.0), true)
                    .map_err(|e| e.to_string())?;
            }
            Mark::Dots {
                centers,
                radius,
                ink,
                opacity,
            } => {
                let radius = (radius * self.scale).round().max(1.0) as u32;
                for center in centers {
                    let center = self.pixel(*center);
                    self.backend
                        .draw_circle(center, radius, &color(*ink, *opacity), true)
                        .map_err(|e| e.to_string())?;
                }
            }
            Mark::Text {
                at,
                text,
                size,
                ink,
                anchor,
                upright,
            } => {
                font::register();
                let height = size * font::HEIGHT_PER_EM * self.scale;
                let back = match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => 0.5,
                    Anchor::End => 1.0,
                } * font::width(text, *size)
                    * self.scale;
                // plotters puts the base line half a height below the point it is given
                let (x, y) = self.pixel(*at);
                let (along, across) = (back.round() as i32, (0.5 * height) as i32);
                let (pos, turn) = match upright {
                    false => ((x - along, y - across), FontTransform::None),
                    true => ((x - across, y + along), FontTransform::Rotate270),
                };
                let style: TextStyle = FontDesc::from((font::NAME, height)).transform(turn).into();
                let ink = color(*ink, 1.0);
                self.backend
                    .draw_text(text, &style.color(&ink), pos)
                    .map_err(|e| e.to_string())?;
            }
        }
        Ok(())
    }
}

/// A line cut into its dashes.
fn broken(points: &[[f64; 2]], lengths: &[f64]) -> Vec<Vec<[f64; 2]>> {
    if lengths.is_empty() {
        return vec![points.to_vec()];
    }
    let mut pieces = Vec::new();
    let mut piece = vec![points[0]];
    let (mut part, mut left) = (0, lengths[0]);
    for pair in points.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let d = [to[0] - from[0], to[1] - from[1]];
        let length = (d[0] * d[0] + d[1] * d[1]).sqrt();
        let mut gone = 0.0;
        while length - gone > left {
            gone += left;
            let at = [from[0] + d[0] * gone / length, from[1] + d[1] * gone / length];
            // strokes have even places
            if part % 2 == 0 {
                piece.push(at);
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece = vec![at];
            }
            part = (part + 1) % lengths.len();
            left = lengths[part];
        }
        left -= length - gone;
        if part % 2 == 0 {
            piece.push(to);
        }
    }
    if piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}

fn averaged(painted: &[u8], w: usize, h: usize) -> Vec<u8> {
    let n = FINER as usize;
    let mut pixels = vec![0; w * h * 3];
    for (i, value) in pixels.iter_mut().enumerate() {
        let (x, y, c) = (i / 3 % w, i / (3 * w), i % 3);
        let mut sum = 0u32;
        for dy in 0..n {
            for dx in 0..n {
                sum += u32::from(painted[((y * n + dy) * w * n + x * n + dx) * 3 + c]);
            }
        }
        *value = (sum / (FINER * FINER)) as u8;
    }
    pixels
}

/// PNG of RGB pixels (ISO/IEC 15948), `scale` times 96 to the inch.
fn encode(pixels: &[u8], w: u32, h: u32, scale: u32) -> Vec<u8> {
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |tag: &[u8; 4], payload: &[u8]| {
        out.extend((payload.len() as u32).to_be_bytes());
        let start = out.len();
        out.extend(tag);
        out.extend(payload);
        let crc = crc32fast::hash(&out[start..]);
        out.extend(crc.to_be_bytes());
    };
    let mut head = Vec::new();
    head.extend(w.to_be_bytes());
    head.extend(h.to_be_bytes());
    head.extend([8, 2, 0, 0, 0]);
    chunk(b"IHDR", &head);
    chunk(b"tEXt", MARKER);
    let per_meter = (f64::from(scale) * 96.0 / 0.0254).round() as u32;
    let mut density = per_meter.to_be_bytes().repeat(2);
    density.push(1);
    chunk(b"pHYs", &density);
    // rows as differences from the row above, which are mostly 0
    let stride = w as usize * 3;
    let mut rows = Vec::with_capacity(pixels.len() + h as usize);
    for (y, row) in pixels.chunks_exact(stride).enumerate() {
        match y {
            0 => {
                rows.push(0);
                rows.extend(row);
            }
            _ => {
                let above = &pixels[(y - 1) * stride..y * stride];
                rows.push(2);
                rows.extend(row.iter().zip(above).map(|(a, b)| a.wrapping_sub(*b)));
            }
        }
    }
    chunk(b"IDAT", &miniz_oxide::deflate::compress_to_vec_zlib(&rows, 6));
    chunk(b"IEND", &[]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dashes and gaps have their lengths, around corners too.
    #[test]
    fn a_broken_line_has_strokes_and_gaps_of_the_given_lengths() {
        let pieces = broken(&[[0.0, 0.0], [5.0, 0.0], [5.0, 9.0]], &[4.0, 2.0]);
        assert_eq!(
            pieces,
            vec![
                vec![[0.0, 0.0], [4.0, 0.0]],
                vec![[5.0, 1.0], [5.0, 5.0]],
                vec![[5.0, 7.0], [5.0, 9.0]],
            ]
        );
    }
}
