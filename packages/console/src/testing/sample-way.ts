/** The way of a request through the sample mesh: split between two subsets, refused by a policy at one of them, left open by a module. */
import type { PathDestination, PathHop, ProxyWay, RequestPath } from "../contract/index.ts";

const hop = (kind: PathHop["kind"], name: string, facts: readonly string[], more: Partial<PathHop> = {}): PathHop => ({
  ...{ kind, name, verdict: "passes", facts, objects: [] },
  ...more,
});

const receiver = (proxy: string, authorization: PathHop, end: ProxyWay["end"]): ProxyWay => ({
  ...{ proxy, type: "sidecar", destinations: [], end },
  hops: [
    hop("listener", "virtualInbound", ["It takes all connections to the workload."]),
    hop("filter chain", "0.0.0.0_8080", ["Mutual TLS is STRICT on port 8080."], {
      objects: ["PeerAuthentication/shop/default"],
    }),
    hop("filter", "shop.limits", ["A Wasm module decides while requests pass."], { verdict: "unknown" }),
    authorization,
  ],
});

const destination = (subset: string, share: number, way: ProxyWay): PathDestination => ({
  ...{ cluster: `outbound|80|${subset}|checkout.shop.svc.cluster.local`, share, endpointCount: 1, receiver: way },
  hops: [hop("cluster", `outbound|80|${subset}|checkout.shop.svc.cluster.local`, ["Balances by LEAST_REQUEST."])],
  end: { kind: "forwarded", reason: "It goes to 10.4.1.7:8080 by mutual TLS.", unless: [] },
  endpoints: [
    {
      ...{ address: "10.4.1.7:8080", priority: 0, locality: "eu/a", weight: 1, isHealthy: true },
      ...{ workload: `checkout-${subset};shop`, transport: "mutual TLS" },
    },
  ],
});

/** Of any request. */
export function sampleWay(from: string): RequestPath {
  const unless = ["filter shop.limits"];
  const refused = "403: Refused by the DENY policy ns[shop]-policy[no-admin]-rule[0].";
  return {
    ...{ address: "10.1.0.7", away: [] },
    way: {
      ...{ proxy: from, type: "sidecar" },
      hops: [
        hop("listener", "0.0.0.0_80", ["It takes connections to port 80 of any address."], {
          resource: { type: "lds", name: "0.0.0.0_80" },
        }),
        hop("route", "canary", ["Matched: header x-canary is yes.", "Timeout 4s."], {
          objects: ["VirtualService/shop/checkout"],
        }),
      ],
      end: { kind: "forwarded", reason: "90 % to v1, 10 % to v2.", unless: [] },
      destinations: [
        destination(
          "v1",
          90,
          receiver("checkout-v1.shop", hop("authorization", "DENY policies", ["No DENY policy matches."]), {
            ...{ kind: "forwarded", reason: "It goes to the application on port 8080.", unless },
          }),
        ),
        destination(
          "v2",
          10,
          receiver(
            "checkout-v2.shop",
            hop("authorization", "DENY policies", [refused], {
              verdict: "stops",
              objects: ["AuthorizationPolicy/shop/no-admin"],
            }),
            { kind: "refused", status: 403, reason: refused, unless },
          ),
        ),
      ],
    },
  };
}
