//! A manifest for an indexed Job of Kubernetes. It follows the documentation and was not tried on a cluster.

use super::{How, full};
use crate::exit::Outcome;
use crate::output;
use crate::run::disk::Disk;
use crate::sweep::manifest::Sweep;

/// Writes the manifest, and says what is left to do.
pub fn submit(sweep: &Sweep, how: &How) -> Outcome {
    let text = manifest(sweep, how)?;
    if how.dry_run {
        return output::print(&text);
    }
    let disk = Disk::default();
    disk.create_directory(&sweep.jobs())?;
    let path = sweep.jobs().join("kubernetes.yaml");
    disk.replace(&path, text.as_bytes())?;
    output::print(&format!(
        "{0} is written. Put your image and volume in, then: kubectl apply -f {0}\nIt was not tried on a cluster.\n",
        path.display()
    ))
}

/// Exit codes 64, 65, 70 and 78 end an index; a pod that the cluster took away does not count; all others are retried.
fn manifest(sweep: &Sweep, how: &How) -> Outcome<String> {
    // A JSON string is a YAML string, whatever is in it.
    let dir = serde_json::Value::String(full(&sweep.dir)?);
    let tasks = sweep.manifest.tasks;
    let parallel = how.max_parallel.unwrap_or(10).min(tasks);
    let flags: String = how.task_flags().iter().map(|flag| format!(", \"{flag}\"")).collect();
    Ok(format!(
        "# Made by `ive sweep submit --engine kubernetes`. Not tried on a cluster.
# Replace IMAGE (with `ive` in its path) and CLAIM (a volume that all pods share, with the sweep in it).
apiVersion: batch/v1
kind: Job
metadata:
  generateName: ive-sweep-
spec:
  completionMode: Indexed
  completions: {tasks}
  parallelism: {parallel}
  backoffLimitPerIndex: 5
  podReplacementPolicy: Failed
  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions:
          - type: DisruptionTarget
      - action: FailIndex
        onExitCodes:
          operator: In
          values: [64, 65, 70, 78]
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 120
      containers:
        - name: task
          image: IMAGE
          command: [\"ive\", \"sweep\", \"task\", {dir}, \"$(JOB_COMPLETION_INDEX)\"{flags}]
          volumeMounts:
            - name: sweep
              mountPath: {dir}
      volumes:
        - name: sweep
          persistentVolumeClaim:
            claimName: CLAIM
"
    ))
}
