import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ByReplica, NoAnswer, servicesWith } from "../upstream/answers.fixture.ts";
import { ReplicaWatch } from "./replica-watch.ts";

describe("readiness of replicas", () => {
  const version = { version: "1", startedAt: "then" };
  /** A mesh whose pages may change between two looks. */
  const watched = (ready: Readonly<Record<string, unknown>>) => {
    const pages: Record<string, unknown> = {
      ...{ ca: Object.keys(ready), "ca /version": new ByReplica({ a: version, b: version }) },
      "ca /ready": new ByReplica(ready),
    };
    return { watch: new ReplicaWatch(servicesWith(pages).services), pages };
  };
  const known = (name: string) => ({ service: "ca", replica: name, address: { name, url: `http://${name}` } });
  const notReady = JSON.stringify({
    ready: false,
    conditions: [
      { name: "nats", detail: "is away" },
      { name: "redis", detail: "is away too" },
    ],
  });

  const cases: readonly (readonly [name: string, ready: unknown, expected: object])[] = [
    ["is ready", { ready: true, conditions: [] }, { state: "ready", detail: "", ...version }],
    ["is ready without a list of conditions", { ready: true }, { state: "ready", detail: "", ...version }],
    [
      "is not ready, and why",
      new NoAnswer(notReady, 503),
      { state: "not-ready", detail: "nats: is away, redis: is away too", ...version },
    ],
    ["is not ready without a reason", new NoAnswer("no JSON", 503), { state: "not-ready", detail: "", ...version }],
    ["is not ready where it does not say so", {}, { state: "not-ready", detail: "", ...version }],
    ["is away", new NoAnswer("refused"), { state: "away", detail: "refused" }],
  ];
  for (const [name, ready, expected] of cases)
    it(`shows one that ${name}`, async () => {
      const { watch } = watched({ a: ready });
      await watch.look();
      assert.deepEqual(watch.list(), [{ ...known("a"), ...expected }]);
    });

  it("of services is in one order", async () => {
    const names = ["webhook", "ca", "xds-server", "service-controller", "config-controller"];
    const { services } = servicesWith(
      Object.fromEntries(
        names.flatMap((name) => [
          [name, ["a"]],
          [`${name} /ready`, new NoAnswer("")],
        ]),
      ),
    );
    const watch = new ReplicaWatch(services);
    await watch.look();
    assert.deepEqual(
      watch.list().map(({ service }) => service),
      ["config-controller", "service-controller", "xds-server", "ca", "webhook"],
    );
  });

  it("is reported when it changes", async () => {
    const { watch, pages } = watched({ a: { ready: true }, b: { ready: true } });
    const changes: string[] = [];
    const end = watch.onChange((changed) =>
      changes.push(changed.map(({ replica, state }) => `${replica} ${state}`).join(" ")),
    );
    await watch.look();
    await watch.look();
    pages["ca /ready"] = new ByReplica({ a: new NoAnswer("refused"), b: new NoAnswer("{}", 503) });
    await watch.look();
    pages["ca /ready"] = new ByReplica({ a: { ready: true }, b: { ready: true } });
    await watch.look();
    assert.deepEqual(changes, ["a ready b ready", "a away b not-ready", "a ready b ready"]);
    end();
    pages["ca"] = ["a"];
    pages["ca /ready"] = new ByReplica({ a: new NoAnswer("refused") });
    await watch.look();
    assert.deepEqual([changes.length, watch.list().length], [3, 1]);
  });

  it("is reported when another process took its place between two looks", async () => {
    const { watch, pages } = watched({ a: { ready: true }, b: { ready: true } });
    await watch.look();
    const changes: unknown[] = [];
    watch.onChange((changed) => changes.push(...changed));
    const replaced = { version: "2", startedAt: "now" };
    pages["ca /version"] = new ByReplica({ a: replaced, b: version });
    await watch.look();
    assert.deepEqual(changes, [{ ...known("a"), state: "ready", detail: "", ...replaced }]);
  });

  it("has no version where none is answered", async () => {
    const { watch, pages } = watched({ a: { ready: true } });
    pages["ca /version"] = new NoAnswer("no page", 404);
    await watch.look();
    assert.deepEqual(watch.list(), [{ ...known("a"), state: "ready", detail: "" }]);
  });
});
