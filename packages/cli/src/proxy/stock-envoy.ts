/** A stock Envoy without an agent: its bootstrap, and how it is kept in the mesh. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { envoyBootstrap, type SecureChannel } from "@flotilla/dataplane";
import type { Logger } from "@flotilla/runtime";
import { keepCertificate } from "../certificate/keep-certificate.ts";
import type { Run } from "../supervise/supervised.ts";
import { copyRoot, type ProxyPlan } from "./proxy-plan.ts";
import { startProxyProcess } from "./proxy-process.ts";

export interface BootstrapFiles {
  readonly bootstrap: string;
  readonly root: string;
  /** Where Envoy asks for its certificate. */
  readonly secretSocket: string;
}

/** Proves itself by a token, which it carries: nothing but the files is needed to connect. */
export async function writeTokenBootstrap(plan: ProxyPlan, adminPort: number): Promise<BootstrapFiles> {
  const root = copyRoot(plan);
  const { discoveryName: serverName } = plan;
  return writeBootstrap(plan, { by: "token", serverName, rootFile: root, token: await plan.token() }, adminPort);
}

function writeBootstrap(plan: ProxyPlan, secure: SecureChannel, adminPort: number): BootstrapFiles {
  const { node, directory, discoveryAddress } = plan;
  const secretSocket = join(directory, "sds.sock");
  const bootstrap = join(directory, "envoy.json");
  const json = envoyBootstrap({ node, discoveryAddress, secure, delta: true, secretSocket, adminPort });
  // It may hold the token.
  writeFileSync(bootstrap, `${JSON.stringify(json, undefined, 2)}\n`, { mode: 0o600 });
  return { bootstrap, root: copyRoot(plan), secretSocket };
}

export interface RunEnvoyOptions {
  readonly plan: ProxyPlan;
  readonly program: string;
  readonly adminPort: number;
  readonly concurrency: number;
  readonly env: NodeJS.ProcessEnv;
}

/** Proves itself by its certificate, which `keepEnvoyCertificate` serves: tokens and roots may change while it runs. */
export function prepareEnvoy({ plan, program, adminPort, concurrency, env }: RunEnvoyOptions): {
  readonly logFile: string;
  readonly start: () => Promise<Run>;
} {
  const { bootstrap } = writeBootstrap(plan, { by: "certificate", serverName: plan.discoveryName }, adminPort);
  const logFile = join(plan.directory, "envoy.log");
  const args = [
    "-c",
    bootstrap,
    "--disable-hot-restart",
    "--concurrency",
    String(concurrency),
    "--log-level",
    "warning",
  ];
  const drain = ["--drain-time-s", "5", "--drain-strategy", "immediate"];
  const readyUrl = `http://127.0.0.1:${adminPort}/ready`;
  const start = () =>
    startProxyProcess({ program, args: [...args, ...drain], directory: plan.directory, env, logFile, readyUrl });
  return { logFile, start };
}

/** Serves the workload's certificate and the roots to Envoy, renewed, until `stop`. */
export async function keepEnvoyCertificate(
  { node, directory, caAddress, rootFile, tokenFile, workDir }: ProxyPlan,
  caName: string,
  log: Logger,
  stop: AbortSignal,
): Promise<void> {
  const { namespace, serviceAccount } = node;
  const unused = {
    out: undefined,
    reloadPidFile: undefined,
    reloadRedis: undefined,
    redisPasswordFile: undefined,
    servedBy: undefined,
  };
  await keepCertificate(
    {
      ...{ namespace, serviceAccount, ca: caAddress, caName, rootFile, tokenFile, names: [], workDir },
      ...{ ...unused, sdsSocket: join(directory, "sds.sock"), renewByFile: undefined, once: false, log },
    },
    stop,
  );
}
