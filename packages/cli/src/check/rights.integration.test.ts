/** `flotilla check` of a cluster: a real kube-apiserver is asked for every right that k8s/base gives to the services. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { parseAllDocuments } from "yaml";
import { recordRun } from "../recorded-run.fixture.ts";
import { checkRights } from "./rights.ts";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const namespace = "istio-system";
const group = "/apis/rbac.authorization.k8s.io/v1";
const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(() => server?.[Symbol.asyncDispose]());

interface RbacObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}
const plurals: Readonly<Record<string, string>> = {
  ClusterRole: "clusterroles",
  ClusterRoleBinding: "clusterrolebindings",
  Role: "roles",
  RoleBinding: "rolebindings",
};

function pathOf({ kind, metadata }: RbacObject): string {
  return metadata.namespace === undefined
    ? `${group}/${plurals[kind]}`
    : `${group}/namespaces/${metadata.namespace}/${plurals[kind]}`;
}

describe("rights in a cluster", { skip: server === undefined && whyNoApiserver }, () => {
  const api = () => server?.api ?? assert.fail();

  before(async () => {
    await api().create("/api/v1/namespaces", { metadata: { name: namespace } });
    const files = globSync("k8s/base/*.yaml", { cwd: root }).map((file) => readFileSync(join(root, file), "utf8"));
    const objects = files.flatMap((text) => parseAllDocuments(text).map((one) => one.toJS() as RbacObject | null));
    for (const object of objects)
      if (object !== null && object.kind in plurals) await api().create(pathOf(object), object);
  });

  it("the list of rights is that of k8s/base", () => {
    const { status, stdout } = spawnSync(process.execPath, [join(root, "scripts/write-rights.ts"), "--check"], {
      encoding: "utf8",
    });
    assert.equal(status, 0, stdout);
  });

  it("all accounts have what their manifests give them", async () => {
    const results = await checkRights(api(), { namespace, of: "accounts" });
    assert.deepEqual(
      results.map(({ name, state }) => `${name}: ${state}`),
      ["ca", "config-controller", "service-controller", "webhook", "xds-server"].map(
        (service) => `rights of ${service}: ok`,
      ),
    );
  });

  it("a missing right is named with verb, resource and the line that grants it", async () => {
    await api().delete(`${group}/namespaces/${namespace}/rolebindings/flotilla-ca`);
    const results = await checkRights(api(), { namespace, of: "accounts" });
    const missing = results.filter(({ state }) => state === "failed");
    assert.ok(missing.length > 0 && missing.every(({ name }) => name === "rights of ca"));
    const secret = missing.find(({ detail }) => detail.includes("update secrets")) ?? assert.fail();
    assert.equal(
      secret.detail,
      'ServiceAccount flotilla-ca of istio-system may not update secrets "istio-ca-secret" in istio-system',
    );
    const [, file = "", line = ""] = /^(k8s\/base\/ca\.yaml):(\d+) grants it/.exec(secret.advice ?? "") ?? [];
    const rule = readFileSync(join(root, file), "utf8")
      .split("\n")
      .slice(Number(line) - 1, Number(line) + 4)
      .join("\n");
    assert.match(rule, /istio-ca-secret/);
  });

  it("with a kubeconfig alone its user is asked for", async () => {
    const { out } = await recordRun(["check", "--kubeconfig", server?.kubeconfig ?? ""]);
    assert.match(out, /^ok +rights of xds-server: all \d+$/m);
    assert.doesNotMatch(out, /FAILED +rights/);
  });
});
