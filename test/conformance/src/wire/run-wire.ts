/** Runs a scenario over the wire: each proxy's streams stay open over all steps, and what they receive is compared after each of them. */
import { create, type JsonObject } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import type { Form } from "@flotilla/xds";
import { endpointNames, type ProxyKind, ProxySession, type ReceivedUpdate, routeNames } from "@flotilla/xds/client";
import type { Rules } from "@flotilla/xds/compare";
import { compareCapture, type ResourceResult, type ScenarioResult } from "../scenarios/run.ts";
import type { Capture, Resources, Scenario, ScenarioProxy, Stage } from "../scenarios/scenario.ts";
import type { OpenPlane, Plane } from "./plane.ts";

export interface WireOptions {
  readonly open: OpenPlane;
  readonly forms: readonly Form[];
  readonly wants: (proxy: ScenarioProxy) => boolean;
  readonly rules: Rules;
  /** A stream on which nothing arrives for this long, though something is missing, has failed. */
  readonly settleMs: number;
  /** Nothing more is expected after this silence. */
  readonly quietMs: number;
}

export const wireLimits = { settleMs: 8_000, quietMs: 250 } as const;

export interface WireResult extends ScenarioResult {
  /** Resources that were sent again in a step though they had not changed, as `stage stream type name`. */
  readonly resent: readonly string[];
  /** The number of steps made. */
  readonly stages: number;
}

export async function runOverWire(scenario: Scenario, options: WireOptions): Promise<WireResult> {
  const resources: ResourceResult[] = [];
  const resent: string[] = [];
  let stages = 0;
  try {
    await using owned = new AsyncDisposableStack();
    const plane = owned.use(await options.open(scenario));
    const streams = await openStreams(plane, scenario, options);
    for (const { session } of streams) owned.use(session);
    for (const [index, stage] of scenario.stages.entries()) {
      if (index > 0) {
        if (plane.apply === undefined) break;
        plane.apply(stage.step);
      }
      const found = await Promise.all(streams.map((stream) => observe(stream, stage, options)));
      resources.push(...found.flatMap((one) => one.resources));
      if (index > 0) resent.push(...found.flatMap((one) => one.resent));
      stages++;
    }
    return { scenario, resources, resent, stages };
  } catch (error) {
    return { scenario, resources, resent, stages, error };
  }
}

export interface Stream {
  /** `15010 delta web`. */
  readonly name: string;
  readonly proxy: ScenarioProxy;
  readonly form: Form;
  readonly sendsSecrets: boolean;
  readonly session: ProxySession;
}

export async function openStreams(
  plane: Plane,
  { proxies }: Scenario,
  { forms, wants }: Pick<WireOptions, "forms" | "wants">,
): Promise<readonly Stream[]> {
  const streams: Stream[] = [];
  for (const proxy of proxies.filter(wants)) {
    for (const [port, { connect, sendsSecrets }] of Object.entries(plane.ports)) {
      for (const form of forms) {
        const transport = await connect(proxy);
        const session = new ProxySession({
          transport,
          form,
          kind: kindOf(proxy),
          node: nodeOf(proxy),
          targets: proxy.grpcTargets ?? [],
        });
        streams.push({ name: `${port} ${form} ${proxy.name}`, proxy, form, sendsSecrets, session });
      }
    }
  }
  return streams;
}

export function kindOf({ type }: ScenarioProxy): ProxyKind {
  return type === "grpc" || type === "ztunnel" ? type : "envoy";
}

function nodeOf({ id, cluster, metadata, locality = "" }: ScenarioProxy) {
  const [region = "", zone = "", subZone = ""] = locality.split("/");
  return create(NodeSchema, {
    ...{ id, cluster, userAgentName: "envoy" },
    metadata: JSON.parse(JSON.stringify(metadata)),
    ...(locality !== "" && { locality: { region, zone, subZone } }),
  });
}

interface Observed {
  readonly resources: readonly ResourceResult[];
  readonly resent: readonly string[];
}

/** Between the messages of one change. */
const burstMs = 50;

const noCapture: Capture = new Map();

async function observe(
  { name, proxy, form, sendsSecrets, session }: Stream,
  { title, expected }: Stage,
  { rules, settleMs, quietMs }: WireOptions,
): Promise<Observed> {
  const all = expected.get(proxy.name) ?? noCapture;
  // A Secret on a port that must not send any is one too many.
  const want = sendsSecrets || !all.has("sds") ? all : new Map<string, Resources>([...all, ["sds", new Map()]]);
  const compare = () => compareCapture({ proxy: name, stage: title }, want, session.capture(), rules);
  let resources = compare();
  while (resources.some(({ outcome }) => outcome !== "equal") && (await session.nextUpdate(settleMs))) {
    // A burst is compared once.
    while (await session.nextUpdate(burstMs));
    resources = compare();
  }
  while (await session.nextUpdate(quietMs)) resources = compare();
  const received = session.takeReceived();
  if (received.length === 0 && want.size > 0 && session.lastError !== undefined && title === "")
    throw session.lastError;
  return { resources, resent: resentIn(received, session.capture(), form).map((what) => `${title} ${name} ${what}`) };
}

/**
 * By delta no resource is to arrive that the client has already, but for endpoints of a changed cluster and routes of a changed listener:
 * Envoy warms these up and waits for an answer. State of the world repeats whole types where one resource of them changes: only a message
 * without any change counts there.
 */
function resentIn(received: readonly ReceivedUpdate[], capture: Capture, form: Form): readonly string[] {
  const changed = (type: string) => {
    const names = received.filter((update) => update.type === type).flatMap(({ resources }) => resources);
    return names.flatMap(({ name, isSame }): JsonObject[] => {
      const resource = isSame ? undefined : capture.get(type)?.get(name);
      return resource === undefined ? [] : [resource];
    });
  };
  const warmed: Readonly<Record<string, ReadonlySet<string>>> = {
    eds: new Set(endpointNames(changed("cds"))),
    rds: new Set(routeNames(changed("lds"))),
  };
  return received.flatMap(({ type, resources, removed }) => {
    const same = resources.filter(({ name, isSame }) => isSame && !warmed[type]?.has(name));
    if (form === "delta") return same.map(({ name }) => `${type} ${name}`);
    return same.length > 0 && same.length === resources.length && removed.length === 0 ? [`${type} (all)`] : [];
  });
}
