//! Something that can draw, found before kiss3d looks for it: without one kiss3d panics, and on OpenGL without a display it draws
//! nothing but black.

use kiss3d::context::Context;
use thiserror::Error;

/// What draws properly.
const BACKENDS: wgpu::Backends = wgpu::Backends::VULKAN
    .union(wgpu::Backends::METAL)
    .union(wgpu::Backends::DX12);

/// Nothing on this machine can draw.
#[derive(Debug, Error, Clone, PartialEq)]
#[error(
    "nothing on this machine can draw: {0}. Install a Vulkan driver; without a graphics card `mesa-vulkan-drivers` (Debian, \
     Ubuntu, Fedora), `vulkan-swrast` (Arch) or `mesa-vulkan-swrast` (Alpine) draws on the processor"
)]
pub struct AdapterError(pub String);

fn instance() -> wgpu::Instance {
    wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: BACKENDS,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    })
}

fn adapter(instance: &wgpu::Instance) -> Result<wgpu::Adapter, AdapterError> {
    let options = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::default(),
        compatible_surface: None,
        force_fallback_adapter: false,
        apply_limit_buckets: false,
    };
    kiss3d::pollster::block_on(instance.request_adapter(&options))
        .map_err(|_| AdapterError("there is no Vulkan, Metal or DirectX 12 driver".into()))
}

/// The name of what will draw. To be asked before a window is opened.
pub fn find_adapter() -> Result<String, AdapterError> {
    let info = adapter(&instance())?.get_info();
    Ok(format!("{} ({:?})", info.name, info.backend))
}

/// Gives kiss3d something that draws in this thread, unless it has it already.
pub(super) fn open_context() -> Result<(), AdapterError> {
    if Context::is_initialized() {
        return Ok(());
    }
    let instance = instance();
    let adapter = adapter(&instance)?;
    let request = wgpu::DeviceDescriptor {
        label: Some("ambler"),
        required_features: wgpu::Features::empty(),
        // kiss3d's materials need more bind groups than wgpu's defaults
        required_limits: adapter.limits(),
        experimental_features: wgpu::ExperimentalFeatures::disabled(),
        memory_hints: wgpu::MemoryHints::default(),
        trace: wgpu::Trace::Off,
    };
    let (device, queue) = kiss3d::pollster::block_on(adapter.request_device(&request))
        .map_err(|e| AdapterError(format!("{} refuses: {e}", adapter.get_info().name)))?;
    Context::init(instance, device, queue, adapter, wgpu::TextureFormat::Rgba8Unorm);
    Ok(())
}
