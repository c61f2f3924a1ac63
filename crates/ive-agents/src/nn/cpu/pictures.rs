//! Pictures `[height, width, channel]`: windows cut out of them and put back, and pooling.
//!
//! A convolution is a dense layer of windows. They are cut out for a few pictures at a time, so that they stay in the
//! nearer caches, and never kept: the way back cuts them out again.

use multiversion::multiversion;

use crate::nn::layers::Pool;

/// Numbers of windows that are cut out at a time.
const NEAR: usize = 1 << 16;

/// Places of a window on a picture, and the numbers that it shows at one of them.
pub(super) fn sizes(pool: &Pool) -> (usize, usize) {
    let ([height, width], [down, right]) = (pool.window, pool.places());
    (down * right, height * width * pool.picture[2])
}

/// How many pictures have their windows cut out at a time.
pub(super) fn at_a_time(pool: &Pool) -> usize {
    let (places, shown) = sizes(pool);
    (NEAR / (places * shown).max(1)).max(1)
}

/// Calls `each` with the place of a run of numbers in the windows `[place, window row, window column, channel]`, the place of
/// the same numbers in the picture and their number; what lies beside the picture is left out.
#[inline(always)]
fn for_each_run(pool: &Pool, mut each: impl FnMut(usize, usize, usize)) {
    let ([height, width, channels], [high, wide]) = (pool.picture, pool.window);
    let ([down, right], [[above, _], [before, _]]) = (pool.places(), pool.padding);
    let mut window = 0;
    for i in 0..down {
        for j in 0..right {
            let left = j * pool.stride[1];
            // Columns of the window that lie on the picture.
            let first = before.saturating_sub(left).min(wide);
            let last = (width + before).saturating_sub(left).min(wide).max(first);
            for k in 0..high {
                let row = i * pool.stride[0] + k;
                if row >= above && row < height + above && last > first {
                    let at = ((row - above) * width + left + first - before) * channels;
                    each(window + first * channels, at, (last - first) * channels);
                }
                window += wide * channels;
            }
        }
    }
}

/// Cuts the windows out of pictures one after the other; zeros lie beside a picture.
pub fn unfold(pictures: &[f32], pool: &Pool, windows: &mut [f32]) {
    let ((places, shown), size) = (sizes(pool), pool.picture.iter().product::<usize>());
    if pool.padding != [[0, 0]; 2] {
        windows.fill(0.0);
    }
    for (picture, windows) in pictures.chunks_exact(size).zip(windows.chunks_exact_mut(places * shown)) {
        for_each_run(pool, |to, from, count| {
            windows[to..to + count].copy_from_slice(&picture[from..from + count]);
        });
    }
}

/// Adds windows to the pictures out of which they were cut.
pub fn fold(windows: &[f32], pool: &Pool, pictures: &mut [f32]) {
    let ((places, shown), size) = (sizes(pool), pool.picture.iter().product::<usize>());
    for (picture, windows) in pictures.chunks_exact_mut(size).zip(windows.chunks_exact(places * shown)) {
        for_each_run(pool, |from, to, count| {
            let part = picture[to..to + count].iter_mut().zip(&windows[from..from + count]);
            part.for_each(|(p, w)| *p += w);
        });
    }
}

/// Calls `each` with the number of a window and the places of one column of each of its rows that lies on the picture.
#[inline(always)]
fn for_each_pixel(pool: &Pool, mut each: impl FnMut(usize, usize)) {
    let (shown, channels) = (sizes(pool).1, pool.picture[2]);
    for_each_run(pool, |window, at, count| {
        (0..count / channels).for_each(|pixel| each(window / shown, at + pixel * channels));
    });
}

/// Channels that are compared at a time.
const CHANNELS: usize = 8;

/// The largest of each window and where it lies in its picture; the first of equals.
#[multiversion(targets = "simd")]
pub fn largest(pictures: &[f32], pool: &Pool, out: &mut [f32], at_of: &mut [u32]) {
    let ((places, _), channels) = (sizes(pool), pool.picture[2]);
    let size = pool.picture.iter().product::<usize>();
    out.fill(f32::NEG_INFINITY);
    let all = out.chunks_exact_mut(places * channels).zip(at_of.chunks_exact_mut(places * channels));
    for (picture, (out, at_of)) in pictures.chunks_exact(size).zip(all) {
        for_each_pixel(pool, |place, at| {
            let here = place * channels..(place + 1) * channels;
            let (ys, rest) = out[here.clone()].as_chunks_mut::<CHANNELS>();
            let (places, rest_places) = at_of[here].as_chunks_mut::<CHANNELS>();
            let (xs, rest_xs) = picture[at..at + channels].as_chunks::<CHANNELS>();
            for (i, ((y, place), x)) in ys.iter_mut().zip(places).zip(xs).enumerate() {
                take_larger(y, place, x, at + i * CHANNELS);
            }
            take_larger(rest, rest_places, rest_xs, at + channels / CHANNELS * CHANNELS);
        });
    }
}

/// Takes over what is larger, and its place; what is not a number stays visible.
#[inline(always)]
fn take_larger(ys: &mut [f32], places: &mut [u32], xs: &[f32], at: usize) {
    for (c, ((y, place), x)) in ys.iter_mut().zip(places).zip(xs).enumerate() {
        let take = *x > *y || x.is_nan();
        *y = if take { *x } else { *y };
        *place = if take { (at + c) as u32 } else { *place };
    }
}

/// Its gradient.
pub fn largest_back(d: &[f32], at_of: &[u32], pool: &Pool, pictures: &mut [f32]) {
    let each = sizes(pool).0 * pool.picture[2];
    pictures.fill(0.0);
    let size = pool.picture.iter().product::<usize>();
    let all = d.chunks_exact(each).zip(at_of.chunks_exact(each));
    for (picture, (d, at_of)) in pictures.chunks_exact_mut(size).zip(all) {
        at_of.iter().zip(d).for_each(|(&at, d)| picture[at as usize] += d);
    }
}
