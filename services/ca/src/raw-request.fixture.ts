/** For tests: CreateCertificate with every part of the call chosen by the test. */
import type { TlsMaterial } from "@flotilla/auth/serving";
import { buildCsr, csrPem, generatePrivateKey, parseCertificatePem } from "@flotilla/pki";
import { certificateService, channelOptions, create, type JsonObject } from "@flotilla/proto";
import { IstioCertificateRequestSchema } from "@flotilla/proto/security/v1alpha1/ca_pb";
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { type RunningCa, serverName } from "./main.fixture.ts";

export interface Asked {
  readonly token?: string;
  readonly csr?: string;
  readonly ttl?: bigint;
  readonly metadata?: JsonObject;
  readonly headers?: Record<string, string>;
  readonly material?: TlsMaterial;
}

export interface Answer {
  readonly code: status;
  readonly details: string;
  readonly chain: readonly string[];
  /** Of the certificate, if there is one. */
  readonly sans: readonly string[];
}

const { createCertificate } = certificateService;
const goodCsr = csrPem(buildCsr({ key: await generatePrivateKey("ecdsa-p256") }));

/** On a machine that other tests keep busy, too. */
const answeredWithinMs = 60_000;

type Target = Pick<RunningCa, "grpc" | "rootsPem">;

/** One connection of its own. */
export function openClient(ca: Target, material?: TlsMaterial): Client {
  const pair = material === undefined ? [] : [Buffer.from(material.keyPem), Buffer.from(material.chainPem)];
  return new Client(`127.0.0.1:${ca.grpc}`, credentials.createSsl(Buffer.from(ca.rootsPem), ...pair), {
    ...channelOptions,
    "grpc.ssl_target_name_override": serverName,
    "grpc.use_local_subchannel_pool": 1,
  });
}

/** The chain. Rejects with the ServiceError of a refusal. */
export async function sendRequest(ca: Target, asked: Asked): Promise<readonly string[]> {
  const client = openClient(ca, asked.material);
  return sendOver(client, asked).finally(() => client.close());
}

export function sendOver(client: Client, asked: Omit<Asked, "material">): Promise<readonly string[]> {
  const { token, csr = goodCsr, ttl = 60n, metadata, headers = {} } = asked;
  const sent = new Metadata();
  if (token !== undefined) sent.set("authorization", `Bearer ${token}`);
  for (const [name, value] of Object.entries(headers)) sent.set(name, value);
  const request = create(IstioCertificateRequestSchema, { csr, validityDuration: ttl, ...(metadata && { metadata }) });
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
  client.makeUnaryRequest(
    createCertificate.path,
    createCertificate.requestSerialize,
    createCertificate.responseDeserialize,
    request,
    sent,
    { deadline: Date.now() + answeredWithinMs },
    (error, response) => (response === undefined ? reject(error) : resolve(response.certChain)),
  );
  return promise;
}

/** A refusal is an answer too. */
export async function askAs(ca: Target, asked: Asked): Promise<Answer> {
  try {
    const chain = await sendRequest(ca, asked);
    const { sans } = parseCertificatePem(chain[0] ?? "");
    return { code: status.OK, details: "", chain, sans: sans.map(({ value }) => value) };
  } catch (error) {
    const { code, details } = error as ServiceError;
    if (code === undefined) throw error;
    return { code, details, chain: [], sans: [] };
  }
}
