/** Requests that are half sent when a service is asked to stop: it has begun to work on them, and they are finished later. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { get, request } from "node:https";
import { openLocalIssuer } from "@flotilla/auth";
import { type ControlPlane, paths } from "@flotilla/cli/testing";
import { buildCsr, csrPem, generatePrivateKey } from "@flotilla/pki";
import { certificateService, create } from "@flotilla/proto";
import { IstioCertificateRequestSchema } from "@flotilla/proto/security/v1alpha1/ca_pb";
import { until } from "@flotilla/runtime";

export interface HeldWork {
  /** Sends the rest. Resolves to how it was answered: the HTTP status, or `grpc STATUS`. */
  finish(): Promise<string>;
}

type Hold = (plane: ControlPlane) => Promise<HeldWork>;

/** The services that answer requests, each with one of its requests. */
export const holds: Readonly<Record<"ca" | "webhook" | "config-controller", Hold>> = {
  ca: holdCertificate,
  webhook: holdReview,
  "config-controller": holdObject,
};

async function holdReview({ layout }: ControlPlane): Promise<HeldWork> {
  const object = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "shop" },
    spec: { containers: [] },
  };
  const review = {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: randomUUID(), namespace: "shop", operation: "CREATE", object },
  };
  const url = `https://127.0.0.1:${layout.ports.webhook}/inject`;
  return half(url, { ca: rootOf(layout.workDir), body: JSON.stringify(review) });
}

async function holdObject(plane: ControlPlane): Promise<HeldWork> {
  const { workDir } = plane.layout;
  const object = {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "held", namespace: "shop" },
    spec: { hosts: ["held.example"], http: [{ directResponse: { status: 200 } }] },
  };
  const { url, token } = await objectsOf(plane);
  return half(url, { ca: rootOf(workDir), body: JSON.stringify(object), token });
}

/** Where VirtualServices of the namespace `shop` are written, and the token of who may. */
async function objectsOf({
  layout,
  services,
}: ControlPlane): Promise<{ readonly url: string; readonly token: string }> {
  const account = { namespace: "istio-system", serviceAccount: "flotilla-admin", audience: "flotilla-api" };
  const token = await (await openLocalIssuer(layout.workDir)).mintToken(account);
  const pages = services.find(({ name }) => name === "config-controller")?.healthUrl;
  const apiUrl = async () => {
    const page = await fetch(`${pages}/debug/api`);
    return page.ok ? ((await page.json()) as { readonly url?: string }).url : undefined;
  };
  const server = await until(apiUrl, { withinMs: 60_000, what: "the API of config-controller" });
  return { url: `${server}/apis/networking.istio.io/v1/namespaces/shop/virtualservices`, token };
}

/** The status of the answer for the object that config-controller was asked to create. */
export async function statusOfHeldObject(plane: ControlPlane): Promise<number | undefined> {
  const { url, token } = await objectsOf(plane);
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const options = { ca: rootOf(plane.layout.workDir), headers: { authorization: `Bearer ${token}` } };
  get(`${url}/held`, options, (response) => {
    response.resume();
    resolve(response.statusCode);
  }).once("error", reject);
  return promise;
}

interface Halved {
  readonly ca: string;
  readonly body: string;
  readonly token?: string;
}

/** A POST that the service has begun to read: it asked for the body, of which half is sent. */
async function half(url: string, { ca, body, token }: Halved): Promise<HeldWork> {
  const { promise: answered, resolve, reject } = Promise.withResolvers<string>();
  const sent = request(url, {
    method: "POST",
    ca,
    checkServerIdentity: () => undefined,
    headers: {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      expect: "100-continue",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
  });
  sent.once("error", reject);
  sent.once("response", (response) => {
    response.resume();
    response.once("end", () => resolve(String(response.statusCode)));
  });
  // Awaited when it is finished; failing before that is no unhandled rejection.
  answered.catch(() => undefined);
  sent.flushHeaders();
  await Promise.race([once(sent, "continue"), answered]);
  const middle = body.length >> 1;
  await new Promise<void>((done) => void sent.write(body.slice(0, middle), () => done()));
  return {
    finish: () => {
      sent.end(body.slice(middle));
      return answered;
    },
  };
}

async function holdCertificate({ layout }: ControlPlane): Promise<HeldWork> {
  const { createCertificate } = certificateService;
  const token = await (await openLocalIssuer(layout.workDir)).mintToken({ namespace: "shop", serviceAccount: "web" });
  const csr = csrPem(buildCsr({ key: await generatePrivateKey("ecdsa-p256") }));
  const request = create(IstioCertificateRequestSchema, { csr, validityDuration: 3_600n });
  const message = Buffer.from(createCertificate.requestSerialize(request));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  const frame = Buffer.concat([head, message]);
  const session = connectHttp2(`https://127.0.0.1:${layout.ports.ca}`, {
    ca: rootOf(layout.workDir),
    checkServerIdentity: () => undefined,
  });
  session.on("error", () => undefined);
  const stream = session.request({
    ":method": "POST",
    ":path": createCertificate.path,
    "content-type": "application/grpc",
    te: "trailers",
    authorization: `Bearer ${token}`,
  });
  const { promise: answered, resolve, reject } = Promise.withResolvers<string>();
  answered.catch(() => undefined);
  const noteStatus = (headers: Readonly<Record<string, unknown>>): void => {
    if (headers["grpc-status"] !== undefined) resolve(`grpc ${String(headers["grpc-status"])}`);
  };
  stream.on("response", noteStatus).on("trailers", noteStatus).on("error", reject).resume();
  stream.once("close", () => {
    reject(new Error("the call ended without a status"));
    session.close();
  });
  await new Promise<void>((done) => void stream.write(frame.subarray(0, 10), () => done()));
  // It is answered behind all that was sent before.
  await new Promise<void>((done, failed) => void session.ping((error) => (error === null ? done() : failed(error))));
  return {
    finish: () => {
      stream.end(frame.subarray(10));
      return answered;
    },
  };
}

function rootOf(workDir: string): string {
  return readFileSync(paths({ workDir }).root, "utf8");
}
