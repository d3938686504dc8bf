/** `flotilla compare`: what an istiod and Flotilla send to the same proxies. Asks only, writes nothing. */
import { readFileSync } from "node:fs";
import { create } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { type ClientTransport, ProxySession } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { credentials } from "@grpc/grpc-js";
import { askConnections, type ConnectedProxy, readConnections } from "../compare/connected-proxies.ts";
import { differencesOf, type ProxyDifferences } from "../compare/differences.ts";
import { type Capture, captureFromCore, coreFromCluster, coreFromFiles } from "../compare/own-side.ts";
import { type Comparison, describeComparison, sarifOf } from "../compare/report.ts";
import { withWholeRoutes } from "../compare/whole-routes.ts";
import type { compare as definition } from "../definitions/migration.ts";
import { CliError } from "../errors.ts";
import { render } from "../output.ts";
import type { Invocation, Run } from "../parse/definition.ts";

type Options = Invocation<typeof definition>["options"];

/** Waypoints and ztunnels ask for types of their own. */
const comparedTypes: readonly string[] = ["sidecar", "router"];

export const compare: Run<typeof definition> = async ({ options, env, terminal }) => {
  const { istiod, all, proxy: names, output } = options;
  if (istiod === undefined) throw new CliError("CLI_USAGE", "compare needs --istiod HOST:PORT");
  if (all === names.length > 0) throw new CliError("CLI_USAGE", "compare needs --all or --proxy NAME.NAMESPACE");
  const connected = await connectedProxies(options, istiod);
  const wanted = all ? connected : selected(connected, names);
  const compared = wanted.filter(({ type }) => comparedTypes.includes(type));
  const own = await ownSide(options, env);
  const transport = transportOf(istiod, options);
  const proxies: ProxyDifferences[] = [];
  for (const one of compared)
    proxies.push(
      differencesOf(one.name, await captureOverWire(one, transport, istiod), withWholeRoutes(await own(one))),
    );
  const comparison: Comparison = { proxies, notCompared: countByType(wanted) };
  if (output === "sarif") terminal.print(JSON.stringify(sarifOf(comparison), undefined, 2));
  else terminal.print(render(output, comparison, describeComparison));
  if (compared.length === 0) throw new CliError("CLI_ABSENT", "no proxy was compared");
  return proxies.every(({ differences }) => differences.length === 0) ? 0 : 1;
};

async function connectedProxies(options: Options, istiod: string): Promise<readonly ConnectedProxy[]> {
  const { proxies: files, debug = istiod } = options;
  return files.length === 0 ? askConnections(transportOf(debug, options, true), debug) : readConnections(files);
}

function selected(connected: readonly ConnectedProxy[], names: readonly string[]): readonly ConnectedProxy[] {
  const unknown = names.filter((name) => !connected.some((proxy) => proxy.name === name));
  if (unknown.length > 0)
    throw new CliError(
      "CLI_ABSENT",
      `istiod has no proxy ${unknown.join(", ")}; it has ${connected.map(({ name }) => name).join(", ")}`,
    );
  return connected.filter(({ name }) => names.includes(name));
}

function countByType(proxies: readonly ConnectedProxy[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { type } of proxies) if (!comparedTypes.includes(type)) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
}

/** TLS where roots are given, or for the debug types alone where they have an address of their own. */
function transportOf(
  address: string,
  { ca, tokenFile, serverName, debug }: Options,
  forDebug = false,
): ClientTransport {
  const isTls = ca !== undefined && (debug === undefined || forDebug);
  const token =
    tokenFile === undefined || !(isTls || debug === undefined) ? undefined : readFileSync(tokenFile, "utf8").trim();
  return grpcTransport({
    address,
    ...(isTls && { tls: credentials.createSsl(readFileSync(ca)), serverName }),
    ...(token !== undefined && { token }),
  });
}

async function ownSide(options: Options, env: NodeJS.ProcessEnv): Promise<(proxy: ConnectedProxy) => Promise<Capture>> {
  const { file, kube, kubeconfig, flotilla } = options;
  if (Number(file.length > 0) + Number(kube) + Number(flotilla !== undefined) !== 1)
    throw new CliError("CLI_USAGE", "compare needs one of -f DIR, --kube and --flotilla HOST:PORT");
  if (flotilla !== undefined) {
    const transport = grpcTransport({ address: flotilla });
    return (proxy) => captureOverWire(proxy, transport, flotilla);
  }
  const core = kube ? await coreFromCluster(kubeconfig, env, options) : coreFromFiles(file, options);
  return async ({ id, metadata, locality }) =>
    captureFromCore(core, { id, metadata, ...(locality && { locality: { ...locality, subzone: locality.subZone } }) });
}

const answerMs = 10_000;
/** A control plane that sent nothing for this long has sent everything. */
const quietMs = 700;

/** @throws CliError CLI_NOT_RUNNING */
async function captureOverWire(
  { id, name, metadata, locality }: ConnectedProxy,
  transport: ClientTransport,
  address: string,
): Promise<Capture> {
  const node = create(NodeSchema, {
    ...{ id, userAgentName: "envoy" },
    metadata: JSON.parse(JSON.stringify(metadata)),
    ...(locality && { locality }),
  });
  await using session = new ProxySession({ transport, form: "sotw", kind: "envoy", node });
  if (!(await session.nextUpdate(answerMs))) {
    const reason =
      session.lastError instanceof Error ? session.lastError.message : `no answer within ${answerMs / 1000}s`;
    throw new CliError("CLI_NOT_RUNNING", `${address} sends nothing to ${name}: ${reason}`);
  }
  while (await session.nextUpdate(quietMs));
  return session.capture();
}
