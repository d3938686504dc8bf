/** The status of a route: one entry for each parent, with its attachment and its back ends. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RouteContext } from "./backends.ts";
import type { AttachedParent } from "./route-attachments.ts";
import { routeParents } from "./route-head.ts";
import type { HttpRouteSpec, ParentRef } from "./route-spec.ts";
import { routeParentStatuses } from "./route-status.ts";

const contextOf = (place: "mesh" | "gateway"): RouteContext => ({
  namespace: "shop",
  domain: "cluster.local",
  hasService: (host) => host.startsWith("web.") || (place === "mesh" && host.startsWith("mesh-only.")),
});
const gateway: ParentRef = { name: "edge" };
const service: ParentRef = { group: "", kind: "Service", name: "web" };

const attachment = (ref: ParentRef, count: number, problem?: AttachedParent["problem"]): AttachedParent => {
  const [parent] = routeParents([ref], "shop");
  assert.ok(parent !== undefined);
  const attachments = Array.from({ length: count }, () => ({ parent, gateway: "g", hosts: ["*"] }));
  return { parent, attachments, ...(problem && { problem }) };
};

/** `Accepted` and `ResolvedRefs` of each parent: status, reason and message. */
function statuses(
  spec: HttpRouteSpec,
  parents: readonly AttachedParent[],
  problem?: Parameters<typeof routeParentStatuses>[1],
): readonly (readonly string[])[] {
  const config = {
    ...{ key: { kind: "HTTPRoute", namespace: "shop", name: "r" }, labels: {}, annotations: {} },
    ...{ creationTimeMs: 0, spec },
  };
  return routeParentStatuses(config, problem, parents, contextOf).map(({ controllerName, conditions }) => {
    assert.equal(controllerName, "istio.io/gateway-controller");
    return conditions.map(({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`);
  });
}

const to = (...names: readonly string[]): HttpRouteSpec => ({
  rules: [{ backendRefs: names.map((name) => ({ name, port: 80 })) }],
});
const accepted = "Accepted True Accepted: Route was valid";
const resolved = "ResolvedRefs True ResolvedRefs: All references resolved";
const lost = (name: string) => `ResolvedRefs False BackendNotFound: backend(${name}.shop.svc.cluster.local) not found`;

describe("the status of a route", () => {
  it("counts the listeners of a Gateway where there are several", () => {
    assert.deepEqual(statuses(to("web"), [attachment(gateway, 1)]), [[accepted, resolved]]);
    assert.deepEqual(statuses(to("web"), [attachment(gateway, 2)]), [[`${accepted}, bound to 2 parents`, resolved]]);
  });
  it("counts the hosts of a mesh's parent as one", () =>
    assert.deepEqual(statuses(to("web"), [attachment(service, 3)]), [[accepted, resolved]]));
  it("names the parent as the route does", () => {
    const [entry] = routeParentStatuses(
      {
        key: { kind: "HTTPRoute", namespace: "shop", name: "r" },
        labels: {},
        annotations: {},
        creationTimeMs: 0,
        spec: {},
      },
      undefined,
      [attachment(gateway, 1)],
      contextOf,
    );
    assert.deepEqual(entry?.parentRef, gateway);
  });
  it("has the reason for which a parent refuses it", () => {
    const refused = { reason: "NotAllowedByListeners", message: "no" };
    const [[first] = []] = statuses(to("web"), [attachment(gateway, 0, refused)]);
    assert.equal(first, "Accepted False NotAllowedByListeners: no");
  });
  it("has the last of the back ends that are not there", () =>
    assert.deepEqual(statuses(to("gone", "away", "web"), [attachment(gateway, 1)]), [[accepted, lost("away")]]));
  it("resolves back ends as the callers of each parent reach them", () =>
    assert.deepEqual(statuses(to("mesh-only"), [attachment(gateway, 1), attachment(service, 1)]), [
      [accepted, lost("mesh-only")],
      [accepted, resolved],
    ]));
  it("leaves out back ends without traffic", () => {
    const rules = [{ backendRefs: [{ name: "gone", port: 80, weight: 0 }] }];
    assert.deepEqual(statuses({ rules }, [attachment(gateway, 1)]), [[accepted, resolved]]);
  });
  it("has mirrors among the back ends", () => {
    const filters = [{ type: "RequestMirror", requestMirror: { backendRef: { name: "gone", port: 80 } } }];
    const rules = [{ filters, backendRefs: [{ name: "web", port: 80 }] }];
    assert.deepEqual(statuses({ rules }, [attachment(gateway, 1)]), [[accepted, lost("gone")]]);
  });
  it("has what is wrong with the route first", () => {
    const problem = { reason: "InvalidFilter", message: "odd" };
    assert.deepEqual(statuses(to("gone"), [attachment(gateway, 1)], problem), [
      [accepted, "ResolvedRefs False InvalidFilter: odd"],
    ]);
  });
});
