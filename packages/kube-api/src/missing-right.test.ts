import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { startHttps } from "./https-server.fixture.ts";
import { openKubeApi } from "./kube-api.ts";
import { parseKubeConfig } from "./kube-config.ts";
import { missingRight } from "./missing-right.ts";

const account = (name: string) => `User "system:serviceaccount:istio-system:${name}"`;
const repository = join(dirname(fileURLToPath(import.meta.url)), "../../..");

describe("a missing right", () => {
  it("is named with the rule for the cluster and the manifest of the service", () => {
    const message = `endpointslices.discovery.k8s.io is forbidden: ${account("flotilla-service-controller")} cannot list resource "endpointslices" in API group "discovery.k8s.io" at the cluster scope`;
    assert.equal(
      missingRight(message),
      'add the rule {apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list"]} to a ClusterRole that is bound to ServiceAccount flotilla-service-controller of istio-system; k8s/base/service-controller.yaml has all its rules',
    );
    for (const service of ["ca", "config-controller", "service-controller", "webhook", "xds-server"])
      assert.ok(existsSync(join(repository, `k8s/base/${service}.yaml`)), service);
  });

  it("of a namespace is one for a Role there, of whatever user", () => {
    const message =
      'leases is forbidden: User "jane" cannot update resource "leases" in API group "" in the namespace "mesh"';
    assert.equal(
      missingRight(message),
      'add the rule {apiGroups: [""], resources: ["leases"], verbs: ["update"]} to a Role of namespace mesh that is bound to jane',
    );
  });

  it("is none where a request is refused for another reason", () => {
    assert.equal(missingRight('admission webhook "x" denied the request: no'), undefined);
  });

  it("is part of the error of a request", async () => {
    const message = `nodes is forbidden: ${account("mesh")} cannot list resource "nodes" in API group "" at the cluster scope`;
    await using server = await startHttps("api.example", (_, response) => {
      response.writeHead(403).end(JSON.stringify({ kind: "Status", message }));
    });
    const cluster = {
      server: `https://127.0.0.1:${server.port}`,
      "certificate-authority-data": Buffer.from(server.ca).toString("base64"),
    };
    const config = JSON.stringify({
      "current-context": "x",
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster: { ...cluster, "tls-server-name": "api.example" } }],
      users: [{ name: "u", user: {} }],
    });
    using api = openKubeApi(parseKubeConfig(config, "east"));
    await assert.rejects(api.get("/api/v1/nodes"), {
      code: "KUBE_REFUSED",
      message:
        /403 nodes is forbidden: .*; add the rule \{apiGroups: \[""\], resources: \["nodes"\], verbs: \["list"\]\}/,
    });
  });
});
