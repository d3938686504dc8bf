/** A CA of a test: signs in this process, and answers requests for certificates over real TLS and gRPC. */
import { randomBytes } from "node:crypto";
import {
  certificatePem,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  parseCertificate,
  parseCsrPem,
  privateKeyPem,
  type San,
  sanOf,
  spkiOf,
} from "@flotilla/pki";
import { certificateService, create } from "@flotilla/proto";
import { type IstioCertificateRequest, IstioCertificateResponseSchema } from "@flotilla/proto/security/v1alpha1/ca_pb";
import { noopLogger } from "@flotilla/runtime";
import { type handleUnaryCall, Server } from "@grpc/grpc-js";
import type { Caller } from "../authenticator.ts";
import { callerOf } from "./grpc-caller.ts";
import { serveGrpcTls } from "./grpc-tls.ts";
import type { TlsMaterial } from "./material.ts";

export const serverName = "ca.test";

export interface Life {
  readonly notBeforeMs?: number;
  readonly notAfterMs?: number;
}

export interface Authority {
  readonly rootPem: string;
  /** PEM of a certificate for the key of a request, and for its names unless others are given. */
  sign(csr: string, life?: Life, sans?: readonly San[]): string;
  material(names: readonly string[], life?: Life): Promise<TlsMaterial>;
}

export async function createAuthority(organization = "test"): Promise<Authority> {
  const key = await generatePrivateKey("ecdsa-p256");
  const [dayMs, nowMs] = [86_400_000, Date.now()];
  const times = { notBeforeMs: nowMs - dayMs, notAfterMs: nowMs + dayMs };
  const root = issueRoot({ serial: randomBytes(16), subject: { organization }, ...times }, key);
  const issue = (request: Pick<Parameters<typeof issueLeaf>[0], "spki" | "sans">, life: Life = {}): string => {
    const leaf = { ...request, ...times, ...life, serial: randomBytes(16) };
    return certificatePem(parseCertificate(issueLeaf(leaf, issuerOf(root, key))));
  };
  return {
    rootPem: certificatePem(root),
    sign: (csr, life, sans) => {
      const asked = parseCsrPem(csr);
      return issue({ spki: asked.spki, sans: sans ?? asked.sans }, life);
    },
    material: async (names, life) => {
      const own = await generatePrivateKey("ecdsa-p256");
      const chainPem = issue({ spki: spkiOf(own), sans: names.map(sanOf) }, life);
      return { keyPem: privateKeyPem(own), chainPem, rootsPem: certificatePem(root) };
    },
  };
}

export interface Call {
  readonly request: IstioCertificateRequest;
  readonly caller: Caller;
}

/** A chain, the status code of a refusal, or nothing: the call stays open. */
export type Answer = readonly string[] | number | undefined;

export interface TestCa extends AsyncDisposable {
  readonly address: string;
  readonly calls: readonly Call[];
}

export async function startCa(authority: Authority, answer: (call: Call) => Answer): Promise<TestCa> {
  const calls: Call[] = [];
  const server = new Server();
  const handle: handleUnaryCall<IstioCertificateRequest, unknown> = (grpc, reply) => {
    const call = { request: grpc.request, caller: callerOf(grpc) };
    calls.push(call);
    const given = answer(call);
    if (typeof given === "number") reply({ code: given, details: `code ${given}` });
    else if (given !== undefined) reply(null, create(IstioCertificateResponseSchema, { certChain: [...given] }));
  };
  server.addService({ createCertificate: certificateService.createCertificate }, { createCertificate: handle });
  const material = await authority.material([serverName]);
  const where = { host: "127.0.0.1", port: 0, setting: "X" };
  const tls = await serveGrpcTls({ server, material, log: noopLogger, drainMs: 20, ...where });
  return {
    address: `127.0.0.1:${tls.port}`,
    calls,
    [Symbol.asyncDispose]: () => tls[Symbol.asyncDispose](),
  };
}
