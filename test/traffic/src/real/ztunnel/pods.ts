/**
 * Pods on one machine: network namespaces on a bridge of the namespace that this runs in, which has no way to the host. Those that
 * are captured have their connections redirected to the ztunnel in them.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { proxyGroupId } from "@flotilla/dataplane";
import type { PodAnswer, PodCall } from "./pod-agent.ts";

/** Where pods reach what listens in the namespace of the bridge. */
export const bridgeAddress = "10.99.0.1";

export interface Pod extends AsyncDisposable {
  readonly name: string;
  readonly address: string;
  /** A request of the pod's own workload. */
  call(address: string, port: number, path?: string): Promise<string>;
  /** A program of the pod's proxy, whose connections are not redirected. */
  spawnProxy(command: string, args: readonly string[], options: ProxyOptions): ChildProcess;
}

interface ProxyOptions {
  readonly env: Readonly<Record<string, string>>;
  /** An open file. */
  readonly log: number;
}

export interface PodOptions {
  readonly name: string;
  readonly address: string;
  readonly isCaptured: boolean;
}

const run = (program: string, ...args: readonly string[]) => execFileSync(program, args, { stdio: "pipe" });

export function makeBridge(): void {
  run("ip", "link", "set", "lo", "up");
  run("ip", "link", "add", "br0", "type", "bridge");
  run("ip", "address", "add", `${bridgeAddress}/24`, "dev", "br0");
  run("ip", "link", "set", "br0", "up");
}

/** Serves 8080 and 9090 when it resolves. */
export async function startPod({ name, address, isCaptured }: PodOptions): Promise<Pod> {
  const namespace = `flotilla-${process.pid}-${name}`;
  makeNamespace(namespace, address);
  const script = fileURLToPath(new URL("pod-agent.ts", import.meta.url));
  const agent = spawn("ip", ["netns", "exec", namespace, process.execPath, script, name, "8080", "9090"], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  await once(agent, "message");
  if (isCaptured) redirect(namespace);
  const waiting = new Map<number, (answer: string) => void>();
  agent.on("message", ({ id, answer }: PodAnswer) => {
    waiting.get(id)?.(answer);
    waiting.delete(id);
  });
  let calls = 0;
  return {
    name,
    address,
    call: (to, port, path = "/") =>
      new Promise((resolve) => {
        calls++;
        waiting.set(calls, resolve);
        agent.send({ id: calls, address: to, port, path } satisfies PodCall);
      }),
    spawnProxy: (command, args, { env, log }) => {
      const asProxy = ["setpriv", "--regid", String(proxyGroupId), "--clear-groups", command, ...args];
      return spawn("ip", ["netns", "exec", namespace, ...asProxy], { env, stdio: ["ignore", log, log] });
    },
    [Symbol.asyncDispose]: async () => {
      const ended = once(agent, "exit");
      agent.disconnect();
      await ended;
      run("ip", "netns", "delete", namespace);
    },
  };
}

function makeNamespace(namespace: string, address: string): void {
  const inside = (...args: readonly string[]) => run("ip", "-netns", namespace, ...args);
  const end = `v${address.slice(address.lastIndexOf(".") + 1)}`;
  run("ip", "netns", "add", namespace);
  run("ip", "link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", namespace);
  run("ip", "link", "set", end, "master", "br0", "up");
  inside("link", "set", "lo", "up");
  inside("address", "add", `${address}/24`, "dev", "eth0");
  inside("link", "set", "eth0", "up");
  // Addresses of services are of no network: the redirection replaces them.
  inside("route", "add", "default", "dev", "eth0");
}

/** As istio-cni does it for a ztunnel in the pod; ports of the ztunnel itself are not redirected. */
function redirect(namespace: string): void {
  const append = (chain: string, ...rule: readonly string[]) =>
    run("ip", "netns", "exec", namespace, "iptables", "-w", "-t", "nat", "-A", chain, ...rule);
  append("PREROUTING", "-p", "tcp", "-m", "multiport", "--dports", "15008,15020,15021", "-j", "RETURN");
  append("PREROUTING", "-p", "tcp", "-j", "REDIRECT", "--to-ports", "15006");
  append("OUTPUT", "-m", "owner", "--gid-owner", String(proxyGroupId), "-j", "RETURN");
  append("OUTPUT", "-o", "lo", "-j", "RETURN");
  append("OUTPUT", "-p", "tcp", "-j", "REDIRECT", "--to-ports", "15001");
}
