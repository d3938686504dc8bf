/** A pod with a sidecar beside the ambient namespace shop, which takes mutual TLS only. */
import { web } from "./load.ts";
import { apply, kubectl, statusSeenBy } from "./process.ts";

const namespace = "beside";
const serve = 'require("node:http").createServer((request, response) => response.end("beside")).listen(8080)';

export async function startBeside(image: string): Promise<void> {
  const named = { name: "beside", namespace };
  await apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels: { "istio-injection": "enabled" } } },
    {
      apiVersion: "security.istio.io/v1",
      kind: "PeerAuthentication",
      metadata: named,
      spec: { mtls: { mode: "STRICT" } },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: named,
      spec: { selector: { app: "beside" }, ports: [{ name: "http", port: 8080 }] },
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { ...named, labels: { app: "beside" } },
      spec: {
        securityContext: { runAsUser: 1000 },
        containers: [{ name: "node", image, args: ["-e", serve] }],
        terminationGracePeriodSeconds: 1,
      },
    },
  ]);
  await kubectl("-n", namespace, "wait", "--for=condition=Ready", "pod/beside", "--timeout=120s");
}

/** The status of the answer of orders, or why there was none. */
export function besideGets(): Promise<string> {
  return statusSeenBy(["-n", namespace, "pod/beside", "-c", "node"], "http://orders.shop:8080/");
}

/** The status of its answer to web. */
export function webGetsBeside(): Promise<string> {
  return statusSeenBy(web, "http://beside.beside:8080/");
}

export async function removeBeside(): Promise<void> {
  await kubectl("delete", "namespace", namespace, "--ignore-not-found");
}
