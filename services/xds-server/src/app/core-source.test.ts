/** Sessions over the core: what they get, when they become stale, and what listeners hear. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config, Endpoint, Service } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import { applyOptionsOf } from "../testing/apply-options.ts";
import { aConfig, anEndpoint, aService, aSidecar, put } from "../testing/mesh.ts";
import { Core } from "./core.ts";
import { type CoreSource, createCoreSource } from "./core-source.ts";

const host = "a.shop.svc.cluster.local";
const cluster = `outbound|80||${host}`;
let position = 0;

function apply(source: CoreSource, ...values: readonly (Service | Config)[]): void {
  const changes = put(...values);
  assert.deepEqual(source.apply(changes, applyOptionsOf(changes, ++position)), []);
}

function applyEndpoints(source: CoreSource, ...value: readonly Endpoint[]): void {
  applyEndpointsOf(source, host, ...value);
}

function applyEndpointsOf(source: CoreSource, hostname: string, ...value: readonly Endpoint[]): void {
  const key = { shard: "Kubernetes/Kubernetes", namespace: "shop", hostname };
  const change = { type: "endpoints", op: "put", key, value } as const;
  assert.deepEqual(source.apply([change], applyOptionsOf([change], ++position)), []);
}

/** A source with one service, and a session of a proxy in a namespace with the types that became stale. */
function opened(namespace = "shop") {
  const source = createCoreSource(new Core());
  apply(source, aService("a", "shop"));
  const stale: string[] = [];
  const open = () =>
    source.open({ proxy: aSidecar(namespace), identities: [], isPlaintext: true }, (type, urgency) =>
      stale.push(`${type.split(".").at(-1)} ${urgency}`),
    );
  return { source, stale, open, session: open() };
}

describe("a session", () => {
  it("keeps a result until a change concerns it", () => {
    const { source, stale, session } = opened();
    const before = session.resources(typeUrl.cluster, undefined);
    assert.ok(before?.byName.has(cluster));
    apply(source, aConfig("AuthorizationPolicy", "elsewhere", "p", {}));
    assert.deepEqual([session.resources(typeUrl.cluster, undefined) === before, stale], [true, []]);
    apply(source, aService("b", "shop"));
    assert.deepEqual(stale, ["Cluster normal"]);
    const after = session.resources(typeUrl.cluster, undefined);
    assert.ok(after !== before && after?.byName.has("outbound|80||b.shop.svc.cluster.local"));
  });

  it("hears of a stale type once, until it has read it", () => {
    const { source, stale, session } = opened();
    session.resources(typeUrl.cluster, undefined);
    apply(source, aService("b", "shop"));
    apply(source, aService("c", "shop"));
    assert.equal(stale.length, 1);
    session.resources(typeUrl.cluster, undefined);
    apply(source, aService("d", "shop"));
    assert.equal(stale.length, 2);
  });

  it("loses nothing that it has where a resource cannot be made, and the other resources go on", () => {
    const { source, stale, session, open } = opened();
    const otherHost = "b.shop.svc.cluster.local";
    const other = `outbound|80||${otherHost}`;
    apply(source, aService("b", "shop"));
    applyEndpoints(source, anEndpoint("10.9.0.1"));
    applyEndpointsOf(source, otherHost, anEndpoint("10.9.1.1"));
    const ask = (one = session) => one.resources(typeUrl.endpoint, nameSet([cluster, other]));
    const before = ask();
    const noPort = { ...anEndpoint("10.9.0.2"), port: -1 };
    applyEndpoints(source, noPort);
    applyEndpointsOf(source, otherHost, anEndpoint("10.9.1.2"));
    assert.equal(stale.length, 1);
    const after = ask();
    assert.equal(after, ask());
    assert.deepEqual([...(after?.failed?.keys() ?? [])], [cluster]);
    assert.equal(after?.byName.get(cluster), before?.byName.get(cluster));
    assert.notEqual(after?.byName.get(other)?.version, before?.byName.get(other)?.version);
    assert.deepEqual([...(ask(open())?.byName.keys() ?? [])], [other], "a new client gets the others");
    applyEndpoints(source, anEndpoint("10.9.0.1"));
    assert.equal(stale.length, 3, "each of the two hears of it");
    assert.equal(ask()?.failed, undefined);
    assert.equal(ask()?.byName.get(cluster)?.version, before?.byName.get(cluster)?.version);
  });

  it("gets the urgency of the change", () => {
    const { source, stale, session } = opened();
    session.resources(typeUrl.cluster, undefined);
    const changes = put(aService("b", "shop"));
    source.apply(changes, { ...applyOptionsOf(changes, ++position), urgency: "urgent" });
    assert.deepEqual(stale, ["Cluster urgent"]);
  });

  it("watches the names of its last question", () => {
    const { source, stale, session } = opened();
    applyEndpoints(source, anEndpoint("10.9.0.1"));
    session.resources(typeUrl.endpoint, nameSet([cluster]));
    const nothing = session.resources(typeUrl.endpoint, nameSet([]));
    assert.equal(nothing?.byName.size, 0);
    applyEndpoints(source, anEndpoint("10.9.0.2"));
    assert.deepEqual(stale, []);
    assert.equal(session.resources(typeUrl.endpoint, nameSet([cluster]))?.byName.size, 1);
    applyEndpoints(source, anEndpoint("10.9.0.3"));
    assert.deepEqual(stale, ["ClusterLoadAssignment normal"]);
  });

  for (const [name, end] of [
    ["is closed", (session: ReturnType<CoreSource["open"]>) => session.close()],
    ["gave the type up", (session: ReturnType<CoreSource["open"]>) => session.forget(typeUrl.cluster)],
  ] as const)
    it(`hears of nothing more once it ${name}`, () => {
      const { source, stale, session } = opened();
      session.resources(typeUrl.cluster, undefined);
      end(session);
      apply(source, aService("b", "shop"));
      assert.deepEqual(stale, []);
    });

  it("has the identical list of what it watches as another that watches the same", () => {
    const { open, session } = opened();
    const other = open();
    for (const one of [session, other]) one.resources(typeUrl.cluster, undefined);
    assert.equal(session.watched(), other.watched());
    other.resources(typeUrl.listener, undefined);
    assert.notEqual(session.watched(), other.watched());
    other.forget(typeUrl.listener);
    assert.equal(session.watched(), other.watched());
  });

  it("is sent no Secrets in plain text, and no types without a generator", () => {
    const { session } = opened();
    assert.equal(session.resources(typeUrl.secret, nameSet(["kubernetes://pair"])), undefined);
    assert.equal(session.resources("type.googleapis.com/unknown", undefined), undefined);
  });

  it("is stale when its proxy is an instance of another service", () => {
    const { source, stale, session } = opened();
    session.resources(typeUrl.listener, undefined);
    applyEndpoints(source, anEndpoint("10.0.0.1"));
    assert.deepEqual(stale, ["Listener normal"]);
    assert.ok(session.resources(typeUrl.listener, undefined) !== undefined);
  });
});

describe("a session of a proven caller", () => {
  it("gets the extensions for the labels that its pod has now", () => {
    const source = createCoreSource(new Core());
    apply(
      source,
      aService("a", "shop"),
      aConfig("WasmPlugin", "shop", "plugin", {
        url: "oci://registry.example/plugin",
        selector: { matchLabels: { app: "new" } },
      }),
    );
    const ofPod = (app: string) => ({ ...anEndpoint("10.0.0.1"), labels: { app }, definedBy: "Pod/shop/web" });
    applyEndpoints(source, ofPod("old"));
    const proxy = { ...aSidecar("shop"), id: "web.shop" };
    const session = source.open({ proxy, identities: ["spiffe://cluster.local/ns/shop/sa/web"] }, () => undefined);
    const name = "extensions.istio.io/trafficextension/shop.plugin~istio-translated-wasmplugin";
    const has = () => session.resources(typeUrl.extensionConfig, nameSet([name]))?.byName.has(name);
    assert.equal(has(), false);
    applyEndpoints(source, ofPod("new"));
    assert.equal(has(), true);
  });
});

describe("a source", () => {
  it("has the latest position and the latest changes, of which marks have none", () => {
    const { source } = opened();
    const latest = source.latest;
    const reached = source.position;
    assert.equal(latest?.position, reached);
    source.apply([], applyOptionsOf([], reached + 5));
    assert.deepEqual([source.position, source.latest], [reached + 5, latest]);
    source.apply([], applyOptionsOf([], 1));
    assert.equal(source.position, reached + 5);
  });

  it("notifies its listeners before and after, in the order of their registration", () => {
    const { source } = opened();
    const heard: string[] = [];
    const known = () => source.position;
    const before = known();
    for (const name of ["one", "two"])
      source.listen({
        beforeApply: () => heard.push(`${name} before ${known() - before}`),
        afterApply: (changes) => heard.push(`${name} after ${known() - before}: ${changes.length}`),
      });
    source.listen({});
    const changes = put(aService("b", "shop"));
    source.apply(changes, applyOptionsOf(changes, before + 1));
    assert.deepEqual(heard, ["one before 0", "two before 0", "one after 1: 1", "two after 1: 1"]);
  });

  it("returns what cannot be applied, and applies the rest", () => {
    const { source, session } = opened();
    const changes = put(aConfig("VirtualService", "shop", "bad", { hosts: 7 }), aService("b", "shop"));
    const refused = source.apply(changes, applyOptionsOf(changes, ++position));
    assert.deepEqual(
      refused.map(({ change }) => change),
      [changes[0]],
    );
    assert.ok(session.resources(typeUrl.cluster, undefined)?.byName.has("outbound|80||b.shop.svc.cluster.local"));
  });
});
