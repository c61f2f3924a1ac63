//! Layers: which tensors they have and how large they are.

use super::Activation;
use super::layout::{Layout, Slot};

/// `act(x W + b)`.
#[derive(Clone, Debug)]
pub struct Dense {
    /// W, `[inputs, outputs]`.
    pub weight: Slot,
    /// b, `[outputs]`.
    pub bias: Option<Slot>,
    /// What follows.
    pub activation: Activation,
}

impl Dense {
    /// Adds weights and biases of these names to a layout, for so many inputs and outputs.
    pub fn new(
        layout: &mut Layout,
        [weight, bias]: [&'static str; 2],
        [inputs, outputs]: [usize; 2],
        activation: Activation,
    ) -> Self {
        Self {
            weight: layout.add(weight, &[inputs, outputs]),
            bias: Some(layout.add(bias, &[outputs])),
            activation,
        }
    }

    /// A linear layer without biases.
    pub fn unbiased(layout: &mut Layout, weight: &'static str, [inputs, outputs]: [usize; 2]) -> Self {
        Self { weight: layout.add(weight, &[inputs, outputs]), bias: None, activation: Activation::Linear }
    }

    /// b in a vector of parameters; nothing if there is none.
    pub fn bias_of<'a>(&self, all: &'a [f32]) -> &'a [f32] {
        self.bias.as_ref().map_or(&[], |bias| bias.of(all))
    }

    /// How many inputs there are.
    pub fn inputs(&self) -> usize {
        self.weight.shape[0]
    }

    /// How many outputs there are.
    pub fn outputs(&self) -> usize {
        self.weight.shape[1]
    }
}

/// `x · W[j] + b[j]`: a linear layer that keeps the weights of an output together, for layers of few outputs.
#[derive(Clone, Debug)]
pub struct Readout {
    /// W, `[outputs, inputs]`.
    pub weight: Slot,
    /// b, `[outputs]`.
    pub bias: Slot,
}

impl Readout {
    /// Adds weights and biases of these names to a layout, for so many inputs and outputs.
    pub fn new(
        layout: &mut Layout,
        [weight, bias]: [&'static str; 2],
        [inputs, outputs]: [usize; 2],
    ) -> Self {
        Self { weight: layout.add(weight, &[outputs, inputs]), bias: layout.add(bias, &[outputs]) }
    }

    /// How many outputs there are.
    pub fn outputs(&self) -> usize {
        self.bias.range.len()
    }
}

/// The shape of a window that slides over pictures `[height, width, channel]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Height, width and channels of a picture.
    pub picture: [usize; 3],
    /// Height and width of the window.
    pub window: [usize; 2],
    /// How far it moves, down and to the right.
    pub stride: [usize; 2],
    /// Rows above and below, columns left and right, that are thought to be there.
    pub padding: [[usize; 2]; 2],
}

impl Pool {
    /// Height and width of what comes out.
    pub fn places(&self) -> [usize; 2] {
        [0, 1].map(|d| {
            let [before, after] = self.padding[d];
            (self.picture[d] + before + after - self.window[d]) / self.stride[d] + 1
        })
    }

    /// Padding so that there are ⌈size / stride⌉ places, the smaller half in front: what other libraries call "same".
    #[must_use]
    pub fn same(mut self) -> Self {
        for d in 0..2 {
            let places = self.picture[d].div_ceil(self.stride[d]);
            let all = ((places - 1) * self.stride[d] + self.window[d]).saturating_sub(self.picture[d]);
            self.padding[d] = [all / 2, all - all / 2];
        }
        self
    }
}

/// A convolution: at each place of a window a dense layer of what it shows.
#[derive(Clone, Debug)]
pub struct Conv {
    /// The window on the picture: the input of a convolution, the output of a transposed one.
    pub pool: Pool,
    /// W, `[window height, window width, channels, filters]`.
    pub weight: Slot,
    /// b: `[filters]`, or `[channels]` of a transposed one.
    pub bias: Slot,
    /// What follows.
    pub activation: Activation,
}

impl Conv {
    /// Adds weights and biases of these names to a layout, for so many filters.
    pub fn new(
        layout: &mut Layout,
        names: [&'static str; 2],
        pool: Pool,
        filters: usize,
        activation: Activation,
    ) -> Self {
        Self::with_biases(layout, names, pool, filters, filters, activation)
    }

    /// The same for a transposed convolution, which has a bias for each channel of the picture that it makes.
    pub fn transposed(
        layout: &mut Layout,
        names: [&'static str; 2],
        pool: Pool,
        filters: usize,
        activation: Activation,
    ) -> Self {
        Self::with_biases(layout, names, pool, filters, pool.picture[2], activation)
    }

    fn with_biases(
        layout: &mut Layout,
        [weight, bias]: [&'static str; 2],
        pool: Pool,
        filters: usize,
        biases: usize,
        activation: Activation,
    ) -> Self {
        let [height, width] = pool.window;
        Self {
            pool,
            weight: layout.add(weight, &[height, width, pool.picture[2], filters]),
            bias: layout.add(bias, &[biases]),
            activation,
        }
    }

    /// How many filters there are.
    pub fn filters(&self) -> usize {
        self.weight.shape[3]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes from the formula by hand: ⌊(n + padding − window) / stride⌋ + 1.
    #[test]
    fn windows_have_their_number_of_places() {
        let pool = Pool { picture: [64, 32, 3], window: [4, 4], stride: [2, 2], padding: [[0, 0], [0, 1]] };
        assert_eq!(pool.places(), [31, 15]);
        let same = Pool { window: [3, 3], ..pool }.same();
        assert_eq!((same.places(), same.padding), ([32, 16], [[0, 1], [0, 1]]));
        assert_eq!(Pool { stride: [1, 1], window: [3, 3], ..pool }.same().padding, [[1, 1], [1, 1]]);
    }
}
