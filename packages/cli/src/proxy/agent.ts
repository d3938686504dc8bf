/** Istio's pilot-agent with a stock Envoy, as a workload outside of Kubernetes. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type PreparedAgent, preparePilotAgent } from "@flotilla/dataplane";
import { delay } from "@flotilla/runtime";
import type { ProxyPlan } from "./proxy-plan.ts";

export interface AgentPorts {
  readonly adminPort: number;
  readonly statusPort: number;
}

/** Istio's own default. */
const certificateTtl = "24h0m0s";

export async function prepareAgent(plan: ProxyPlan, envoy: string, ports: AgentPorts): Promise<PreparedAgent> {
  const { directory, node, discoveryAddress, discoveryName, rootFile, token } = plan;
  return preparePilotAgent({
    ...{ directory, node, discoveryAddress, discoveryName, rootFile, envoy, certificateTtl, ...ports },
    token: await token(),
  });
}

/** The agent's environment, as a file that a shell or systemd reads. */
export function writeEnvironment({ directory }: ProxyPlan, { env }: PreparedAgent): string {
  const file = join(directory, "agent.env");
  const lines = Object.entries(env).map(([name, value]) => `${name}='${value.replaceAll("'", `'\\''`)}'`);
  writeFileSync(file, `${lines.join("\n")}\n`, { mode: 0o600 });
  return file;
}

/** Replaces the agent's token in the middle of its life, until `stop`: the agent reads it for each certificate. */
export async function keepToken({ token, tokenTtlMs }: ProxyPlan, file: string, stop: AbortSignal): Promise<void> {
  for (;;) {
    await delay(Math.min(tokenTtlMs / 2, maxWaitMs), stop);
    if (stop.aborted) return;
    writeFileSync(`${file}.new`, await token(), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
}

const maxWaitMs = 12 * 3_600_000;
