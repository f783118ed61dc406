//! Pictures without a display.

use kiss3d::window::{CanvasSetup, OffscreenSurface};
use thiserror::Error;

use super::adapter::{AdapterError, open_context};
use super::{Camera, Overlays, Stage, light};
use crate::experiment::Frame;

/// Rows of pixels from the top, red, green and blue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub width: u32,
    pub height: u32,
    pub rgb: Vec<u8>,
}

/// Why there is no picture.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum PictureError {
    #[error(transparent)]
    Adapter(#[from] AdapterError),
    #[error(
        "the picture came out {0}: the graphics driver does not draw. Software Vulkan (package `mesa-vulkan-drivers`) does"
    )]
    Blank(&'static str),
}

/// Draws an experiment into memory.
pub struct Studio {
    surface: OffscreenSurface,
    size: (u32, u32),
}

impl Studio {
    /// For pictures of `width` × `height` pixels.
    pub fn open(width: u32, height: u32) -> Result<Studio, PictureError> {
        let adapter = open_context()?;
        let setup = CanvasSetup {
            samples: adapter.num_samples(),
            ..CanvasSetup::default()
        };
        let mut surface = kiss3d::pollster::block_on(OffscreenSurface::with_setup(width, height, setup));
        light(surface.window_mut());
        Ok(Studio {
            surface,
            size: (width, height),
        })
    }

    pub fn size(&self) -> (u32, u32) {
        self.size
    }

    /// For settings that are the window's.
    pub fn window_mut(&mut self) -> &mut kiss3d::window::Window {
        self.surface.window_mut()
    }

    /// One moment as the camera sees it.
    pub fn draw(
        &mut self,
        stage: &mut Stage,
        overlays: &Overlays,
        camera: &mut Camera,
        frame: &Frame,
    ) -> Result<Picture, PictureError> {
        stage.show(frame, overlays.on);
        overlays.draw(self.surface.window_mut(), camera.orbit(), frame);
        kiss3d::pollster::block_on(self.surface.render_3d(stage.scene_mut(), camera.orbit_mut()));
        let image = self.surface.snap_image();
        let picture = Picture {
            width: image.width(),
            height: image.height(),
            rgb: image.into_raw(),
        };
        picture.refuse_blank()?;
        Ok(picture)
    }
}

impl Picture {
    pub fn pixel(&self, x: u32, y: u32) -> [u8; 3] {
        let i = 3 * (y as usize * self.width as usize + x as usize);
        [self.rgb[i], self.rgb[i + 1], self.rgb[i + 2]]
    }

    /// A picture of one colour shows nothing, whatever the colour.
    fn refuse_blank(&self) -> Result<(), PictureError> {
        let first = self.pixel(0, 0);
        if self.rgb.chunks_exact(3).any(|p| p != first) {
            return Ok(());
        }
        Err(PictureError::Blank(if first == [0; 3] {
            "black"
        } else {
            "of one colour"
        }))
    }
}
