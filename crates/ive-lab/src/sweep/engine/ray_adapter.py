"""Runs tasks of a sweep as tasks of Ray. Started by `ive sweep submit --engine ray`; it may be run by hand, too.

Arguments: the program `ive`, the directory of the sweep, a file with the numbers of the tasks, how many at a time, the
address of a cluster (empty: one is started here, on the loopback interface), further flags of `ive sweep task`.

A task that is killed, or whose worker or node is lost, is retried by Ray, and goes on from its last checkpoint.
"""

import subprocess
import sys

NO_RAY, NOT_DONE, STOPPED = 69, 74, 75
# These would end in the same way again; 73 means that somebody else works on the task.
FINAL = {0, 64, 65, 70, 73, 78}


def run(program, directory, index, flags):
    """One task. Its standard input is a pipe: when this process dies, the task saves and stops."""
    command = [program, "sweep", "task", directory, str(index), "--tethered", *flags]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        code = child.wait()
    if code not in FINAL:
        raise RuntimeError(f"task {index} ended with {code}")
    return code


def main():
    try:
        import ray
    except ImportError:
        return NO_RAY
    program, directory, tasks, jobs, address, *flags = sys.argv[1:]
    with open(tasks, encoding="utf-8") as lines:
        indices = [int(line) for line in lines]
    if address:
        ray.init(address=address)
    else:
        ray.init(address="local", num_cpus=int(jobs), include_dashboard=False, _node_ip_address="127.0.0.1")
    remote = ray.remote(num_cpus=1, max_retries=3, retry_exceptions=True)(run)
    waiting, done, code = list(reversed(indices)), 0, 0
    working = {}
    try:
        while waiting or working:
            while waiting and len(working) < int(jobs):
                index = waiting.pop()
                working[remote.remote(program, directory, index, flags)] = index
            (ready,), _ = ray.wait(list(working), num_returns=1)
            index = working.pop(ready)
            try:
                result = ray.get(ready)
            except Exception as error:  # Ray's own and the task's, after all retries
                result = NOT_DONE
                print(f"task {index}: {error}", file=sys.stderr)
            done += result == 0
            code = code or (NOT_DONE if result else 0)
            print(f"task {index} ended with {result}; {done} of {len(indices)} are done", file=sys.stderr)
    except KeyboardInterrupt:
        return STOPPED
    finally:
        ray.shutdown()
    return code


if __name__ == "__main__":
    sys.exit(main())
