//! Every operation of the graph, on both executors: the tensor engine in double precision against central differences, the
//! tape against the engine. Everything that an operation reads comes from parameters, so that its gradient with respect
//! to each of its inputs is a gradient with respect to parameters.

use ive::Rng;
use ive_agents::nn::cpu::board::{Board, FILTERS};
use ive_agents::nn::cpu::tape::Memory;
use ive_agents::nn::{
    Activation, Block, Conv, Dense, Device, Engine, Graph, Layout, Loss, Over, Parameters, Pool, Precision,
    Readout, Slot, Squash, Var,
};

const P: Block = Block(0);

/// Makes a graph that ends in a loss.
type Build = Box<dyn Fn(&mut dyn Graph) -> Loss>;

/// A graph and its tensors.
struct Case {
    name: String,
    layout: Layout,
    build: Build,
}

fn case(
    name: &str,
    shapes: &[[usize; 2]],
    build: impl Fn(&mut dyn Graph, &[Slot]) -> Loss + 'static,
) -> Case {
    const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
    let mut layout = Layout::default();
    let slots: Vec<Slot> = shapes.iter().zip(NAMES).map(|(shape, name)| layout.add(name, shape)).collect();
    Case { name: name.to_owned(), layout, build: Box::new(move |g| build(g, &slots)) }
}

/// A number that depends on every entry of a matrix, each in its own way.
fn mixed(g: &mut dyn Graph, x: Var) -> Loss {
    let [rows, columns] = g.shape(x);
    let weights: Vec<f32> = (0..rows * columns).map(|i| (1.3 * i as f32 + 0.7).sin()).collect();
    let weights = g.input(&weights, columns);
    let product = g.mul(x, weights);
    // One entry in each row: rows are added up in double precision.
    let entries = g.reshape(product, 1);
    g.sum(entries, Over::Sum)
}

/// A case whose operation makes one matrix of matrices.
fn matrix(name: &str, shapes: &[[usize; 2]], run: impl Fn(&mut dyn Graph, &[Var]) -> Var + 'static) -> Case {
    case(name, shapes, move |g, slots| {
        let vars: Vec<Var> = slots.iter().map(|slot| g.parameter(P, slot)).collect();
        let y = run(g, &vars);
        mixed(g, y)
    })
}

fn widths() -> [(usize, usize, usize); 4] {
    [(5, 7, 3), (13, 32, 16), (3, 9, 35), (30, 24, 48)]
}

fn layers() -> Vec<Case> {
    let mut all = Vec::new();
    let activations = [
        Activation::Linear,
        Activation::Relu,
        Activation::Elu,
        Activation::Tanh,
        Activation::Sigmoid,
        Activation::Softplus,
    ];
    for (activation, (rows, inputs, outputs)) in activations.into_iter().zip(widths().into_iter().cycle()) {
        let shapes = [[rows, inputs], [inputs, outputs], [1, outputs]];
        all.push(case(&format!("dense {activation:?}"), &shapes, move |g, s| {
            let x = g.parameter(P, &s[0]);
            let y = g.dense(P, &Dense { weight: s[1].clone(), bias: Some(s[2].clone()), activation }, x);
            mixed(g, y)
        }));
        all.push(matrix(&format!("activate {activation:?}"), &[[3, 5]], move |g, v| {
            g.activate(v[0], activation)
        }));
    }
    for (rows, inputs, outputs) in widths() {
        let shapes = [[rows, inputs], [inputs, outputs], [4, outputs]];
        all.push(case("dense without bias, with action", &shapes, move |g, s| {
            let actions: Vec<u8> = (0..rows).map(|i| (i * i % 4) as u8).collect();
            let x = g.parameter(P, &s[0]);
            let layer = Dense { weight: s[1].clone(), bias: None, activation: Activation::Tanh };
            let y = g.dense_with_action(P, &layer, &s[2], x, &actions);
            mixed(g, y)
        }));
        all.push(case("readout", &[[rows, inputs], [3, inputs], [1, 3]], move |g, s| {
            let x = g.parameter(P, &s[0]);
            let layer = Readout { weight: s[1].clone(), bias: Slot { shape: vec![3], ..s[2].clone() } };
            let y = g.readout(P, &layer, x);
            mixed(g, y)
        }));
    }
    // Several uses of the same weights, with different rows: a recurrence.
    all.push(case("a layer used again", &[[6, 5], [5, 5], [1, 5]], |g, s| {
        let layer = Dense { weight: s[1].clone(), bias: Some(s[2].clone()), activation: Activation::Tanh };
        let mut x = g.parameter(P, &s[0]);
        let mut seen = Vec::new();
        for rows in [6, 4, 4, 1] {
            let first = g.rows(x, 0..rows);
            x = g.dense(P, &layer, first);
            seen.push(x);
        }
        let all = g.stack(&seen);
        mixed(g, all)
    }));
    all.push(case("weights that are also an input", &[[4, 4]], |g, s| {
        let x = g.parameter(P, &s[0]);
        let y = g.dense(P, &Dense { weight: s[0].clone(), bias: None, activation: Activation::Elu }, x);
        mixed(g, y)
    }));
    all.push(case("boards", &[[9 * 5, FILTERS], [1, FILTERS]], |g, s| {
        let (board, mut bits) = (Board::new(5), Vec::new());
        let cells: Vec<u8> = (0..2 * 500).map(|i| u8::from(i * i % 7 == 1)).collect();
        board.pack_all(&cells, &mut bits);
        let y = g.boards(P, &board, &s[0], &s[1], &bits);
        mixed(g, y)
    }));
    all.push(matrix("layer norm", &[[3, 37]], |g, v| g.layer_norm(v[0])));
    all
}

fn pictures() -> Vec<Case> {
    let plain = Pool { picture: [7, 6, 3], window: [3, 2], stride: [2, 1], padding: [[0, 0]; 2] };
    let around = Pool { padding: [[1, 2], [0, 1]], ..plain };
    let square = Pool { picture: [5, 5, 2], window: [3, 3], stride: [2, 2], padding: [[0, 0]; 2] }.same();
    let patches = Pool { picture: [8, 8, 3], window: [4, 4], stride: [4, 4], padding: [[0, 0]; 2] };
    let beside = Pool { picture: [6, 7, 1], window: [2, 2], stride: [4, 4], padding: [[0, 0]; 2] };
    let mut all = Vec::new();
    for (pool, filters) in [(plain, 4), (around, 16), (square, 5), (patches, 3), (beside, 2)] {
        let ([height, width], [down, right], channels) = (pool.window, pool.places(), pool.picture[2]);
        let (size, said) = (pool.picture.iter().product(), down * right * filters);
        let conv = move |s: &[Slot], biases: usize| Conv {
            pool,
            weight: Slot { shape: vec![height, width, channels, filters], ..s[1].clone() },
            bias: Slot { shape: vec![biases], ..s[2].clone() },
            activation: Activation::Elu,
        };
        let window = [height * width * channels, filters];
        all.push(case(&format!("conv {pool:?}"), &[[2, size], window, [1, filters]], move |g, s| {
            let x = g.parameter(P, &s[0]);
            let y = g.conv(P, &conv(s, filters), x);
            mixed(g, y)
        }));
        all.push(case(
            &format!("conv transposed {pool:?}"),
            &[[2, said], window, [1, channels]],
            move |g, s| {
                let x = g.parameter(P, &s[0]);
                let y = g.conv_transposed(P, &conv(s, channels), x);
                mixed(g, y)
            },
        ));
        all.push(matrix(&format!("max pool {pool:?}"), &[[2, size]], move |g, v| g.max_pool(&pool, v[0])));
    }
    all
}

fn cells() -> Vec<Case> {
    let lstm = |squash: Squash, hidden_too: bool, cell_too: bool| {
        move |g: &mut dyn Graph, v: &[Var]| {
            let (hidden, cell) = g.lstm(v[0], v.get(1).copied(), squash);
            match (hidden_too, cell_too) {
                (true, true) => g.mul(hidden, cell),
                (true, false) => hidden,
                _ => cell,
            }
        }
    };
    vec![
        matrix("lstm", &[[4, 12], [4, 3]], lstm(Squash::Tanh, true, true)),
        matrix("lstm from zeros", &[[4, 12]], lstm(Squash::Tanh, true, true)),
        matrix("lstm, hidden only", &[[2, 12], [2, 3]], lstm(Squash::Tanh, true, false)),
        matrix("lstm, cell only", &[[2, 12], [2, 3]], lstm(Squash::Tanh, false, true)),
        matrix("lstm with relu", &[[4, 12], [4, 3]], lstm(Squash::Relu, true, true)),
        matrix("lstm with relu, hidden only", &[[2, 12], [2, 3]], lstm(Squash::Relu, true, false)),
        matrix("gru", &[[4, 21], [4, 21], [4, 7]], |g, v| g.gru(v[0], v[1], v[2])),
    ]
}

fn shapes() -> Vec<Case> {
    vec![
        matrix("columns", &[[3, 2], [3, 1], [3, 4]], |g, v| g.columns(&[v[0], v[1], v[2], v[0]])),
        matrix("stack", &[[3, 2], [1, 2], [2, 2]], |g, v| g.stack(&[v[2], v[0], v[1], v[0]])),
        matrix("rows", &[[6, 3]], |g, v| {
            let (a, b) = (g.rows(v[0], 1..4), g.rows(v[0], 3..6));
            g.mul(a, b)
        }),
        matrix("gather", &[[4, 3]], |g, v| g.gather(v[0], &[3, 0, 3, 3, 2])),
        matrix("slice", &[[3, 6]], |g, v| {
            let (a, b) = (g.slice(v[0], 0..4), g.slice(v[0], 2..6));
            g.mul(a, b)
        }),
        matrix("pick", &[[4, 3]], |g, v| g.pick(v[0], &[2, 0, 0, 1])),
        matrix("reshape", &[[4, 3]], |g, v| {
            let wide = g.reshape(v[0], 6);
            let tall = g.reshape(wide, 3);
            g.mul(tall, v[0])
        }),
        matrix("linear", &[[2, 3], [2, 3]], |g, v| g.linear(&[(0.5, v[0]), (-2.0, v[1]), (3.0, v[0])], 1.5)),
        matrix("mul by itself", &[[2, 3]], |g, v| g.mul(v[0], v[0])),
        matrix("normal", &[[2, 3], [2, 3]], |g, v| g.normal(v[0], v[1], &[0.3, -1.0, 2.0, 0.1, 0.0, -0.4])),
        matrix("stop", &[[2, 3]], |g, v| {
            let still = g.stop(v[0]);
            g.mul(v[0], still)
        }),
        matrix("log softmax", &[[3, 11]], |g, v| g.log_softmax(v[0])),
        matrix("row mean", &[[3, 4]], |g, v| g.row_mean(v[0])),
        matrix("row std", &[[3, 4]], |g, v| g.row_std(v[0])),
    ]
}

fn losses() -> Vec<Case> {
    const WEIGHTS: [f32; 3] = [0.3, 0.0, -1.7];
    fn each(
        name: &str,
        run: fn(&mut dyn Graph, &[Var], Over<'_>) -> Loss,
        shapes: &[[usize; 2]],
    ) -> Vec<Case> {
        let over = |i: usize| [Over::Mean, Over::Sum, Over::Weights(&WEIGHTS)][i];
        let one = |i: usize| {
            case(&format!("{name} over {:?}", over(i)), shapes, move |g, slots| {
                let vars: Vec<Var> = slots.iter().map(|slot| g.parameter(P, slot)).collect();
                run(g, &vars, over(i))
            })
        };
        (0..3).map(one).collect()
    }
    let mut all = each("sum", |g, v, over| g.sum(v[0], over), &[[3, 4]]);
    // Targets are constants.
    all.extend(each(
        "huber",
        |g, v, over| {
            let y = g.input(&[0.1, 3.0, -2.5, 0.0, 0.4, 0.2], 2);
            g.huber(v[0], y, over)
        },
        &[[3, 2]],
    ));
    all.extend(each(
        "gaussian",
        |g, v, over| {
            let y = g.input(&[0.1, 3.0, -2.5, 0.0, 0.4, 0.2], 2);
            g.gaussian(v[0], y, over)
        },
        &[[3, 2]],
    ));
    all.extend(each(
        "kl",
        |g, v, over| {
            let stds = [v[1], v[3]].map(|s| {
                let s = g.activate(s, Activation::Softplus);
                g.linear(&[(1.0, s)], 0.1)
            });
            g.kl((v[0], stds[0]), (v[2], stds[1]), over)
        },
        &[[3, 5]; 4],
    ));
    all.extend(each(
        "cross entropy",
        |g, v, over| {
            let y: Vec<f32> = (0..3 * 9).map(|i| ((i * 7) % 5) as f32 * 0.2).collect();
            let y = g.input(&y, 9);
            g.cross_entropy(v[0], y, over)
        },
        &[[3, 9]],
    ));
    for bound in [-100.0, 100.0] {
        all.push(case(&format!("at least {bound}"), &[[2, 2]], move |g, s| {
            let x = g.parameter(P, &s[0]);
            let (a, b) = (mixed(g, x), g.sum(x, Over::Mean));
            let bounded = g.at_least(a, bound);
            g.total(&[(0.5, bounded), (-2.0, b), (1.5, bounded)])
        }));
    }
    all
}

fn double() -> Device {
    Device::cpu().with_precision(Precision::Double)
}

/// Loss and gradient on the engine.
fn on_engine(case: &Case, x: &[f64], backward: bool) -> (f64, Vec<f64>) {
    let mut g = Engine::wide(&double(), vec![(x.to_vec(), backward)]);
    let loss = (case.build)(&mut g);
    let value = g.loss(loss);
    (value, if backward { g.backward_wide(loss).remove(0) } else { Vec::new() })
}

/// With step h = 1e-5 a central difference errs by h² times the third derivative and by rounding of 1e-16 / h; the numbers
/// are of order one to ten. The tape works in single precision with sums of up to some dozen terms.
fn check(case: &Case, memory: &mut Memory, rng: &mut Rng) {
    let name = &case.name;
    let x: Vec<f32> = (0..case.layout.len()).map(|_| rng.normal() as f32).collect();
    let wide: Vec<f64> = x.iter().copied().map(f64::from).collect();
    let (value, gradient) = on_engine(case, &wide, true);
    let h = 1e-5;
    // Of many entries, some.
    for j in (0..x.len()).step_by(x.len() / 40 + 1) {
        let shifted = |by: f64| {
            let mut x = wide.clone();
            x[j] += by;
            on_engine(case, &x, false).0
        };
        let slope = (shifted(h) - shifted(-h)) / (2.0 * h);
        // What is stopped on the way has a slope, but no gradient: that case is compared with its formula below.
        if name != "stop" {
            let error = (slope - gradient[j]).abs();
            assert!(error < 1e-7 * (1.0 + slope.abs()), "{name}, {j}: slope {slope}, engine {}", gradient[j]);
        }
    }
    let mut ours = vec![f32::NAN; x.len()];
    let parameters = [Parameters::trained(&x)];
    let mut g = memory.tape(&parameters);
    let loss = (case.build)(&mut g);
    assert!(
        (g.loss(loss) - value).abs() < 3e-6 * (1.0 + value.abs()),
        "{name}: {} and {value}",
        g.loss(loss)
    );
    g.backward(loss, &mut [&mut ours]);
    let size = gradient.iter().fold(1.0f64, |a, g| a.max(g.abs()));
    for (j, (ours, theirs)) in ours.iter().zip(&gradient).enumerate() {
        assert!((f64::from(*ours) - theirs).abs() < 3e-6 * size, "{name}, {j}: tape {ours}, engine {theirs}");
    }
}

#[test]
fn operations_equal_finite_differences_and_executors_equal_each_other() {
    let (mut memory, mut rng) = (Memory::default(), Rng::from_seed(3));
    for case in [layers(), pictures(), cells(), shapes(), losses()].into_iter().flatten() {
        check(&case, &mut memory, &mut rng);
    }
}

/// `d/dx x stop(x) = x`, which no difference shows.
#[test]
fn nothing_flows_through_a_stop() {
    let x = [2.0, -3.0];
    let (mut memory, mut gradient) = (Memory::default(), [f32::NAN; 2]);
    let mut layout = Layout::default();
    let slot = layout.add("x", &[1, 2]);
    let parameters = [Parameters::trained(&x)];
    let mut g = memory.tape(&parameters);
    let v = g.parameter(P, &slot);
    let still = g.stop(v);
    let product = g.mul(v, still);
    let loss = g.sum(product, Over::Sum);
    g.backward(loss, &mut [&mut gradient]);
    assert_eq!(gradient, x);
}

/// A network of two layers: the gradient of what is trained and of a variable is the same whether the other layer is frozen
/// or not, and a block that the loss does not reach has a gradient of zeros.
#[test]
fn frozen_blocks_pass_gradients_on_and_get_none() {
    let mut rng = Rng::from_seed(5);
    let (mut first, mut second) = (Layout::default(), Layout::default());
    let a = Dense::new(&mut first, ["a", "a.bias"], [5, 8], Activation::Elu);
    let b = Dense::new(&mut second, ["b", "b.bias"], [8, 3], Activation::Tanh);
    let mut draw = |n: usize| (0..n).map(|_| rng.normal() as f32).collect::<Vec<_>>();
    let (x, y, seen) = (draw(first.len()), draw(second.len()), draw(20));
    let build = |g: &mut dyn Graph| {
        let seen = g.variable(&seen, 5);
        let hidden = g.dense(Block(0), &a, seen);
        let out = g.dense(Block(1), &b, hidden);
        let loss = g.sum(out, Over::Mean);
        (seen, loss)
    };
    let read = |g: &mut dyn Graph, seen: Var| {
        let mut d = Vec::new();
        g.gradient(seen, &mut d);
        d
    };
    let mut memory = Memory::default();
    let (mut dx, mut dy, mut dz) = (vec![9.0; x.len()], vec![9.0; y.len()], vec![9.0; y.len()]);
    let all = [Parameters::trained(&x), Parameters::trained(&y), Parameters::trained(&y)];
    let mut g = memory.tape(&all);
    let (seen_everywhere, loss) = build(&mut g);
    g.backward(loss, &mut [&mut dx, &mut dy, &mut dz]);
    let expected = read(&mut g, seen_everywhere);
    assert!(dz.iter().all(|&d| d == 0.0) && dx.iter().any(|&d| d != 0.0));
    let some = [Parameters::trained(&x), Parameters::frozen(&y)];
    let run = |g: &mut dyn Graph| {
        let (seen, loss) = build(g);
        let mut alone = vec![9.0; x.len()];
        g.backward(loss, &mut [&mut alone]);
        (alone, read(g, seen))
    };
    assert_eq!(run(&mut memory.tape(&some)), (dx.clone(), expected.clone()));
    let (theirs, d_seen) = run(&mut Engine::new(&Device::cpu(), &some));
    for (ours, theirs) in dx.iter().zip(&theirs).chain(expected.iter().zip(&d_seen)) {
        assert!((ours - theirs).abs() < 1e-6, "{ours} and {theirs}");
    }
}

/// What is left of an earlier, larger graph is never seen.
#[test]
fn memory_is_used_again_without_traces() {
    let mut rng = Rng::from_seed(7);
    let cases: Vec<Case> =
        [layers(), pictures(), cells(), shapes(), losses()].into_iter().flatten().collect();
    let inputs: Vec<Vec<f32>> =
        cases.iter().map(|c| (0..c.layout.len()).map(|_| rng.normal() as f32).collect()).collect();
    let run = |case: &Case, x: &[f32], memory: &mut Memory| {
        let mut gradient = vec![f32::NAN; x.len()];
        let parameters = [Parameters::trained(x)];
        let mut g = memory.tape(&parameters);
        let loss = (case.build)(&mut g);
        g.backward(loss, &mut [&mut gradient]);
        (g.loss(loss).to_bits(), gradient.iter().map(|g| g.to_bits()).collect::<Vec<_>>())
    };
    let mut memory = Memory::default();
    for _ in 0..2 {
        for (case, x) in cases.iter().zip(&inputs) {
            let fresh = run(case, x, &mut Memory::default());
            memory.spoil();
            assert_eq!(run(case, x, &mut memory), fresh, "{}", case.name);
        }
    }
}

#[test]
fn numbers_that_are_not_finite_stay_visible() {
    let x = [f32::NAN, 1.0, 2.0];
    let mut memory = Memory::default();
    let mut g = memory.tape(&[]);
    let v = g.input(&x, 3);
    let zeros = g.input(&[0.0; 3], 3);
    let ones = g.input(&[1.0; 3], 3);
    let kl = g.kl((v, ones), (zeros, ones), Over::Mean);
    for loss in [
        g.huber(v, zeros, Over::Mean),
        g.gaussian(v, zeros, Over::Sum),
        g.at_least(kl, 3.0),
        g.cross_entropy(v, ones, Over::Mean),
    ] {
        assert!(g.loss(loss).is_nan());
    }
}
