/**
 * A network namespace in which a workload's connections are redirected to its proxy, as in a pod. All of 10.0.0.0/8 is local there:
 * services, endpoints and unknown destinations are addresses of one host.
 */
import { execFileSync, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { proxyGroupId } from "@flotilla/dataplane";
import { findServer } from "@flotilla/servers";

/** The workload's own address: connections to it are redirected to the proxy's port for incoming ones. */
export const workloadAddress = "10.0.0.1";

const proxyGroup = String(proxyGroupId);

/** Why there can be no such namespace here; undefined when there can. */
export function whyNoNamespace(): string | undefined {
  if (process.platform !== "linux") return "network namespaces are Linux's";
  if (process.getuid?.() !== 0) return "only root may redirect connections";
  const missing = ["unshare", "ip", "iptables"].filter((program) => !isOnPath(program));
  return missing.length === 0 ? undefined : `not found: ${missing.join(", ")}`;
}

/** Runs a script in a namespace of its own and resolves to what it printed. @throws when it fails, with its output. */
export async function runInNamespace(script: string, args: readonly string[]): Promise<string> {
  // Nothing can be fetched from within.
  const env = { ...process.env, ENVOY_BIN: await findServer("envoy", { env: process.env }) };
  const command = ["--net", process.execPath, script, ...args];
  const child = spawn("unshare", command, { env, stdio: ["ignore", "pipe", "pipe"] });
  const [output, errors]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(Buffer.concat(output).toString());
      else reject(new Error(`${script} ended with ${code}: ${Buffer.concat([...output, ...errors]).toString()}`));
    });
  });
}

/** To be called within the namespace. */
export function redirectConnections(): void {
  const run = (program: string, ...args: readonly string[]) => execFileSync(program, args);
  run("ip", "link", "set", "lo", "up");
  run("ip", "route", "add", "local", "10.0.0.0/8", "dev", "lo");
  const redirect = (to: string, port: string) =>
    run(
      "iptables",
      ...["--table", "nat", "--append", "OUTPUT", "--protocol", "tcp", "--destination", to],
      ...["--match", "owner", "!", "--gid-owner", proxyGroup, "--jump", "REDIRECT", "--to-ports", port],
    );
  redirect(workloadAddress, "15006");
  redirect("10.0.0.0/8", "15001");
}

function isOnPath(program: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      // Not in this one.
      return false;
    }
  });
}
