/** Large objects in the thread: the same problems as inline, and a main thread that is free. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createValidator } from "../index.ts";
import { shortened, ValidationThread } from "./validation-thread.ts";

/** @param host of each route's destination */
function virtualService(routes: number, host = "reviews") {
  const http = Array.from({ length: routes }, (_, at) => ({
    match: [{ uri: { exact: `/${at}` } }],
    route: [{ destination: { host } }],
  }));
  return {
    ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata: { name: "a", namespace: "shop" } },
    spec: { hosts: ["a.example.com"], http },
  };
}

const ingress = {
  ...{ apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: { name: "a", namespace: "shop" } },
  spec: {
    ingressClassName: "ours",
    defaultBackend: { resource: { kind: "Bucket", name: "a" } },
  },
};

const validate = createValidator();

describe("the validation thread", () => {
  it("finds what is found inline, at the place in the text where the object is", async () => {
    await using thread = new ValidationThread({ patchValues: true });
    for (const object of [virtualService(3), virtualService(3, "a b"), { ...virtualService(1), spec: { hosts: 1 } }]) {
      const json = Buffer.from(JSON.stringify({ request: { oldObject: {}, object } }));
      assert.deepEqual(await thread.validate({ json, at: ["request", "object"], object }), validate(object));
    }
    const wrong = { operation: "MERGE", value: { lb_policy: "NO" } };
    const filter = {
      ...{ apiVersion: "networking.istio.io/v1alpha3", kind: "EnvoyFilter", metadata: { name: "a", namespace: "a" } },
      spec: { configPatches: [{ applyTo: "CLUSTER", patch: wrong }] },
    };
    const found = await thread.validate({ json: JSON.stringify(filter), object: filter });
    assert.ok(found.some(({ field }) => field.startsWith("spec.configPatches[0].patch.value")));
  });

  it("takes what the mesh serves from its owner", async () => {
    for (const isServed of [true, false]) {
      const served = { gatewayRole: () => undefined, isServedIngress: () => isServed };
      await using thread = new ValidationThread({ served });
      const found = await thread.validate({ json: JSON.stringify(ingress), object: ingress });
      assert.deepEqual(found, createValidator({ served })(ingress));
      assert.equal(
        found.some(({ severity }) => severity === "warning"),
        isServed,
      );
    }
  });

  it("leaves the main thread free: timers run while 20,000 routes are validated", async () => {
    await using thread = new ValidationThread();
    const object = virtualService(20_000);
    const json = JSON.stringify(object);
    let turns = 0;
    const turning = setInterval(() => turns++, 1);
    const before = process.threadCpuUsage();
    assert.deepEqual(await thread.validate({ json, object }), []);
    const aside = process.threadCpuUsage(before);
    clearInterval(turning);
    const start = process.threadCpuUsage();
    validate(object);
    const inline = process.threadCpuUsage(start);
    assert.ok(turns > 10, `${turns} turns of the event loop`);
    assert.ok(aside.user < inline.user / 3, `${aside.user} µs of ${inline.user}`);
  });

  it("refuses what takes too long, and validates the next object", async () => {
    await using thread = new ValidationThread({ timeLimitMs: 1 });
    const slow = virtualService(20_000);
    const found = await thread.validate({ json: JSON.stringify(slow), object: slow });
    assert.deepEqual(found, [
      { field: "", reason: "the object cannot be validated within 0.001 s", severity: "error" },
    ]);
    await using patient = new ValidationThread();
    const next = virtualService(1);
    assert.deepEqual(await patient.validate({ json: JSON.stringify(next), object: next }), []);
  });

  it("refuses an object while 64 MiB of others wait, and takes it once they are done", async () => {
    await using thread = new ValidationThread();
    const object = virtualService(1);
    const json = `${JSON.stringify(object)}${" ".repeat(40 * 1024 * 1024)}`;
    const [first, second] = await Promise.all([thread.validate({ json, object }), thread.validate({ json, object })]);
    assert.deepEqual(first, []);
    assert.match(second?.[0]?.reason ?? "", /other large objects wait already/);
    assert.deepEqual(await thread.validate({ json, object }), []);
  });
});

describe("the problems of one object", () => {
  it("are listed up to a thousand, errors first, and the rest is counted", () => {
    const problems = Array.from({ length: 3_000 }, (_, at) => ({
      ...{ field: `spec.a[${at}]`, reason: "is wrong" },
      severity: at < 2_500 ? ("warning" as const) : ("error" as const),
    }));
    const shown = shortened(problems);
    assert.equal(shown.length, 1_001);
    assert.deepEqual(shown[0], problems[2_500]);
    assert.deepEqual(shown.at(-1), { field: "", reason: "2000 more problems are not listed", severity: "warning" });
    assert.equal(shortened(problems.slice(0, 1_001)).length, 1_001);
    assert.deepEqual(shortened(shown), shown);
  });
});
