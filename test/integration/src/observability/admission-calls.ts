/** Calls of the webhook as an API server makes them: good and bad, for validation and injection. */
import { Agent, request } from "node:https";
import { json } from "node:stream/consumers";
import type { ControlPlane } from "@flotilla/cli/testing";
import { route } from "./watched-mesh.ts";

/** Resolves to whether the webhook allows it. */
export async function admit({ layout }: ControlPlane, path: string, object: object): Promise<boolean> {
  const { apiVersion, kind } = object as { readonly apiVersion: string; readonly kind: string };
  const [group = "", version = ""] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const asked = { uid: "u1", kind: { group, version, kind }, namespace: "shop", operation: "CREATE", object };
  const { promise, resolve, reject } = Promise.withResolvers<Review>();
  const agent = new Agent({ rejectUnauthorized: false });
  const headers = { "content-type": "application/json" };
  const call = request(
    { ...{ host: "127.0.0.1", port: layout.ports.webhook, path, method: "POST", headers, agent } },
    (response) => void (json(response) as Promise<Review>).then(resolve, reject),
  );
  call.on("error", reject);
  call.end(JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: asked }));
  return (await promise).response.allowed;
}

interface Review {
  readonly response: { readonly allowed: boolean };
}

export const pod = (annotations: Readonly<Record<string, string>> = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { generateName: "web-", namespace: "shop", labels: { app: "web" }, annotations },
  spec: { containers: [{ name: "web", image: "web" }] },
});
/** Names a template that there is not. */
export const podWithoutTemplate = pod({ "inject.istio.io/templates": "no-such-template" });

export const badRoute = { ...route("1s"), spec: { hosts: [] } };
