/** gRPC methods in the form that @grpc/grpc-js expects, made from the descriptors, without importing it. */
import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import { AggregatedDiscoveryService } from "@flotilla/proto/envoy/service/discovery/v3/ads_pb";
import { IstioCertificateService } from "@flotilla/proto/security/v1alpha1/ca_pb";
import { decode, encode } from "./encode.ts";

/** A method as @grpc/grpc-js describes it. */
export interface GrpcMethod<Request, Response> {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly requestDeserialize: (bytes: Buffer) => Request;
  readonly responseSerialize: (response: Response) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

type MethodOf<Input extends DescMessage, Output extends DescMessage> = DescMethod & {
  readonly input: Input;
  readonly output: Output;
};

/** Requests and responses are messages. */
function grpcMethod<Input extends DescMessage, Output extends DescMessage>(
  method: MethodOf<Input, Output>,
): GrpcMethod<MessageShape<Input>, MessageShape<Output>> {
  return {
    ...requestHalf(method),
    responseSerialize: (response) => asBuffer(encode(method.output, response)),
    responseDeserialize: (bytes) => decode(method.output, bytes),
  };
}

/** Responses are bytes already, for resources that are encoded once and sent on many streams. */
function rawGrpcMethod<Input extends DescMessage>(
  method: MethodOf<Input, DescMessage>,
): GrpcMethod<MessageShape<Input>, Uint8Array> {
  return { ...requestHalf(method), responseSerialize: asBuffer, responseDeserialize: (bytes) => bytes };
}

function requestHalf<Input extends DescMessage>(method: MethodOf<Input, DescMessage>) {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming",
    responseStream: method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming",
    requestSerialize: (request: MessageShape<Input>) => asBuffer(encode(method.input, request)),
    requestDeserialize: (bytes: Buffer) => decode(method.input, bytes),
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Envoy's AggregatedDiscoveryService; messages stay bytes. */
export const aggregatedDiscoveryService = {
  streamAggregatedResources: rawGrpcMethod(AggregatedDiscoveryService.method.streamAggregatedResources),
  deltaAggregatedResources: rawGrpcMethod(AggregatedDiscoveryService.method.deltaAggregatedResources),
} as const;

/** Istio's certificate service. */
export const certificateService = {
  createCertificate: grpcMethod(IstioCertificateService.method.createCertificate),
} as const;
