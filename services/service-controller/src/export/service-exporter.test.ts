/** ServiceExports in API servers that keep objects in memory. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { KubeError } from "@flotilla/kube-api";
import { createMemoryApi, type MemoryApi } from "@flotilla/kube-api/memory";
import type { KubeObject } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { ServiceExporter } from "./service-exporter.ts";

const multiClusterApi = { group: "multicluster.x-k8s.io", version: "v1alpha1" };
const exportsIn = (namespace: string) => `/apis/multicluster.x-k8s.io/v1alpha1/namespaces/${namespace}/serviceexports`;
const service = (name: string, uid = `${name}-uid`): KubeObject => ({
  ...{ apiVersion: "v1", kind: "Service" },
  metadata: { name, namespace: "shop", uid, resourceVersion: "1" },
});

interface Exporting {
  nowMs: number;
  readonly services: Map<string, readonly KubeObject[]>;
  readonly clusters: Map<string, MemoryApi>;
  readonly exporter: ServiceExporter;
  /** Resolves after every cluster was looked at at least once more. */
  looked(): Promise<void>;
}

async function exporting(check: (run: Exporting) => Promise<void>) {
  const stop = new AbortController();
  let looks = 0;
  const services = new Map<string, readonly KubeObject[]>();
  const clusters = new Map<string, MemoryApi>();
  const run: Exporting = {
    ...{ nowMs: 0, services, clusters },
    exporter: new ServiceExporter({
      services: () => services,
      apis: () => {
        looks += 1;
        return new Map(Array.from(clusters, ([name, { api }]) => [name, api]));
      },
      nowMs: () => run.nowMs,
      ...{ multiClusterApi, log: noopLogger, lookMs: 1, againMs: 30_000 },
    }),
    looked: async () => {
      const before = looks;
      await until(() => looks > before + 1, { withinMs: 20_000, everyMs: 1, what: "a look at every cluster" });
    },
  };
  const running = run.exporter.run(stop.signal);
  try {
    await check(run);
  } finally {
    stop.abort();
    await running;
  }
}

const created = ({ writes }: MemoryApi) => writes.map(({ object }) => (object as KubeObject).metadata.name ?? "");

describe("ServiceExports", () => {
  test("are made once for each service of each cluster, and belong to it", async () => {
    await exporting(async ({ services, clusters, looked }) => {
      const [east, west] = [createMemoryApi(), createMemoryApi()];
      services.set("east", [service("a"), service("b")]).set("west", [service("c")]);
      clusters.set("east", east).set("west", west);
      await looked();
      assert.deepEqual(created(east), ["a", "b"]);
      assert.deepEqual(created(west), ["c"]);
      const [write] = west.writes;
      assert.equal(write?.path, exportsIn("shop"));
      const owner = { apiVersion: "v1", kind: "Service", name: "c", uid: "c-uid" };
      assert.deepEqual(write?.object, {
        ...{ apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "ServiceExport" },
        metadata: { name: "c", namespace: "shop", ownerReferences: [owner] },
      });
      west.remove(`${exportsIn("shop")}/c`);
      await looked();
      assert.deepEqual(created(west), ["c"], "who removes one keeps the service to its cluster");
    });
  });

  test("are made again for a service that was made anew", async () => {
    await exporting(async ({ services, clusters, looked }) => {
      const east = createMemoryApi();
      clusters.set("east", east);
      services.set("east", [service("a", "first")]);
      await looked();
      services.set("east", []);
      await looked();
      east.remove(`${exportsIn("shop")}/a`);
      services.set("east", [service("a", "second")]);
      await looked();
      assert.deepEqual(created(east), ["a", "a"]);
    });
  });

  test("that somebody wrote already are as good", async () => {
    await exporting(async ({ services, clusters, exporter, looked }) => {
      const east = createMemoryApi({ [`${exportsIn("shop")}/a`]: {} });
      clusters.set("east", east);
      services.set("east", [service("a")]);
      await looked();
      assert.deepEqual([created(east), exporter.problems()], [[], []]);
    });
  });

  const refusals = [
    {
      name: "an API server that is away is asked once, and again after a while",
      error: new KubeError("KUBE_AWAY", "no answer", { status: 503 }),
      asked: 1,
      reason: /^\[KUBE_AWAY\] no answer$/,
    },
    {
      name: "a refusal concerns one service, others are tried",
      error: new KubeError("KUBE_REFUSED", "forbidden", { status: 403 }),
      asked: 2,
      reason: /^\[KUBE_REFUSED\] forbidden$/,
    },
    {
      name: "a kind that is not served is named",
      error: new KubeError("KUBE_REFUSED", "not found", { status: 404 }),
      asked: 2,
      reason: /^Service\/shop\/b: the API server serves no ServiceExports/,
    },
  ];
  for (const { name, error, asked, reason } of refusals)
    test(name, async () => {
      await exporting(async (run) => {
        const east = createMemoryApi();
        let requests = 0;
        east.refusal = () => {
          requests += 1;
          return error;
        };
        run.clusters.set("east", east);
        run.services.set("east", [service("a"), service("b")]);
        await run.looked();
        assert.equal(requests, asked);
        const [problem] = run.exporter.problems();
        assert.equal(problem?.object, "ServiceExports of east");
        assert.match(problem?.reason ?? "", reason);
        east.refusal = () => undefined;
        run.nowMs = 29_999;
        await run.looked();
        assert.deepEqual(created(east), [], "it is not asked again yet");
        run.nowMs = 30_000;
        await run.looked();
        assert.deepEqual(created(east), ["a", "b"]);
        assert.deepEqual(run.exporter.problems(), []);
      });
    });

  test("of a cluster that is gone are forgotten with its problems", async () => {
    await exporting(async ({ services, clusters, exporter, looked }) => {
      const east = createMemoryApi();
      east.refusal = () => new KubeError("KUBE_AWAY", "no answer", { status: 503 });
      clusters.set("east", east);
      services.set("east", [service("a")]);
      await looked();
      assert.equal(exporter.problems().length, 1);
      clusters.delete("east");
      await looked();
      assert.deepEqual(exporter.problems(), []);
    });
  });
});
