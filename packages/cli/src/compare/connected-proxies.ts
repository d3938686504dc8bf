/** The proxies that are connected to an istiod, with their nodes: asked by its debug types over xDS, or read from a list of them. */
import { readFileSync } from "node:fs";
import { compareText } from "@flotilla/model";
import { create, debugTypeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { type ClientTransport, XdsClient } from "@flotilla/xds/client";
import { CliError } from "../errors.ts";

export interface ConnectedProxy {
  /** `web-5d8c.shop`: name and namespace of its pod. */
  readonly name: string;
  /** sidecar, router, waypoint, ztunnel … */
  readonly type: string;
  readonly id: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly locality: { readonly region: string; readonly zone: string; readonly subZone: string } | undefined;
}

/** Answer of `/debug/adsz` of istiod, and its debug type of that name. */
interface Connections {
  readonly clients?: readonly {
    /** The proxy's name and namespace, with the connection's number. */
    readonly connectionId: string;
    readonly metadata?: Readonly<Record<string, unknown>> | null;
    readonly locality?: { readonly region?: string; readonly zone?: string; readonly sub_zone?: string } | null;
  }[];
}

/** Answer of `/debug/syncz`: the only page with the types of proxies. */
type SyncStatus = readonly { readonly proxy?: string; readonly proxy_type?: string }[];

const bothNeeded = "both answers are needed: /debug/adsz for the nodes, /debug/syncz for their types";

/** `texts` are answers of `/debug/adsz` and `/debug/syncz`, in any order. @throws CliError CLI_USAGE when one is something else or missing */
export function parseConnections(texts: readonly string[], source: string): readonly ConnectedProxy[] {
  const answers = texts.map((text) => parseAnswer(text, source));
  const types = new Map(
    answers.filter((answer): answer is SyncStatus => Array.isArray(answer)).flatMap((status) => typesOf(status)),
  );
  const connections = answers.filter((answer): answer is Connections => !Array.isArray(answer));
  if (connections.length === 0 || connections.length === answers.length) throw new CliError("CLI_USAGE", bothNeeded);
  const proxies = connections.flatMap(({ clients = [] }) =>
    clients.flatMap(({ connectionId, metadata, locality }): readonly ConnectedProxy[] => {
      const name = connectionId.replace(/-\d+$/, "");
      const type = types.get(name);
      // Clients of the debug types connect without the metadata of a proxy.
      if (!metadata || type === undefined || typeof metadata["INSTANCE_IPS"] !== "string") return [];
      const [ip] = metadata["INSTANCE_IPS"].split(",");
      const id = [type, ip, name, `${metadata["NAMESPACE"]}.svc.cluster.local`].join("~");
      const { region = "", zone = "", sub_zone: subZone = "" } = locality ?? {};
      return [{ name, type, id, metadata, locality: region === "" ? undefined : { region, zone, subZone } }];
    }),
  );
  // A proxy may have several connections.
  return [...new Map(proxies.map((proxy) => [proxy.id, proxy])).values()].toSorted((a, b) =>
    compareText(a.name, b.name),
  );
}

function typesOf(status: SyncStatus): readonly (readonly [string, string])[] {
  return status.flatMap(({ proxy, proxy_type: type }) =>
    proxy === undefined || type === undefined ? [] : [[proxy, type] as const],
  );
}

function parseAnswer(text: string, source: string): Connections | SyncStatus {
  try {
    return JSON.parse(text) as Connections | SyncStatus;
  } catch (cause) {
    const start = text.slice(0, 200);
    throw new CliError("CLI_USAGE", `${source} has no JSON of istiod's debug pages: ${start}`, { cause });
  }
}

export function readConnections(files: readonly string[]): readonly ConnectedProxy[] {
  const texts = files.map((file) => readFileSync(file === "-" ? 0 : file, "utf8"));
  return parseConnections(texts, files.join(", "));
}

/** @throws CliError CLI_NOT_RUNNING when istiod does not answer, or refuses the token */
export async function askConnections(transport: ClientTransport, address: string): Promise<readonly ConnectedProxy[]> {
  const texts = [await askPage("adsz", transport, address), await askPage("syncz", transport, address)];
  return parseConnections(texts, `the answer of ${address}`);
}

const answerMs = 10_000;

async function askPage(page: string, transport: ClientTransport, address: string): Promise<string> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), answerMs);
  let answer: string | undefined;
  let failure: unknown;
  const client = new XdsClient({
    ...{ form: "sotw", transport, backoffMs: () => 500 },
    // istiod takes nodes with the type of a proxy alone.
    node: create(NodeSchema, {
      id: "sidecar~127.0.0.1~flotilla-compare.istio-system~istio-system.svc.cluster.local",
      metadata: { NAMESPACE: "istio-system" },
    }),
    nameOf: () => "",
    onUpdate: ({ changed: [resource] }) => {
      answer = new TextDecoder().decode(resource?.bytes);
      stop.abort();
    },
    onConnection: (event, error) => {
      if (event === "opened" || error === undefined) return;
      failure = error;
      stop.abort();
    },
  });
  client.subscribe(debugTypeUrl, [page]);
  try {
    await client.run(stop.signal);
  } finally {
    clearTimeout(timer);
  }
  if (answer !== undefined) return answer;
  const reason = failure instanceof Error ? failure.message : `no answer within ${answerMs / 1000}s`;
  throw new CliError(
    "CLI_NOT_RUNNING",
    `${address} does not list its proxies: ${reason}; istiod lists them to tokens of its own namespace on its TLS port, or give --proxies`,
    { cause: failure },
  );
}
