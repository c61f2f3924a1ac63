"""Reference pictures of the walker, made by dm_control with MuJoCo's own renderer.

    pip install dm_control==1.0.50 mujoco==3.17.0
    MUJOCO_GL=egl python crates/ive-envs/tests/walker_pictures.py

writes two files into `crates/ive-envs/tests/fixtures`:

- `walker_pictures.json`: for each pose its kind, the nine numbers of qpos, and where MuJoCo puts the seven capsules, the centre of
  mass, the camera and the light;
- `walker_pictures.png`: the pictures of 64 x 64 pixels, one below the other in the same order.

Poses come in pairs of the same kind. The first of a pair, from one seed, served to find out how MuJoCo draws. The second, from another
seed, was added when the renderer was finished; the test reports both halves.
"""

import json
import pathlib
import struct
import zlib

import numpy as np
from dm_control import suite

STUDIED, HELD_OUT = 2022, 2023
SIDE = 64
FOLDER = pathlib.Path(__file__).parent / "fixtures"
GEOMS = ["torso", "right_thigh", "right_leg", "right_foot", "left_thigh", "left_leg", "left_foot"]


def put(physics, qpos):
    with physics.reset_context():
        physics.data.qpos[:] = qpos


def lower(physics, gap=0.0):
    """Moves the walker up or down until its lowest point is `gap` above the floor."""
    ends = []
    for name in GEOMS:
        radius, half = physics.named.model.geom_size[name][:2]
        tilt = abs(physics.named.data.geom_xmat[name].reshape(3, 3)[2, 2])
        ends.append(physics.named.data.geom_xpos[name][2] - half * tilt - radius)
    qpos = physics.data.qpos.copy()
    qpos[0] += gap - min(ends)
    put(physics, qpos)


def push(physics, random, steps, torque):
    """Control steps of 25 ms under random torques."""
    for _ in range(steps):
        physics.set_control(random.uniform(-torque, torque, 6))
        physics.step(10)


def joints(random):
    """A pose as dm_control draws it at a reset: joints uniform in their ranges, any angle of the torso."""
    limits = np.deg2rad([[-20, 100], [-150, 0], [-45, 45]] * 2)
    return np.concatenate([[0, 0, random.uniform(-np.pi, np.pi)], random.uniform(limits[:, 0], limits[:, 1])])


def reset(physics, random):
    put(physics, joints(random))


def falling(physics, random):
    """Some steps after a reset, under random torques."""
    put(physics, joints(random))
    push(physics, random, steps=random.randint(5, 40), torque=1.0)


def lying(physics, random):
    put(physics, joints(random))
    push(physics, random, steps=random.randint(60, 160), torque=0.3)


def standing(physics, random):
    put(physics, np.concatenate([[0, random.uniform(0, 5)], random.uniform(-0.1, 0.1, 7)]))
    lower(physics)


def walking(physics, random):
    """A stride: the legs swing against each other, a knee bends when its leg comes forward."""
    phase, lean = random.uniform(0, 2 * np.pi), random.uniform(-0.05, 0.3)
    legs = []
    for turn in (phase, phase + np.pi):
        legs += [0.25 + 0.5 * np.sin(turn), -0.2 - 0.6 * max(0.0, np.cos(turn)), 0.3 * np.sin(turn + 1)]
    put(physics, np.concatenate([[0, random.uniform(0, 60), lean], legs]))
    lower(physics, 0.01)


def far(physics, random):
    """Walking, far from the origin."""
    walking(physics, random)
    qpos = physics.data.qpos.copy()
    qpos[1] = random.choice([-1, 1]) * random.uniform(90, 200) if random.rand() < 0.3 else random.uniform(90, 480)
    put(physics, qpos)


def edge(physics, random):
    """Walking or lying where the floor begins, at x = -2."""
    (walking if random.rand() < 0.7 else lying)(physics, random)
    qpos = physics.data.qpos.copy()
    qpos[1] = random.uniform(-3.5, -0.8)
    put(physics, qpos)


def upside_down(physics, random):
    qpos = joints(random)
    qpos[2] = np.pi + random.uniform(-0.6, 0.6)
    put(physics, qpos)
    lower(physics, random.uniform(0, 0.2))


KINDS = [(reset, 12), (falling, 12), (lying, 8), (standing, 4), (walking, 16), (far, 8), (edge, 6), (upside_down, 6)]


def png(path, rows):
    """Without row filters the same piece of sky is the same bytes in every picture, which zlib finds; the file is a quarter as large."""
    height, width, _ = rows.shape
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    packer = zlib.compressobj(9, zlib.DEFLATED, 15, 9)
    data = packer.compress(b"".join(b"\0" + row.tobytes() for row in rows)) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def draw(seed):
    """All kinds of poses with their pictures."""
    random = np.random.RandomState(seed)
    physics = suite.load("walker", "walk", task_kwargs={"random": 0}).physics
    made = []
    for kind, count in KINDS:
        for _ in range(count):
            kind(physics, random)
            data = physics.named.data
            pose = {
                "kind": kind.__name__,
                "qpos": physics.data.qpos.tolist(),
                "geoms": [data.geom_xpos[name].tolist() for name in GEOMS],
                "centre_of_mass": data.subtree_com["torso"].tolist(),
                "camera": data.cam_xpos["side"].tolist(),
                "light": data.light_xpos["light"].tolist(),
            }
            made.append((pose, physics.render(SIDE, SIDE, camera_id=0)))
    return made


def main():
    studied, held_out = draw(STUDIED), draw(HELD_OUT)
    made = [pair[i % 2] for i, pair in enumerate(zip(studied, held_out))]
    lines = ",\n".join(json.dumps(pose) for pose, _ in made)
    FOLDER.joinpath("walker_pictures.json").write_text("[\n" + lines + "\n]\n")
    png(FOLDER / "walker_pictures.png", np.concatenate([picture for _, picture in made]))


if __name__ == "__main__":
    main()
