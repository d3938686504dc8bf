import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KubeError } from "@flotilla/kube-api";
import { createLogger } from "@flotilla/runtime";
import type { Holding } from "../rotation/ledger.ts";
import { endedPods } from "./ended-pods.ts";

const holding = (place: string, cluster = "one"): Holding => {
  const [, namespace = "", name = "", uid = ""] = /(\w+)\/(\w+) (\w+)$/.exec(place) ?? [];
  return {
    ...{ identity: "spiffe://td/ns/shop/sa/web", place, issuer: "old", roots: ["old"] },
    ...{ issuedMs: 0, notAfterMs: 1 },
    ...(name !== "" && { pod: { cluster, namespace, name, uid } }),
  };
};
const pods: Readonly<Record<string, object>> = {
  "/api/v1/namespaces/shop/pods/there": { metadata: { uid: "u1" }, status: { phase: "Running" } },
  "/api/v1/namespaces/shop/pods/done": { metadata: { uid: "u2" }, status: { phase: "Succeeded" } },
};

function asking(get: (path: string) => object | undefined) {
  const asked: string[] = [];
  const lines: string[] = [];
  let nowMs = 0;
  const api = {
    get: async (path: string) => {
      asked.push(path);
      return get(path) as never;
    },
  };
  const log = createLogger("ca", "info", { write: (line) => void lines.push(line) });
  const of = endedPods({ api, clusterId: "one", nowMs: () => nowMs, log });
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { asked, lines, of, pass };
}

describe("pods that have ended", () => {
  it("are gone, done, or were replaced by one of their name", async () => {
    const { of } = asking((path) => pods[path]);
    const places = ["pod shop/there u1", "pod shop/there u0", "pod shop/done u2", "pod shop/gone u3"];
    const ended = await of([
      ...places.map((place) => holding(place)),
      holding("pod shop/gone u4", "two"),
      holding("host 10.0.0.1"),
    ]);
    const identity = "spiffe://td/ns/shop/sa/web";
    assert.deepEqual(
      [...ended].sort(),
      ["done/u2", "gone/u3", "there/u0"].map((name) => `${identity}@pod/shop/${name}`),
    );
  });

  it("may name themselves otherwise, as services of the control plane do", async () => {
    const { of } = asking((path) => pods[path]);
    const service = { ...holding("pod shop/gone u3"), place: "instance gone:15012" };
    assert.deepEqual([...(await of([service]))], ["spiffe://td/ns/shop/sa/web@instance/gone:15012"]);
  });

  it("are asked for once, and those that are there again after a while", async () => {
    const { of, asked, pass } = asking((path) => pods[path]);
    const both = [holding("pod shop/there u1"), holding("pod shop/gone u3")];
    for (let look = 0; look < 3; look++) await of(both);
    assert.equal(asked.length, 2);
    pass(31_000);
    await of(both);
    assert.deepEqual(asked.slice(2), ["/api/v1/namespaces/shop/pods/there"]);
  });

  it("are asked for again when they come back to the list", async () => {
    const { of, asked } = asking((path) => pods[path]);
    const both = [holding("pod shop/there u1"), holding("pod shop/gone u3")];
    assert.equal((await of(both)).size, 1);
    assert.equal((await of([])).size, 0);
    assert.equal((await of(both)).size, 1);
    assert.equal(asked.length, 4);
  });

  it("are found out fifty at a time", async () => {
    const { of, asked } = asking(() => undefined);
    const many = Array.from({ length: 60 }, (_, i) => holding(`pod shop/gone${i} u3`));
    const sizes = [(await of(many)).size, (await of(many)).size];
    assert.deepEqual([sizes, asked.length], [[50, 60], 60]);
  });

  it("are reported as unreadable once, until they can be read again", async () => {
    let isRefused = true;
    const { of, lines, pass } = asking(() => {
      if (isRefused) throw new KubeError("KUBE_REFUSED", "pods", { status: 403 });
      return pods["/api/v1/namespaces/shop/pods/there"];
    });
    const look = async () => {
      await of([holding("pod shop/there u1")]);
      pass(31_000);
      return lines.length;
    };
    assert.deepEqual([await look(), await look()], [1, 1]);
    isRefused = false;
    assert.equal(await look(), 1);
    isRefused = true;
    assert.equal(await look(), 2);
  });

  it("are not known where pods may not be read", async () => {
    const { of } = asking(() => {
      throw new KubeError("KUBE_REFUSED", "pods", { status: 403 });
    });
    assert.equal((await of([holding("pod shop/gone u3")])).size, 0);
  });
});
