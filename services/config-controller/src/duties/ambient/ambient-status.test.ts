/** Conditions of the ambient mesh that are written into the objects of a cluster, and what keeps them from being written. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KubeError } from "@flotilla/kube-api";
import { createMemoryApi, type MemoryApi } from "@flotilla/kube-api/memory";
import type { JsonObject } from "@flotilla/model";
import { type Logger, noopLogger, until } from "@flotilla/runtime";
import { AmbientStatus } from "./ambient-status.ts";
import type { ClusterObject, Condition } from "./cluster-objects.ts";

const roots = {
  Service: "/api/v1/namespaces/NS/services",
  ServiceEntry: "/apis/networking.istio.io/v1/namespaces/NS/serviceentries",
  WorkloadEntry: "/apis/networking.istio.io/v1/namespaces/NS/workloadentries",
  AuthorizationPolicy: "/apis/security.istio.io/v1/namespaces/NS/authorizationpolicies",
  Gateway: "/apis/gateway.networking.k8s.io/v1/namespaces/NS/gateways",
  GatewayClass: "/apis/gateway.networking.k8s.io/v1/gatewayclasses",
  Namespace: "/api/v1/namespaces",
} as const;

type Kind = keyof typeof roots;
type Stored = readonly [path: string, object: object];

/** @param path `namespace/name` */
function pathOf(kind: Kind, path: string): string {
  const [namespace = "", name = ""] = path.split("/");
  return `${roots[kind].replace("NS", namespace)}/${name}`;
}

const stored = (kind: Kind, path: string, object: JsonObject = {}): Stored => [pathOf(kind, path), object];
const labelled = (labels: JsonObject, more: JsonObject = {}) => ({ metadata: { labels }, ...more });
const use = (waypoint: string) => ({ "istio.io/use-waypoint": waypoint });
const gateway = (name: string, more: JsonObject = {}) =>
  stored("Gateway", name, {
    spec: { gatewayClassName: "istio-waypoint", listeners: [{ name: "mesh", port: 15008, protocol: "HBONE" }] },
    status: { addresses: [{ type: "Hostname", value: "w" }] },
    ...more,
  });
const policy = (name: string, spec: JsonObject, metadata: JsonObject = {}) =>
  stored("AuthorizationPolicy", name, { metadata, spec });
const targets = (...refs: readonly (readonly [group: string, kind: string, name: string])[]) => ({
  targetRefs: refs.map(([group, kind, name]) => ({ group, kind, name })),
  rules: [{}],
});
const controller = { "istio-waypoint": "istio.io/mesh-controller", other: "example.com/other" };

const cluster: readonly Stored[] = [
  ...["shop", "istio-system"].map((name) => stored("Namespace", `/${name}`)),
  stored("Namespace", "/ingress", labelled({ "istio.io/ingress-use-waypoint": "true" })),
  ...Object.entries(controller).map(([name, controllerName]) =>
    stored("GatewayClass", `/${name}`, { spec: { controllerName } }),
  ),
  gateway("shop/ready"),
  gateway("ingress/ready"),
  gateway("shop/new", { status: {} }),
  gateway("shop/far", labelled({ "topology.istio.io/network": "east" })),
  gateway("istio-system/east", {
    ...labelled({ "topology.istio.io/network": "east" }),
    spec: {
      gatewayClassName: "istio-remote",
      listeners: [{ name: "mesh", port: 15008, protocol: "HBONE", allowedRoutes: { namespaces: { from: "All" } } }],
    },
  }),
  stored("Service", "shop/bound", labelled(use("ready"))),
  stored("ServiceEntry", "shop/old", {
    metadata: { creationTimestamp: "2020-01-01T00:00:00Z" },
    spec: { hosts: ["old.example"] },
  }),
];

const cases: readonly (readonly [name: string, object: Stored, conditions: string])[] = [
  ["a Service without a waypoint", stored("Service", "shop/a"), ""],
  [
    "one behind a waypoint",
    stored("Service", "shop/a", labelled(use("ready"))),
    "istio.io/WaypointBound True WaypointAccepted: Successfully attached to waypoint shop/ready",
  ],
  [
    "one of another namespace",
    stored("Service", "shop/a", labelled({ ...use("ready"), "istio.io/use-waypoint-namespace": "ingress" })),
    'istio.io/WaypointBound False AttachmentDenied: we are not permitted to attach to waypoint "ingress/ready" (missing allowedRoutes?)',
  ],
  [
    "one behind a waypoint without an address",
    stored("Service", "shop/a", labelled(use("new"))),
    'istio.io/WaypointBound False WaypointIsNotReady: waypoint "shop/new" is not ready',
  ],
  [
    "one behind a waypoint that is not there",
    stored("Service", "shop/a", labelled(use("no"))),
    'istio.io/WaypointBound False WaypointIsNotReady: waypoint "shop/no" is not ready',
  ],
  [
    "one behind a waypoint that is labelled with another network",
    stored("Service", "shop/a", labelled(use("far"))),
    "istio.io/WaypointBound True WaypointAccepted: Successfully attached to waypoint shop/far",
  ],
  [
    "one behind the gateway of another network",
    stored("Service", "shop/a", labelled({ ...use("east"), "istio.io/use-waypoint-namespace": "istio-system" })),
    "istio.io/WaypointBound True WaypointAccepted: Successfully attached to waypoint istio-system/east",
  ],
  [
    "one that gateways reach through the waypoint",
    stored("Service", "shop/a", labelled({ ...use("ready"), "istio.io/ingress-use-waypoint": "true" })),
    "istio.io/WaypointBound True WaypointAccepted: Successfully attached to waypoint shop/ready. Ingress traffic will traverse the waypoint",
  ],
  [
    "one that gateways reach past the waypoint",
    stored("Service", "shop/a", labelled({ ...use("ready"), "istio.io/ingress-use-waypoint": "false" })),
    "istio.io/WaypointBound True WaypointAccepted: Successfully attached to waypoint shop/ready. Ingress traffic is not using the waypoint, set the istio.io/ingress-use-waypoint label to true if desired.",
  ],
  [
    "one whose namespace decides that",
    stored("Service", "ingress/a", labelled(use("ready"))),
    "istio.io/WaypointBound True WaypointAccepted: Successfully attached to waypoint ingress/ready. Ingress traffic will traverse the waypoint",
  ],
  ["a ServiceEntry without a waypoint", stored("ServiceEntry", "shop/a", { spec: { hosts: ["a.example"] } }), ""],
  [
    "a wildcard without one",
    stored("ServiceEntry", "shop/a", { spec: { hosts: ["a.example", "*.example"] } }),
    "istio.io/WaypointMissing True NoWaypointForWildcardService: ServiceEntry will not apply until it is bound to a valid waypoint.",
  ],
  [
    "a wildcard behind one",
    stored("ServiceEntry", "shop/a", labelled(use("ready"), { spec: { hosts: ["*.example"] } })),
    "istio.io/WaypointBound True WaypointAccepted: Successfully attached to waypoint shop/ready",
  ],
  [
    "a connect strategy without one",
    stored("ServiceEntry", "shop/a", {
      metadata: { annotations: { "istio.io/connect-strategy": "race_first_tcp_connect" } },
      spec: { hosts: ["*.example"] },
    }),
    "istio.io/WaypointMissing True NoWaypointForRacingConnectStrategy: ServiceEntry has a non-default connect strategy but no waypoint bound. A waypoint is required for connect strategies to take effect for ambient clients.",
  ],
  [
    "the default strategy without one",
    stored("ServiceEntry", "shop/a", {
      metadata: { annotations: { "istio.io/connect-strategy": "DEFAULT" } },
      spec: { hosts: ["a.example"] },
    }),
    "",
  ],
  [
    "a WorkloadEntry behind a waypoint for workloads",
    stored("WorkloadEntry", "ingress/a", labelled(use("ready"))),
    'istio.io/WaypointBound False UnsupportedTrafficType: attempting to bind to traffic type "workload" which the waypoint "ingress/ready" does not support',
  ],
  [
    "a WorkloadEntry that names its waypoint in its spec",
    stored("WorkloadEntry", "shop/a", { spec: { labels: use("ready") } }),
    'istio.io/WaypointBound False UnsupportedTrafficType: attempting to bind to traffic type "workload" which the waypoint "shop/ready" does not support',
  ],
  [
    "a WorkloadEntry of a waypoint itself",
    stored("WorkloadEntry", "shop/a", labelled({ ...use("ready"), "gateway.networking.k8s.io/gateway-name": "ready" })),
    "",
  ],
  [
    "a ServiceEntry whose hosts are those of an older one",
    stored("ServiceEntry", "shop/b", {
      metadata: { labels: use("ready"), creationTimestamp: "2026-01-01T00:00:00Z" },
      spec: { hosts: ["old.example"] },
    }),
    "",
  ],
  [
    "a policy for ztunnels",
    policy("shop/a", { rules: [{ from: [{ source: { namespaces: ["a"] } }] }] }),
    "ZtunnelAccepted True Accepted: attached to ztunnel",
  ],
  [
    "one with fields of requests",
    policy("shop/a", { rules: [{ to: [{ operation: { methods: ["GET"] } }] }] }),
    "ZtunnelAccepted True UnsupportedValue: ztunnel does not support HTTP attributes (found: methods). In ambient mode you must use a waypoint proxy to enforce HTTP rules. Within an ALLOW policy, rules matching HTTP attributes are omitted. This will be more restrictive than requested.",
  ],
  [
    "one that asks others",
    policy("shop/a", { action: "CUSTOM", provider: { name: "p" }, rules: [{}] }),
    "ZtunnelAccepted False UnsupportedValue: ztunnel does not support the CUSTOM action",
  ],
  [
    "one that is only tried",
    policy("shop/a", { rules: [{}] }, { annotations: { "istio.io/dry-run": "true" } }),
    "ZtunnelAccepted True Accepted: attached to ztunnel",
  ],
  ["one of a wrong form", policy("shop/a", { rules: "no list" }), ""],
  [
    "one for a Service behind a waypoint",
    policy("shop/a", targets(["", "Service", "bound"])),
    "WaypointAccepted True Accepted: bound to shop/ready",
  ],
  [
    "one for a Service that is not there",
    policy("shop/a", targets(["", "Service", "no"])),
    "WaypointAccepted False TargetNotFound: Service shop/no was not found",
  ],
  [
    "one for a ServiceEntry that is not there",
    policy("shop/a", targets(["networking.istio.io", "ServiceEntry", "no"])),
    "WaypointAccepted False TargetNotFound: ServiceEntry shop/no was not found",
  ],
  [
    "one for a waypoint",
    policy("shop/a", targets(["gateway.networking.k8s.io", "Gateway", "ready"])),
    "WaypointAccepted True Accepted: bound to shop/ready",
  ],
  [
    "one for a waypoint that is not ready",
    policy("shop/a", targets(["gateway.networking.k8s.io", "Gateway", "new"])),
    "WaypointAccepted False TargetNotFound: not bound",
  ],
  [
    "one for several of which one is not there",
    policy("shop/a", targets(["", "Service", "bound"], ["", "Service", "no"])),
    "WaypointAccepted True PartiallyInvalid: Invalid targetRefs: Service.core:shop/no",
  ],
  [
    "one for several that are not there",
    policy("shop/a", targets(["", "Service", "no"], ["", "Service", "neither"])),
    "WaypointAccepted False Invalid: Invalid targetRefs: Service.core:shop/no, Service.core:shop/neither",
  ],
  [
    "one for several that are all bound",
    policy("shop/a", targets(["", "Service", "bound"], ["gateway.networking.k8s.io", "Gateway", "ready"])),
    "WaypointAccepted True Accepted: ",
  ],
  [
    "one for a class outside of the root namespace",
    policy("shop/a", targets(["gateway.networking.k8s.io", "GatewayClass", "istio-waypoint"])),
    "WaypointAccepted False Invalid: AuthorizationPolicy must be in the root namespace `istio-system` when referencing a GatewayClass",
  ],
  [
    "one for the class of waypoints",
    policy("istio-system/a", targets(["gateway.networking.k8s.io", "GatewayClass", "istio-waypoint"])),
    "WaypointAccepted True Accepted: bound to istio-waypoint",
  ],
  [
    "one for a class of others",
    policy("istio-system/a", targets(["gateway.networking.k8s.io", "GatewayClass", "other"])),
    "WaypointAccepted False Invalid: GatewayClass must use controller name `istio.io/mesh-controller` for waypoints",
  ],
  [
    "one for a class that is not there",
    policy("istio-system/a", targets(["gateway.networking.k8s.io", "GatewayClass", "no"])),
    "WaypointAccepted False TargetNotFound: not bound",
  ],
];

const visible = { serviceEntryVisibility: {} };
const hidden = { serviceEntryVisibility: { defaultVisibility: "NONE" } };
const limited = { serviceEntryVisibility: { defaultVisibility: "NAMESPACE" } };

interface Running extends AsyncDisposable {
  readonly memory: MemoryApi;
}

interface RunOptions {
  readonly mesh?: JsonObject;
  readonly sendsDryRun?: boolean;
  readonly refusal?: MemoryApi["refusal"];
  readonly log?: Logger;
}

function run(
  objects: readonly Stored[],
  { mesh = {}, sendsDryRun = true, refusal, log = noopLogger }: RunOptions = {},
): Running {
  const memory = createMemoryApi(Object.fromEntries([...cluster, ...objects]));
  if (refusal !== undefined) memory.refusal = refusal;
  const stop = new AbortController();
  const status = new AmbientStatus({
    ...{ api: memory.api, mesh: () => mesh, log, random: () => 0, nowMs: () => Date.parse("2026-02-03T04:05:06.789Z") },
    ...{ writesPerSecond: 10_000, sendsDryRun },
  });
  const running = status.run(stop.signal);
  return {
    memory,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

const soon = (what: string) => ({ withinMs: 20_000, what, everyMs: 5 });
const conditionsAt = (memory: MemoryApi, path: string): readonly Condition[] =>
  memory.read<ClusterObject>(path)?.status?.conditions ?? [];
const inShort = ({ type, status, reason, message }: Condition) => `${type} ${status} ${reason}: ${message}`;
/** Written after all others: the mesh was looked at as a whole. */
const last = stored("AuthorizationPolicy", "zone/last", { spec: { rules: [] } });

const seen = async (memory: MemoryApi) =>
  await until(() => conditionsAt(memory, last[0]).length > 0, soon("the last object's conditions"));

describe("conditions of the ambient mesh", { concurrency: 8 }, () => {
  for (const [name, object, conditions] of cases)
    it(name, async () => {
      await using running = run([object, last]);
      await seen(running.memory);
      assert.equal(conditionsAt(running.memory, object[0]).map(inShort).join("; "), conditions);
    });

  const entry = stored("ServiceEntry", "shop/a", { spec: { hosts: ["a.example"] } });
  const tried = policy("shop/a", { rules: [{}] }, { annotations: { "istio.io/dry-run": "true" } });
  const rooted = policy("mesh-root/a", targets(["gateway.networking.k8s.io", "GatewayClass", "istio-waypoint"]));
  const settings: readonly (readonly [name: string, object: Stored, options: RunOptions, conditions: string])[] = [
    [
      "who sees an entry, where the mesh says it",
      entry,
      { mesh: visible },
      "istio.io/VisibilityApplied True Public: ServiceEntry is visible to the entire mesh (PUBLIC).",
    ],
    [
      "that an entry is for its namespace alone",
      entry,
      { mesh: limited },
      "istio.io/VisibilityApplied True Namespace: ServiceEntry is visible only within its own namespace (NAMESPACE), per mesh serviceEntryVisibility.",
    ],
    ["none of an entry that no caller sees", entry, { mesh: hidden }, ""],
    [
      "none of a tried policy where ztunnels are not sent it",
      tried,
      { sendsDryRun: false },
      'ZtunnelAccepted False UnsupportedValue: found policy "shop/a" using dry-run annotation, but support for ambient dry-run authorizationPolicies isn\'t enabled',
    ],
    [
      "those of the mesh's own root namespace",
      rooted,
      { mesh: { rootNamespace: "mesh-root" } },
      "WaypointAccepted True Accepted: bound to istio-waypoint",
    ],
  ];
  for (const [name, object, options, conditions] of settings)
    it(name, async () => {
      await using running = run([object, last], options);
      await seen(running.memory);
      assert.equal(conditionsAt(running.memory, object[0]).map(inShort).join("; "), conditions);
    });
});

describe("writing conditions", { concurrency: 8 }, () => {
  const bound = {
    ...{ type: "istio.io/WaypointBound", status: "True", reason: "WaypointAccepted" },
    message: "Successfully attached to waypoint shop/ready",
  };
  const foreign = {
    type: "example.com/Checked",
    status: "True",
    reason: "Ok",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const entryWith = (conditions: readonly JsonObject[]) =>
    stored("ServiceEntry", "shop/a", {
      metadata: { labels: use("ready"), generation: 7 },
      spec: { hosts: ["a.example"] },
      status: { conditions },
    });
  const written = (memory: MemoryApi, path: string) => memory.writes.filter((one) => one.path === `${path}/status`);

  it("keeps others' conditions of an entry, whose list is written as a whole", async () => {
    const entry = entryWith([foreign, { ...bound, status: "False" }]);
    await using running = run([entry, last]);
    await seen(running.memory);
    const now = { ...bound, lastTransitionTime: "2026-02-03T04:05:06Z", observedGeneration: 7 };
    assert.deepEqual(conditionsAt(running.memory, entry[0]), [foreign, now]);
    assert.equal(written(running.memory, entry[0])[0]?.fieldManager, "flotilla-ambient-status");
  });

  it("keeps the time of a condition whose status stays", async () => {
    const entry = entryWith([{ ...bound, message: "old", lastTransitionTime: "2026-01-05T00:00:00Z" }]);
    await using running = run([entry, last]);
    await seen(running.memory);
    const [now] = conditionsAt(running.memory, entry[0]);
    assert.deepEqual([now?.message, now?.lastTransitionTime], [bound.message, "2026-01-05T00:00:00Z"]);
  });

  it("writes its own conditions of a Service only, which has no generation", async () => {
    const [path, object] = stored("Service", "shop/a", labelled(use("ready"), { status: { conditions: [foreign] } }));
    await using running = run([[path, object], last]);
    await seen(running.memory);
    const [write] = written(running.memory, path);
    assert.deepEqual((write?.object as ClusterObject | undefined)?.status?.conditions, [
      { ...bound, lastTransitionTime: "2026-02-03T04:05:06Z" },
    ]);
  });

  it("takes away what does not hold any more, and writes nothing that stands there already", async () => {
    const same = entryWith([foreign, bound]);
    const [gone, without] = stored("ServiceEntry", "shop/b", {
      spec: { hosts: ["b.example"] },
      status: { conditions: [bound] },
    });
    await using running = run([same, [gone, without], last]);
    await seen(running.memory);
    assert.deepEqual(written(running.memory, same[0]), []);
    assert.deepEqual(conditionsAt(running.memory, gone), []);
  });

  it("leaves an object that changed meanwhile without a log line, and names every other refusal", async () => {
    const refused = { "services/a/": "KUBE_CONFLICT", "services/b/": "KUBE_REFUSED" } as const;
    const refusal: MemoryApi["refusal"] = ({ verb, path }) => {
      const code = Object.entries(refused).find(([part]) => verb === "apply" && path.includes(part))?.[1];
      return code && new KubeError(code, "refused");
    };
    const warnings: unknown[] = [];
    const log: Logger = { ...noopLogger, warn: (text, fields) => warnings.push([text, fields?.["object"]]) };
    const services = ["a", "b", "c"].map((name) => stored("Service", `shop/${name}`, labelled(use("ready"))));
    await using running = run([...services, last], { refusal, log });
    await seen(running.memory);
    assert.deepEqual(warnings, [["ambient conditions of an object not written", "shop/b"]]);
    assert.deepEqual(conditionsAt(running.memory, pathOf("Service", "shop/c")).map(inShort), [inShort(bound)]);
  });

  it("follows what changes: a waypoint that gets its address", async () => {
    const service = stored("Service", "shop/a", labelled(use("new")));
    await using running = run([service, last]);
    const { memory } = running;
    await seen(memory);
    memory.put(...gateway("shop/new"));
    await until(() => conditionsAt(memory, service[0])[0]?.status === "True", soon("the Service to be bound"));
  });
});
