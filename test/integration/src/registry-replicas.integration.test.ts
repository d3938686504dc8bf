/** Two replicas of service-controller over a real NATS: one publishes, and when it dies the other goes on. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { connectBus, filters } from "@flotilla/bus";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { noopLogger, until } from "@flotilla/runtime";
import { EndpointWatcher } from "./clusters/endpoint-watcher.ts";
import { type Controller, type Fleet, startFleet } from "./clusters/fleet.ts";
import { namespace, service, setAddresses } from "./clusters/remote-cluster.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
const web = "outbound|80||web.shop.svc.cluster.local";

describe("replicas of service-controller", { skip: server === undefined && whyNoApiserver }, () => {
  const owned = new AsyncDisposableStack();
  const controllers = new Map<string, Controller>();
  let fleet: Fleet;
  let proxy: EndpointWatcher;
  const start = async (name: string) => {
    assert.ok(server !== undefined);
    controllers.set(name, await fleet.startServiceController(name, { CLUSTER_KUBECONFIG: server.kubeconfig }));
  };
  const publishing = async () => {
    const all = [...controllers].map(async ([name, one]) =>
      (await one.metric("flotilla_registry_publishes")) === 1 ? [name] : [],
    );
    return (await Promise.all(all)).flat();
  };
  const proxyHas = (...addresses: readonly string[]) =>
    until(() => proxy.endpointsOf(web).join() === addresses.map((address) => `${address}:8080`).join(), {
      withinMs: 60_000,
      what: `the proxy to have ${addresses}`,
    });

  before(async () => {
    assert.ok(server !== undefined);
    owned.use(server);
    for (const name of ["istio-system", "shop"]) await namespace(server.api, name);
    await service(server.api, { addresses: ["10.1.0.1", "10.1.0.2"] });
    for (let index = 0; index < 30; index++)
      await service(server.api, { name: `other-${index}`, addresses: [`10.3.0.${index + 1}`] });
    fleet = owned.use(await startFleet());
    await start("one");
    await start("two");
    proxy = owned.use(new EndpointWatcher({ xdsAddress: fleet.xdsAddress, clusters: [web] }));
  });
  after(() => owned.disposeAsync());

  it("one publishes; when it is killed the other publishes what was missed and nothing else, and no endpoint goes away", async () => {
    assert.ok(server !== undefined);
    await proxyHas("10.1.0.1", "10.1.0.2");
    await until(async () => (await publishing()).join() === "one", { withinMs: 60_000, what: "one to publish" });
    await setAddresses(server.api, ["10.1.0.1", "10.1.0.3"]);
    await proxyHas("10.1.0.1", "10.1.0.3");

    await using bus = await connectBus(
      { url: fleet.natsUrl, clientName: "test", log: noopLogger },
      AbortSignal.timeout(10_000),
    );
    const sequences = async () =>
      new Map((await bus.lastValues(filters.everything)).map(({ subject, sequence }) => [subject, sequence]));
    const before = await sequences();
    proxy.forget();
    const dead = controllers.get("one");
    controllers.delete("one");
    await dead?.kill();
    // No replica publishes now.
    await setAddresses(server.api, ["10.1.0.1", "10.1.0.4"]);
    await proxyHas("10.1.0.1", "10.1.0.4");
    assert.deepEqual(await publishing(), ["two"]);
    assert.equal(proxy.fewest.get(web), 2, "no endpoint went away");
    const changed = [...(await sequences())].filter(
      ([subject, sequence]) => before.get(subject) !== sequence && !subject.includes(".sync."),
    );
    assert.equal(changed.length, 1, `${changed}`);
    assert.match(changed[0]?.[0] ?? "", /endpoints.*web/);
  });

  it("one that is stopped lets the next begin", async () => {
    assert.ok(server !== undefined);
    await start("three");
    proxy.forget();
    const stopped = controllers.get("two");
    controllers.delete("two");
    await stopped?.[Symbol.asyncDispose]();
    await setAddresses(server.api, ["10.1.0.1", "10.1.0.5"]);
    await proxyHas("10.1.0.1", "10.1.0.5");
    assert.equal(proxy.fewest.get(web), 2);
  });
});
