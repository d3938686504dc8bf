/** A control plane by `flotilla up` that floods are sent to, with the certificates and requests of its workloads. */
import assert from "node:assert/strict";
import { request } from "node:https";
import { join } from "node:path";
import { openLocalIssuer } from "@flotilla/auth";
import { requestCertificate, type TlsMaterial } from "@flotilla/auth/serving";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { type PluggedInRoot, plugInRoot } from "./plugged-in-root.ts";

type Proof = Parameters<typeof requestCertificate>[0]["proof"];

export interface FloodedPlane extends AsyncDisposable {
  readonly plane: ControlPlane;
  readonly root: PluggedInRoot;
  /** A certificate of the account in the namespace `shop`. */
  certificateOf(serviceAccount: string): Promise<TlsMaterial>;
  /** Signed over a connection of its own. */
  certificate(proof: Proof): Promise<TlsMaterial>;
  /** A review that is answered by 200, over a connection of its own. */
  review(proof: TlsMaterial): Promise<void>;
}

/** Resolves when certificates are signed. The webhook asks its callers for certificates. */
export async function startFloodedPlane(
  workDir: string,
  config: string | undefined,
  stop: AbortSignal,
): Promise<FloodedPlane> {
  const directory = join(workDir, "cacerts");
  const root = await plugInRoot(directory);
  const settings = {
    ...{ LOG_LEVEL: "silent", ROOT_CA_DIR: directory },
    WEBHOOK_CLIENT_CA_FILE: join(directory, "root-cert.pem"),
  };
  const options = {
    ...{ workDir, config, mesh: undefined, networks: undefined, embedded: false },
    ...{ firstPort: await freePorts(12), settings },
  };
  const plane = await startControlPlane({ options, logs: "files", onProgress: () => undefined });
  const { ports } = plane.layout;
  const certificate = (proof: Proof): Promise<TlsMaterial> => {
    const at = { address: `127.0.0.1:${ports.ca}`, serverName: "istiod.istio-system.svc", rootsPem: root.rootsPem };
    return requestCertificate({ ...at, proof, names: [], keyType: "ecdsa-p256", ttlMs: 3_600_000 });
  };
  const certificateOf = async (serviceAccount: string): Promise<TlsMaterial> => {
    const token = await (await openLocalIssuer(workDir)).mintToken({ namespace: "shop", serviceAccount });
    return certificate({ token });
  };
  try {
    await allReady(plane, 90_000, () => undefined, stop);
    const signed = () => certificateOf("web").then(Boolean, () => false);
    await until(signed, { withinMs: 60_000, what: "certificates", everyMs: 50 });
  } catch (error) {
    await plane[Symbol.asyncDispose]();
    throw error;
  }
  return {
    ...{ plane, root, certificate, certificateOf },
    review: (proof) => review(ports.webhook, proof),
    [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose](),
  };
}

async function review(port: number, { keyPem, chainPem }: TlsMaterial): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const body = JSON.stringify({
    ...{ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" },
    request: { uid: "1", operation: "CREATE", object: { kind: "Pod", apiVersion: "v1", metadata: {}, spec: {} } },
  });
  const proof = { key: keyPem, cert: chainPem, rejectUnauthorized: false, agent: false };
  const options = { method: "POST", headers: { "content-type": "application/json" }, ...proof };
  request(`https://127.0.0.1:${port}/validate`, options, (response) => {
    response.resume().once("end", () => resolve(response.statusCode));
  })
    .once("error", reject)
    .end(body);
  assert.equal(await promise, 200);
}
