/** The certificate of the TLS port: the identity of ca, or a pair of files beside it, and how long its opening waits for them. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { TlsMaterial } from "@flotilla/auth/serving";
import { noopLogger, until } from "@flotilla/runtime";
import { createTestAuthority } from "@flotilla/testkit";
import { openServingMaterial, servingNames } from "./serving-material.ts";

const root = mkdtempSync(join(tmpdir(), "serving-"));
after(() => rmSync(root, { recursive: true, force: true }));
const authority = await createTestAuthority();
const pair = await authority.keyPair();
const [certFile, keyFile] = [join(root, "cert.pem"), join(root, "key.pem")];

const identityOf = (name: string): TlsMaterial => ({
  chainPem: `${name} chain`,
  keyPem: `${name} key`,
  rootsPem: `${name} roots`,
});

/** A ca that issues when it is asked to, and a health page that keeps its conditions. */
function parts(settings: object) {
  const conditions = new Map<string, string | undefined>();
  let issue: (material: TlsMaterial) => void = () => undefined;
  const certificate = {
    follow: async (onIdentity: (material: TlsMaterial) => void, stop: AbortSignal) => {
      issue = onIdentity;
      await new Promise((resolve) => stop.addEventListener("abort", resolve, { once: true }));
    },
  };
  const options = {
    settings: { certProvider: "", namespace: "istio-system", ...settings },
    ...{ caAddress: "ca:15010", certificate, cluster: undefined, log: noopLogger },
    health: { setCondition: (name: string, detail: string | undefined) => void conditions.set(name, detail) },
  };
  return { options: options as never, conditions, issue: (name: string) => issue(identityOf(name)) };
}

describe("certificates of the TLS port", () => {
  it("is the identity of ca, which is waited for, and follows it", async () => {
    const { options, conditions, issue } = parts({});
    const opening = openServingMaterial(options, new AbortController().signal);
    assert.equal(conditions.get("identity"), "waiting for ca at ca:15010");
    issue("first");
    await using material = await opening;
    assert.equal(conditions.get("identity"), undefined);
    assert.deepEqual([material.identity, material.shown], [identityOf("first"), identityOf("first")]);
    let changes = 0;
    material.onChange(() => changes++);
    issue("second");
    assert.equal(changes, 1);
    assert.equal(material.identity.chainPem, "second chain");
  });

  it("is a pair of files beside the roots of ca, once both are there", async () => {
    writeFileSync(keyFile, pair.keyPem);
    const { options, issue } = parts({ tlsCertFile: certFile, tlsKeyFile: keyFile });
    const opening = openServingMaterial(options, new AbortController().signal);
    issue("own");
    let isOpen = false;
    void opening.then(() => {
      isOpen = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(isOpen, false);
    writeFileSync(certFile, pair.certificatePem);
    await until(() => isOpen, { withinMs: 20_000, what: "the pair of files" });
    await using material = await opening;
    assert.equal(material.identity.keyPem, "own key");
    assert.deepEqual(material.shown, { chainPem: pair.certificatePem, keyPem: pair.keyPem, rootsPem: "own roots" });
  });

  it("is waited for until the service stops", async () => {
    const stop = new AbortController();
    const { options } = parts({});
    const opening = openServingMaterial(options, stop.signal);
    stop.abort(new Error("stopped"));
    await assert.rejects(opening, /stopped/);
  });

  it("is waited for with a condition where a signer of the cluster issues it, and without one otherwise", async () => {
    const conditionWith = async (certProvider: string) => {
      const { options, conditions } = parts({ certProvider });
      const stop = new AbortController();
      // An API server that never answers.
      const cluster = { api: { create: () => new Promise(() => undefined) } };
      const opening = openServingMaterial({ ...(options as object), cluster } as never, stop.signal);
      const condition = conditions.get("certificate");
      stop.abort(new Error("stopped"));
      await assert.rejects(opening, /stopped/);
      return condition;
    };
    const signer = "k8s.io/example.com/signer";
    assert.equal(await conditionWith(signer), `waiting for the signer of ${signer}`);
    assert.equal(await conditionWith(""), undefined);
  });

  it("cannot be a signer's without a cluster", async () => {
    const { options } = parts({ certProvider: "k8s.io/example.com/signer" });
    await assert.rejects(
      openServingMaterial(options, new AbortController().signal),
      /no cluster to ask the signer example\.com\/signer/,
    );
  });

  it("has the names of istiod's service", () => {
    assert.deepEqual(servingNames({ namespace: "mesh" }), ["istiod.mesh.svc", "istiod.mesh.svc.cluster.local"]);
  });
});
