/** `flotilla compare`: what an istiod and Flotilla send to the same proxies. Asks only, writes nothing. */
import { readFileSync } from "node:fs";
import { create } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { type ClientTransport, ProxySession, usualForm } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { credentials } from "@grpc/grpc-js";
import { askConnections, type ConnectedProxy, readConnections } from "../compare/connected-proxies.ts";
import { differencesOf, type ProxyDifferences } from "../compare/differences.ts";
import { type MadeFrom, nothingKnown } from "../compare/objects.ts";
import {
  type Capture,
  captureFromCore,
  coreFromCluster,
  coreFromFiles,
  madeFromCore,
  servesAmbient,
} from "../compare/own-side.ts";
import { type Comparison, describeComparison, sarifOf } from "../compare/report.ts";
import { withWholeRoutes } from "../compare/whole-routes.ts";
import type { compare as definition } from "../definitions/migration.ts";
import { CliError } from "../errors.ts";
import { render } from "../output.ts";
import type { Invocation, Run } from "../parse/definition.ts";

type Options = Invocation<typeof definition>["options"];

const ambientTypes: readonly string[] = ["waypoint", "ztunnel"];
const comparedTypes: readonly string[] = ["sidecar", "router", ...ambientTypes];

export const compare: Run<typeof definition> = async ({ options, env, terminal }) => {
  const { istiod, all, proxy: names, output } = options;
  if (istiod === undefined) throw new CliError("CLI_USAGE", "compare needs --istiod HOST:PORT");
  if (all === names.length > 0) throw new CliError("CLI_USAGE", "compare needs --all or --proxy NAME.NAMESPACE");
  const connected = await connectedProxies(options, istiod);
  const wanted = all ? connected : selected(connected, names);
  const compared = wanted.filter(({ type }) => comparedTypes.includes(type));
  const own = await ownSide(options, env);
  const isAmbient = compared.some(({ type }) => ambientTypes.includes(type));
  if (isAmbient && options.flotilla === undefined && !servesAmbient(options))
    terminal.warn("Flotilla serves waypoints and ztunnels with PILOT_ENABLE_AMBIENT=true: give it in --env-file");
  const transport = transportOf(istiod, options);
  const proxies: ProxyDifferences[] = [];
  for (const one of compared) {
    const theirs = await captureOverWire(one, transport, istiod);
    const { capture, madeFrom } = await own(one);
    proxies.push(differencesOf(one.name, theirs, withWholeRoutes(capture), madeFrom));
  }
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

interface Answer {
  readonly capture: Capture;
  readonly madeFrom: MadeFrom;
}

async function ownSide(options: Options, env: NodeJS.ProcessEnv): Promise<(proxy: ConnectedProxy) => Promise<Answer>> {
  const { file, kube, kubeconfig, flotilla } = options;
  if (Number(file.length > 0) + Number(kube) + Number(flotilla !== undefined) !== 1)
    throw new CliError("CLI_USAGE", "compare needs one of -f DIR, --kube and --flotilla HOST:PORT");
  if (flotilla !== undefined) {
    const transport = grpcTransport({ address: flotilla });
    return async (proxy) => ({ capture: await captureOverWire(proxy, transport, flotilla), madeFrom: nothingKnown });
  }
  const core = kube ? await coreFromCluster(kubeconfig, env, options) : coreFromFiles(file, options);
  return async ({ id, metadata, locality }) => {
    const info = { id, metadata, ...(locality && { locality: { ...locality, subzone: locality.subZone } }) };
    return { capture: captureFromCore(core, info), madeFrom: madeFromCore(core, info) };
  };
}

const limits = { answerMs: 10_000, quietMs: 700 };

/** @throws CliError CLI_NOT_RUNNING */
async function captureOverWire(
  { id, name, type, metadata, locality }: ConnectedProxy,
  transport: ClientTransport,
  address: string,
): Promise<Capture> {
  const node = create(NodeSchema, {
    ...{ id, userAgentName: "envoy" },
    metadata: JSON.parse(JSON.stringify(metadata)),
    ...(locality && { locality }),
  });
  const kind = type === "ztunnel" ? "ztunnel" : "envoy";
  await using session = new ProxySession({ transport, form: usualForm[kind], kind, node });
  const missing = await session.settle(limits);
  if (missing.length > 0) {
    const { lastError } = session;
    const reason = lastError instanceof Error ? lastError.message : `no answer within ${limits.answerMs / 1000}s`;
    throw new CliError("CLI_NOT_RUNNING", `${address} sends no ${missing.join(", ")} to ${name}: ${reason}`);
  }
  return session.capture();
}
