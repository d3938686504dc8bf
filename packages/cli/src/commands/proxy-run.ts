/** `flotilla proxy run`: a stock Envoy, or pilot-agent with one, started in the mesh and kept running until it is stopped. */
import { join } from "node:path";
import { createLogger, recordAdminAddress } from "@flotilla/runtime";
import { findServer, freePort } from "@flotilla/servers";
import type { proxyRun as definition } from "../definitions/proxy.ts";
import { CliError } from "../errors.ts";
import type { Invocation, Run as RunCommand } from "../parse/definition.ts";
import type { Terminal } from "../parse/terminal.ts";
import { keepToken, prepareAgent } from "../proxy/agent.ts";
import { type ProxyPlan, planProxy } from "../proxy/proxy-plan.ts";
import { startProxyProcess } from "../proxy/proxy-process.ts";
import { keepEnvoyCertificate, prepareEnvoy } from "../proxy/stock-envoy.ts";
import { untilSignal } from "../signals.ts";
import { eventText, type Run, Supervised } from "../supervise/supervised.ts";

const caName = "flotilla-ca.istio-system.svc";

interface Prepared {
  readonly start: () => Promise<Run>;
  readonly logFile: string;
  /** Certificates and tokens, kept fresh until it is stopped. */
  readonly upkeep: (stop: AbortSignal) => Promise<void>;
}

export const proxyRun: RunCommand<typeof definition> = async (invocation) => {
  const { options, env, terminal } = invocation;
  using requests = untilSignal(env);
  const { stop, fired } = requests;
  const plan = planProxy(options);
  const { name, namespace } = plan.node;
  const adminPort = options.adminPort ?? (await freePort());
  await using owned = new AsyncDisposableStack();
  const prepare = options.for === "envoy" ? prepareForEnvoy : prepareForAgent;
  const { start, logFile, upkeep } = await prepare(invocation, plan, adminPort, owned);
  const ended = new AbortController();
  const keeping = upkeep(AbortSignal.any([stop, ended.signal]));
  owned.defer(async () => {
    ended.abort();
    // It rejects with the reason of the stop; another failure has ended the command already.
    await keeping.catch(() => undefined);
  });
  const onEvent = (event: Parameters<typeof eventText>[0]) => terminal.print(eventText(event));
  const proxy = owned.use(new Supervised({ name: `${name}.${namespace}`, first: await start(), start, onEvent }));
  // The console shows its statistics.
  owned.use(
    await recordAdminAddress({ workDir: plan.workDir, proxy: `${name}.${namespace}` }, `127.0.0.1:${adminPort}`),
  );
  terminal.print(
    `${options.for} ${name}.${namespace}: pid ${proxy.run?.pid}, admin page http://127.0.0.1:${adminPort}, log ${logFile}`,
  );
  await Promise.race([fired, proxy.ended, failureOf(keeping, stop)]);
  return 0;
};

/** Rejects when the work fails before it is stopped. */
async function failureOf(work: Promise<void>, stop: AbortSignal): Promise<never> {
  await work.catch((error: unknown) => {
    if (!stop.aborted) throw error;
  });
  return new Promise<never>(() => {});
}

async function prepareForEnvoy(
  { options, env, terminal }: Invocation<typeof definition>,
  plan: ProxyPlan,
  adminPort: number,
): Promise<Prepared> {
  const program = await findEnvoy(env, terminal);
  const { start, logFile } = prepareEnvoy({ plan, program, adminPort, concurrency: options.concurrency, env });
  const log = createLogger("proxy", "warn");
  return { start, logFile, upkeep: (stop) => keepEnvoyCertificate(plan, caName, log, stop) };
}

/** @throws CliError CLI_USAGE */
async function prepareForAgent(
  { options, env, terminal }: Invocation<typeof definition>,
  plan: ProxyPlan,
  adminPort: number,
  owned: AsyncDisposableStack,
): Promise<Prepared> {
  const program = env["PILOT_AGENT"];
  if (program === undefined || program === "")
    throw new CliError("CLI_USAGE", "PILOT_AGENT names no pilot-agent: set it to the path of the program");
  const statusPort = options.statusPort ?? (await freePort());
  const agent = owned.use(await prepareAgent(plan, await findEnvoy(env, terminal), { adminPort, statusPort }));
  const logFile = join(plan.directory, "pilot-agent.log");
  const readyUrl = `http://127.0.0.1:${statusPort}/healthz/ready`;
  const run = { program, args: agent.args, directory: plan.directory, env: agent.env, logFile, readyUrl };
  return {
    logFile,
    start: () => startProxyProcess(run),
    upkeep: (stop) => keepToken(plan, agent.tokenFile, stop),
  };
}

/** @throws ServersError with everything that was tried */
function findEnvoy(env: NodeJS.ProcessEnv, terminal: Terminal): Promise<string> {
  return findServer("envoy", { env, onProgress: (text) => terminal.warn(text) });
}
