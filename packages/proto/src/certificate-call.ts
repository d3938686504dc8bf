/**
 * The call for a certificate as its clients make it, without the registry of all messages, which takes 50 MB and would be the only use of it in
 * a process such as webhook. Fields by number: istio.v1.auth, security/v1alpha1/ca.proto.
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

export interface CertificateRequest {
  readonly csr: string;
  readonly validitySeconds: number;
  /** Texts by name. */
  readonly metadata: Readonly<Record<string, string>>;
}

export interface CertificateResponse {
  /** The certificate first, the root last. */
  readonly certChain: readonly string[];
}

/** The method as @grpc/grpc-js describes it to a client. */
export const certificateCall = {
  path: "/istio.v1.auth.IstioCertificateService/CreateCertificate",
  requestSerialize: (request: CertificateRequest): Buffer => Buffer.from(encodeRequest(request)),
  responseDeserialize: (bytes: Buffer): CertificateResponse => ({ certChain: textsOfField(bytes, 1) }),
} as const;

/**
 * Options of every grpc-js channel. Without the first, grpc-js asks DNS for a TXT record with a service config before it connects: an
 * engine's resolver on an internal network answers that after 21 s.
 */
export const channelOptions = { "grpc.service_config_disable_resolution": 1 } as const;

function encodeRequest({ csr, validitySeconds, metadata }: CertificateRequest): Uint8Array {
  const writer = new BinaryWriter().tag(1, WireType.LengthDelimited).string(csr);
  writer.tag(3, WireType.Varint).int64(validitySeconds);
  const texts = Object.entries(metadata);
  if (texts.length === 0) return writer.finish();
  // google.protobuf.Struct: a map of names to values, of which texts have number 3.
  writer.tag(4, WireType.LengthDelimited).fork();
  for (const [name, text] of texts) {
    writer.tag(1, WireType.LengthDelimited).fork().tag(1, WireType.LengthDelimited).string(name);
    writer.tag(2, WireType.LengthDelimited).fork().tag(3, WireType.LengthDelimited).string(text).join();
    writer.join();
  }
  return writer.join().finish();
}

/** @throws Error for bytes that are no message */
function textsOfField(bytes: Uint8Array, wanted: number): readonly string[] {
  const reader = new BinaryReader(bytes);
  const found: string[] = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (number === wanted && type === WireType.LengthDelimited) found.push(reader.string());
    else reader.skip(type, number);
  }
  return found;
}
