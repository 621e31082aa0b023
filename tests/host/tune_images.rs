//! `lanescope tune` with images, samplers and texel buffers: what is refused before anything runs.

use crate::support::Folder;
use crate::support::tunings::{BLUR, tuned};

#[test]
fn what_can_not_be_is_said_before_anything_runs() {
    let (folder, blur) = Folder::with("blur.comp", BLUR);
    let declared = |name: &str, declaration: &str| {
        let text = format!(
            "#version 450\nlayout(local_size_x = 8) in;\nlayout(binding = 0) buffer Out {{ float result[]; }};\n\
             layout(binding = 1) {declaration}\nvoid main() {{ result[0] = USE; }}\n"
        );
        let (text, used) = text.split_once("//").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap_or((text, String::new()));
        let (used, rest) = used.split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        folder.write(name, format!("{text}\n{rest}").replace("USE", &used))
    };
    let shadow = declared("shadow.comp", "uniform sampler2DShadow s; //textureLod(s, vec3(0.5), 0.0)");
    let samples = declared("samples.comp", "uniform sampler2DMS s; //texelFetch(s, ivec2(0), 0).r");
    let volume = declared("volume.comp", "uniform sampler3D s; //textureLod(s, vec3(0.5), 0.0).r");
    let whole = declared("whole.comp", "uniform isampler2D s; //float(texelFetch(s, ivec2(0), 0).r)");
    let texels = declared("texels.comp", "uniform samplerBuffer s; //texelFetch(s, 0).r");
    let split = declared(
        "split.comp",
        "uniform sampler s; layout(binding = 2) uniform texture2D t; //textureLod(sampler2D(t, s), vec2(0), 0.0).r",
    );
    let many = declared("many.comp", "uniform sampler2D s[5000]; //textureLod(s[0], vec2(0), 0.0).r");
    let small = folder.write("small.bin", [0; 100]);
    let filled = format!("source=[8,8]:file={small}");
    for (arguments, part) in [
        (&[blur.as_str(), "--image", "nothing=:zero"][..], "no image `nothing`; it has source, blurred"),
        (&[&blur, "--sampler", "nothing=linear"], "no sampler `nothing`; it has source"),
        (&[&blur, "--ignore", "nothing"], "no buffer or image `nothing`; it has source, blurred"),
        (&[&blur, "-b", "blurred=float"], "`blurred` is an image, and no buffer: --image describes it"),
        (&[&texels, "--image", "result=rgba8"], "`Out` is a buffer, and no image: --buffer describes it"),
        (&[&texels, "--image", "s=rgba8"], "`s` is a buffer, and no image"),
        (&[&split, "--image", "s=rgba8"], "`s` is a sampler, and no image"),
        (&[&blur, "--sampler", "blurred=linear"], "`blurred` is an image, and no sampler"),
        (&[&blur, "--image", "source=rgba9"], "`rgba9` is no format of image `source`; did you mean rgba"),
        (&[&blur, "--image", "source=float"], "there are r8, rg8, rgba8"),
        (&[&blur, "--image", "blurred=r32f"], "`blurred` is declared as rgba8: it can't be r32f"),
        (&[&blur, "--image", "source=rgba8ui"], "`source` is read as float, and rgba8ui holds other numbers"),
        (&[&whole, "--image", "s=rgba8"], "`s` is read as int, and rgba8 holds other numbers"),
        (&[&texels, "-b", "s=float"], "`float` is no format of texel buffer `s`"),
        (&[&texels, "-b", "s=rgba32f[0]"], "no elements"),
        (&[&texels, "-b", "s=rgba32f[2^27 + 1]"], "maxTexelBufferElements is 134217728"),
        (&[&blur, "--image", "source=[8,0]"], "its height is 0"),
        (&[&blur, "--image", "source=[8]"], "extends to [WIDTH,HEIGHT], and [8] is given"),
        (&[&blur, "--image", "source=[8,8,8]"], "extends to [WIDTH,HEIGHT], and [8,8,8] is given"),
        (&[&blur, "--image", "source=[8,height]"], "`height` has no value"),
        (&[&blur, "--image", "source=[2^20,1]"], "maxImageDimension2D is 16384, the case needs 1048576"),
        (&[&volume, "--image", "s=[1,1,4096]"], "maxImageDimension3D is 2048, the case needs 4096"),
        (&[&blur, "--image", "source=[2^32,1]"], "none is as wide as 2^32"),
        (&[&blur, "--image", &filled], "has 100 bytes, the texels have 256"),
        (&[&blur, "--image", "source=[8,8]:ones"], "is no fill"),
        (&[&blur, "--image", "source=[8"], "isn't closed"),
        (&[&blur, "--sampler", "source=cubic"], "`cubic` is none of linear"),
        (&[&blur, "--sampler", "source=linear,nearest"], "said already"),
        (&[&blur, "--sampler", "source=repeat,unnormalized"], "are clamped"),
        (&[&volume, "--sampler", "s=unnormalized"], "for 1D and 2D images"),
        (&[&whole, "--sampler", "s=linear"], "rgba32i can't be used for linear filtering"),
        (&[&shadow], "compared with when it is sampled"),
        (&[&samples], "several samples"),
        (&[&many], "5001 descriptors"),
        (&[&blur, "--image", "source[1]=rgba8"], "no image `source[1]`"),
        (&[&blur, "--reference", &small], "has 100 bytes"),
    ] {
        tuned(&[arguments, &["-n", "4096", "-d", "mock"]].concat()).refuses(&[part]);
    }
}
