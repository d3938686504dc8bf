/** Bytes of a request of either form, decoded; garbage gets a status that says what is wrong with it. */
import { decode } from "@flotilla/proto";
import type { Node } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
} from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { type ClientRequest, type Form, readDeltaRequest, readSotwRequest } from "@flotilla/xds";
import { streamEnd } from "./stream-end.ts";

export interface DecodedRequest {
  readonly request: ClientRequest;
  /** Only the first request of a stream has to carry it. */
  readonly node: Node | undefined;
}

/** @throws GrpcError INVALID_ARGUMENT */
export function decodeRequest(form: Form, bytes: Uint8Array): DecodedRequest {
  try {
    if (form === "sotw") {
      const message = decode(DiscoveryRequestSchema, bytes);
      return { request: readSotwRequest(message), node: message.node };
    }
    const message = decode(DeltaDiscoveryRequestSchema, bytes);
    return { request: readDeltaRequest(message), node: message.node };
  } catch (error) {
    throw streamEnd.invalid(error instanceof Error ? error.message : String(error));
  }
}
