/** The gRPC methods of the control plane in the form @grpc/grpc-js wants, without importing it. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
} from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { IstioCertificateRequestSchema, IstioCertificateResponseSchema } from "@flotilla/proto/security/v1alpha1/ca_pb";
import { decode } from "./decode.ts";
import { encode } from "./encode.ts";

/** Requests are decoded; responses are bytes already, as resources are encoded once for many streams. */
const passThrough = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const raw = (bytes: Buffer): Uint8Array => bytes;

function decoder<Desc extends DescMessage>(schema: Desc): (bytes: Buffer) => MessageShape<Desc> {
  return (bytes) => decode(schema, bytes);
}

function encoder<Desc extends DescMessage>(schema: Desc): (message: MessageShape<Desc>) => Buffer {
  return (message) => passThrough(encode(schema, message));
}

const discoveryService = "/envoy.service.discovery.v3.AggregatedDiscoveryService";

export const aggregatedDiscoveryService = {
  streamAggregatedResources: {
    path: `${discoveryService}/StreamAggregatedResources`,
    requestStream: true,
    responseStream: true,
    requestSerialize: encoder(DiscoveryRequestSchema),
    requestDeserialize: decoder(DiscoveryRequestSchema),
    responseSerialize: passThrough,
    responseDeserialize: raw,
  },
  deltaAggregatedResources: {
    path: `${discoveryService}/DeltaAggregatedResources`,
    requestStream: true,
    responseStream: true,
    requestSerialize: encoder(DeltaDiscoveryRequestSchema),
    requestDeserialize: decoder(DeltaDiscoveryRequestSchema),
    responseSerialize: passThrough,
    responseDeserialize: raw,
  },
} as const;

export const certificateService = {
  createCertificate: {
    path: "/istio.v1.auth.IstioCertificateService/CreateCertificate",
    requestStream: false,
    responseStream: false,
    requestSerialize: encoder(IstioCertificateRequestSchema),
    requestDeserialize: decoder(IstioCertificateRequestSchema),
    responseSerialize: encoder(IstioCertificateResponseSchema),
    responseDeserialize: decoder(IstioCertificateResponseSchema),
  },
} as const;
