/** A CA of a test: signs in this process, and answers requests for certificates over real TLS and gRPC. */
import assert from "node:assert/strict";
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
import { certificateService, create, encode } from "@flotilla/proto";
import { type IstioCertificateRequest, IstioCertificateResponseSchema } from "@flotilla/proto/security/v1alpha1/ca_pb";
import { GrpcError, RawGrpcServer, unary } from "@flotilla/raw-grpc";
import { noopLogger } from "@flotilla/runtime";
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
  const { path, requestDeserialize } = certificateService.createCertificate;
  const handle = unary(
    async (bytes, grpc) => {
      const call = { request: requestDeserialize(bytes), caller: callerOf(grpc) };
      calls.push(call);
      const given = answer(call);
      if (given === undefined) return new Promise(() => undefined);
      if (typeof given === "number") throw new GrpcError(given, `code ${given}`);
      return encode(IstioCertificateResponseSchema, create(IstioCertificateResponseSchema, { certChain: [...given] }));
    },
    (error) => assert.fail(String(error)),
  );
  const server = new RawGrpcServer({
    ...{ methods: new Map([[path, handle]]), maxMessageBytes: 65_536, maxStreamsPerConnection: 8 },
    ...{ keepaliveMs: 60_000, keepaliveTimeoutMs: 20_000, maxAgeMs: undefined, maxAgeGraceMs: 0 },
  });
  const material = await authority.material([serverName]);
  const where = { host: "127.0.0.1", port: 0, setting: "X" };
  const tls = await serveGrpcTls({ server, material, log: noopLogger, drainMs: 20, ...where });
  return {
    address: `127.0.0.1:${tls.port}`,
    calls,
    [Symbol.asyncDispose]: () => tls[Symbol.asyncDispose](),
  };
}
