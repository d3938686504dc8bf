/** Istio's command line against the control plane of the cluster. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./process.ts";

const program = process.env["ISTIOCTL"];

/** Why its tests are skipped, or false. */
export const noIstioctl = program === undefined && "ISTIOCTL names no istioctl";

/** Resolves to its output. @throws ProcessError */
export function istioctl(...args: readonly string[]): Promise<string> {
  return run(`${program}`, args);
}

/** The environment of a machine (`cluster.env`) by `istioctl x workload entry configure`. @throws ProcessError */
export async function machineEnvironment(namespace: string): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-machine-"));
  try {
    const group = join(directory, "group.yaml");
    const named = ["--name", "machine", "--namespace", namespace, "--labels", "app=machine"];
    writeFileSync(group, await istioctl("x", "workload", "group", "create", ...named));
    const output = join(directory, "out");
    // Where no gateway has an address, it is given.
    const options = ["--clusterID", "Kubernetes", "--ingressIP", "192.0.2.1"];
    await istioctl("x", "workload", "entry", "configure", "-f", group, "-o", output, ...options);
    return readFileSync(join(output, "cluster.env"), "utf8");
  } finally {
    rmSync(directory, { recursive: true });
  }
}
