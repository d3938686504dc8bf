/** Addresses in the status of Ingresses, in an API server that keeps objects in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { IngressSettings } from "@flotilla/gateway-api";
import { KubeError } from "@flotilla/kube-api";
import { createMemoryApi, type MemoryApi } from "@flotilla/kube-api/memory";
import { noopLogger, until } from "@flotilla/runtime";
import { IngressStatus } from "./ingress-status.ts";

const group = "/apis/networking.k8s.io/v1";
const ingressPath = (name: string) => `${group}/namespaces/shop/ingresses/${name}`;
const gatewayPath = "/api/v1/namespaces/istio-system/services/ingress";
const served = { spec: { ingressClassName: "mesh" } };
const gateway = (...ips: readonly string[]) => ({
  status: { loadBalancer: { ingress: ips.map((ip) => ({ ip })) } },
});
const cluster = {
  [`${group}/ingressclasses/mesh`]: { spec: { controller: "istio.io/ingress-controller" } },
  [gatewayPath]: gateway("192.0.2.1"),
};
const mesh: IngressSettings = { ingressControllerMode: "STRICT", ingressClass: "istio", ingressService: "ingress" };

async function publishing(
  memory: MemoryApi,
  check: () => Promise<void>,
  settings: () => IngressSettings | undefined = () => mesh,
) {
  const stop = new AbortController();
  const options = { namespace: "istio-system", mesh: settings, log: noopLogger, random: () => 0 };
  const running = new IngressStatus({ api: memory.api, ...options }).run(stop.signal);
  try {
    await check();
  } finally {
    stop.abort();
    await running;
  }
}

function publishedBy(memory: MemoryApi, name: string): unknown {
  return memory.read<{ readonly status?: { readonly loadBalancer?: { readonly ingress?: unknown } } }>(
    ingressPath(name),
  )?.status?.loadBalancer?.ingress;
}

const written = (memory: MemoryApi, count: number) =>
  until(() => memory.writes.length >= count, { withinMs: 20_000, everyMs: 2, what: `${count} writes` });

test("Ingresses that the mesh serves get the addresses of the gateway's Service, and no other ones", async () => {
  const foreign = { spec: { ingressClassName: "nginx" } };
  const stored = { ...cluster, [ingressPath("other")]: foreign, [ingressPath("shop")]: served };
  const memory = createMemoryApi(stored);
  await publishing(memory, async () => {
    await written(memory, 1);
    memory.put(gatewayPath, gateway("192.0.2.1", "192.0.2.2"));
    await written(memory, 2);
  });
  assert.deepEqual(publishedBy(memory, "shop"), [{ ip: "192.0.2.1" }, { ip: "192.0.2.2" }]);
  assert.equal(publishedBy(memory, "other"), undefined);
  assert.deepEqual(
    memory.writes.map(({ verb, path }) => `${verb} ${path}`),
    [`replace ${ingressPath("shop")}/status`, `replace ${ingressPath("shop")}/status`],
  );
});

test("a status that has the addresses already is left as it is, and the rest of one that has not stays", async () => {
  const has = { ...served, status: gateway("192.0.2.1").status };
  const lacks = { ...served, status: { note: "kept", loadBalancer: {} } };
  const memory = createMemoryApi({ ...cluster, [ingressPath("a")]: has, [ingressPath("b")]: lacks });
  await publishing(memory, async () => {
    await written(memory, 1);
  });
  assert.deepEqual(
    memory.writes.map(({ path }) => path),
    [`${ingressPath("b")}/status`],
  );
  const { status } = memory.read<{ status: { note: string } }>(ingressPath("b")) ?? {};
  assert.equal(status?.note, "kept");
});

test("a status that cannot be written does not keep others from being written", async () => {
  const memory = createMemoryApi({ ...cluster, [ingressPath("a")]: served, [ingressPath("b")]: served });
  const refusal = new KubeError("KUBE_CONFLICT", "changed", { status: 409 });
  memory.refusal = ({ path }) => (path === `${ingressPath("a")}/status` ? refusal : undefined);
  await publishing(memory, () => written(memory, 1).then(() => undefined));
  assert.deepEqual([publishedBy(memory, "a"), publishedBy(memory, "b")], [undefined, [{ ip: "192.0.2.1" }]]);
});

test("nothing is written while the gateway or the mesh's settings are not known", async () => {
  const { [gatewayPath]: service, ...others } = cluster;
  const memory = createMemoryApi({ ...others, [ingressPath("shop")]: served });
  let settings: IngressSettings | undefined;
  await publishing(
    memory,
    async () => {
      memory.put(gatewayPath, service as object);
      settings = { ...mesh, ingressService: "another" };
      memory.put(ingressPath("second"), served);
      settings = mesh;
      memory.put("/api/v1/namespaces/istio-system/services/unrelated", {});
      await written(memory, 2);
    },
    () => settings,
  );
  assert.deepEqual(publishedBy(memory, "second"), [{ ip: "192.0.2.1" }]);
});
