/** UDPRoutes at a router: a listener for datagrams, and clusters of the UDP ports that it leads to. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { Core } from "../../app/core.ts";
import { aConfig, aPort, apply, aRouter, aService, aSidecar, namesOf, resourceOf } from "../../testing/mesh.ts";

const udp = (port: number) => ({ name: `udp-${port}`, port, protocol: "UDP" });
const gateway = aConfig("KubernetesGateway", "infra", "edge", {
  gatewayClassName: "istio",
  listeners: [{ name: "tcp", port: 53, protocol: "TCP" }, udp(53), udp(54)],
});
const route = (name: string, section: string, ...backendRefs: readonly object[]): Config =>
  aConfig("UDPRoute", "infra", name, {
    parentRefs: [{ name: "edge", sectionName: section }],
    rules: [{ backendRefs: [...backendRefs] as never }],
  });
const to = (name: string, weight = 1) => ({ name, port: 53, weight });
const cluster = (name: string) => `outbound|53||${name}.infra.svc.cluster.local`;
const router = aRouter("infra", { LABELS: { app: "edge" } });

function meshOf(...objects: readonly Config[]): Core {
  const core = new Core({ features: { udpRoutes: true } });
  const front = aService("edge-istio", "infra", {
    ports: [aPort("tcp", 53, "TCP"), aPort("udp-53", 53, "UDP"), aPort("udp-54", 54, "UDP")],
    labelSelectors: { app: "edge" },
    kubernetes: { type: "LoadBalancer", nodeLocal: false, targetPorts: { 53: "53", 54: "54" } } as never,
  });
  const dns = (name: string) => aService(name, "infra", { ports: [aPort("dns", 53, "UDP")] });
  const both = aService("both", "infra", { ports: [aPort("dns-tcp", 53, "TCP"), aPort("dns", 53, "UDP")] });
  apply(core, front, dns("a"), dns("b"), dns("unused"), both, gateway, ...objects);
  return core;
}

interface Matcher {
  readonly matcherList?: {
    readonly matchers: readonly {
      readonly predicate: {
        readonly singlePredicate: {
          readonly customMatch: {
            readonly typedConfig: {
              readonly runtimeFraction: { readonly defaultValue: { readonly numerator: number } };
            };
          };
        };
      };
      readonly onMatch: OnMatch;
    }[];
  };
  readonly onNoMatch: OnMatch;
}

interface OnMatch {
  readonly action: { readonly typedConfig: { readonly cluster: string } };
}

interface Filter {
  readonly typedConfig: { readonly matcher: Matcher };
}

/** Each share of a listener as `cluster up to millionths`. */
function sharesOf(core: Core, listener: string): readonly string[] | undefined {
  const found = resourceOf(core, router, typeUrl.listener, listener);
  const filters = found?.["listenerFilters"] as readonly Filter[] | undefined;
  const filter = filters?.[0];
  if (filter === undefined) return undefined;
  const { matcherList, onNoMatch } = filter.typedConfig.matcher;
  const clusterOf = ({ action }: OnMatch) => action.typedConfig.cluster;
  return [
    ...(matcherList?.matchers ?? []).map(
      ({ predicate, onMatch }) =>
        `${clusterOf(onMatch)} ${predicate.singlePredicate.customMatch.typedConfig.runtimeFraction.defaultValue.numerator}`,
    ),
    clusterOf(onNoMatch),
  ];
}

describe("a UDPRoute", () => {
  it("has a listener of its own beside one for connections to the same port", () => {
    const tcp = aConfig("TCPRoute", "infra", "tcp", {
      parentRefs: [{ name: "edge", sectionName: "tcp" }],
      rules: [{ backendRefs: [to("both")] }],
    });
    const core = meshOf(route("r", "udp-53", to("a")), tcp);
    assert.deepEqual(namesOf(core, router, typeUrl.listener), ["0.0.0.0_53", "udp_0.0.0.0_53"]);
    assert.deepEqual(sharesOf(core, "udp_0.0.0.0_53"), [cluster("a")]);
    const { address } = resourceOf(core, router, typeUrl.listener, "udp_0.0.0.0_53") ?? {};
    assert.deepEqual(address, { socketAddress: { protocol: "UDP", address: "0.0.0.0", portValue: 53 } });
  });

  it("gives each back end its share of all sessions, one without weight none", () => {
    const core = meshOf(route("r", "udp-53", to("a", 7), to("both", 3), to("unused", 0), to("b", 10)));
    assert.deepEqual(sharesOf(core, "udp_0.0.0.0_53"), [
      `${cluster("a")} 350000`,
      `${cluster("both")} 500000`,
      cluster("b"),
    ]);
  });

  it("brings the clusters of its back ends to routers, once where TCP has the port too, and to no other proxy", () => {
    const core = meshOf(route("r", "udp-53", to("a"), to("both")));
    const names = (proxy: typeof router) =>
      namesOf(core, proxy, typeUrl.cluster).filter((name) => name.startsWith("outbound|53|"));
    assert.deepEqual(names(router).toSorted(), [cluster("a"), cluster("both"), cluster("edge-istio")].toSorted());
    assert.equal(resourceOf(core, router, typeUrl.cluster, cluster("a"))?.["type"], "EDS");
    assert.equal(names(aSidecar("infra")).includes(cluster("a")), false);
  });

  it("leaves its listener to an older one", () => {
    const older = { ...route("z", "udp-54", to("a")), creationTimeMs: 1 };
    const younger = { ...route("a", "udp-54", to("b")), creationTimeMs: 2 };
    assert.deepEqual(sharesOf(meshOf(younger, older), "udp_0.0.0.0_54"), [cluster("a")]);
  });

  it("drops datagrams for a back end that does not exist, and keeps the share of the others", () => {
    const core = meshOf(route("r", "udp-53", to("a"), { name: "secret", namespace: "vault", port: 53 }));
    assert.deepEqual(sharesOf(core, "udp_0.0.0.0_53"), [`${cluster("a")} 500000`, "UnknownService"]);
  });
});
