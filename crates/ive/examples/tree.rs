//! A tree: every node is expanded on the actions that a prior prefers, all nodes of a depth in one batch. Cut off at depth
//! k, the tree gives a k-step value of each action at its root; where these disagree, something is not known.
//!
//! `cargo run --release --example tree`

use ive::{
    Error, Imagined, Model, ModelError, Prior, Rng, Select, ValueEnsemble, ValueFunction, mix_logits,
    select_rows,
};

/// The nodes of one depth: where they hang in the depth above, the step that led to them, and what they are worth.
struct Layer {
    parents: Vec<usize>,
    rewards: Vec<f64>,
    discounts: Vec<f64>,
    values: Vec<f64>,
}

/// The actions with the largest logits, at most `width`.
fn likeliest(logits: &[f64], width: usize) -> Vec<usize> {
    let mut actions: Vec<usize> = (0..logits.len()).collect();
    actions.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
    actions.truncate(width);
    actions.sort_unstable();
    actions
}

/// The values of the actions at the root, from the leaves of the last layer: `q(s, a) = r + γ max_a' q(s', a')`.
fn back_up(layers: &[Layer]) -> Vec<f64> {
    let mut behind = layers.last().map(|leaves| leaves.values.clone()).unwrap_or_default();
    for (depth, layer) in layers.iter().enumerate().rev() {
        let steps = layer.rewards.iter().zip(&layer.discounts).zip(&behind);
        let q: Vec<f64> = steps.map(|((r, d), v)| r + d * v).collect();
        if depth == 0 {
            return q;
        }
        behind = vec![f64::NEG_INFINITY; layers[depth - 1].values.len()];
        layer.parents.iter().zip(&q).for_each(|(&p, q)| behind[p] = behind[p].max(*q));
    }
    behind
}

/// The k-step values of all actions at the root, a batch of one state, for k = 1 to `depth`. Nodes below the root are
/// expanded on `width` actions.
pub fn search<S>(
    model: &impl Model<S, Vec<usize>>,
    value: &impl ValueFunction<S>,
    prior: &impl Prior<S>,
    pick: &impl Select<S>,
    root: &S,
    depth: usize,
    width: usize,
) -> Result<ValueEnsemble, Error> {
    let (mut layers, mut states) = (Vec::<Layer>::new(), pick.select(root, &[0])?);
    for _ in 0..depth {
        let logits = prior.logits(&states)?;
        let nodes = layers.last().map_or(1, |layer| layer.values.len());
        let actions = logits.len() / nodes;
        let width = if layers.is_empty() { actions } else { width };
        let expanded = logits.chunks(actions).map(|z| likeliest(z, width)).enumerate();
        let (parents, actions): (Vec<usize>, Vec<usize>) =
            expanded.flat_map(|(node, actions)| actions.into_iter().map(move |a| (node, a))).unzip();
        let step = model.imagine(&pick.select(&states, &parents)?, &actions, &mut Rng::from_seed(0))?;
        states = step.next;
        let values = value.values(&states)?;
        layers.push(Layer { parents, rewards: step.reward, discounts: step.discount, values });
    }
    ValueEnsemble::from_members((1..=depth).map(|k| back_up(&layers[..k])))
}

/// Prints σ of three actions, and checks that it is high for those that can lead to where nothing was learned.
pub fn main() -> Result<(), Error> {
    // A walk along a line: left, stay, right. Every step pays 1, and γ is 0.9.
    let model = |x: &Vec<f64>, action: &Vec<usize>, _: &mut Rng| -> Result<_, ModelError> {
        let next = x.iter().zip(action).map(|(x, a)| x + *a as f64 - 1.0).collect();
        Ok(Imagined { next, reward: vec![1.0; x.len()], discount: vec![0.9; x.len()] })
    };
    // The value: right up to 1, 1 / (1 − γ) = 10; made up beyond.
    let value = |x: &Vec<f64>| -> Result<_, ModelError> {
        Ok(x.iter().map(|x| if *x < 2.0 { 10.0 } else { 10.0 + 3.0 * x.sin() }).collect())
    };
    // The prior: away from the middle.
    let prior =
        |x: &Vec<f64>| -> Result<Vec<f64>, ModelError> { Ok(x.iter().flat_map(|x| [-x, 0.0, *x]).collect()) };

    let root = vec![0.0];
    let tree = search(&model, &value, &prior, &select_rows::<f64>, &root, 5, 2)?;
    let (mu, sigma) = (tree.mean(), tree.std());
    let explore = mix_logits(&prior(&root)?, &sigma, 5.0)?;
    println!("action       μ       σ   explores with (σ over the 5 members k = 1..5)");
    for (i, action) in ["left", "stay", "right"].iter().enumerate() {
        println!("{action:<6} {:>7.3} {:>7.3}   {:.2}", mu[i], sigma[i], explore[i]);
    }
    assert!(sigma[0] < 1e-12, "on the left all depths agree");
    assert!(sigma[1] > 0.3 && sigma[2] > 0.3, "where the way to the right is open they do not");
    assert!(explore[0] < 0.05, "so the left is not where to look");
    Ok(())
}
