export {
  create,
  type JsonObject,
  type JsonValue,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
export type { GenMessage } from "@bufbuild/protobuf/codegenv2";
export {
  type Any,
  AnySchema,
  type Duration,
  DurationSchema,
  StringValueSchema,
  type Timestamp,
} from "@bufbuild/protobuf/wkt";
export { channelOptions } from "./certificate-call.ts";
export { decode, encode } from "./encode.ts";
export { ProtoError, type ProtoErrorCode } from "./errors.ts";
export { withSeconds } from "./go-durations.ts";
export { aggregatedDiscoveryService, certificateService, type GrpcMethod } from "./grpc.ts";
export { anyToJson, bytesToJson, type FromJsonOptions, fromJson, toJson } from "./json.ts";
export { isJsonObject } from "./map-json-anys.ts";
export { type MergeOptions, merge } from "./merge.ts";
export { fieldSize, Parts, textSize } from "./parts.ts";
export { registry } from "./registry.ts";
export {
  debugTypeUrl,
  isDebugType,
  pack,
  shortName,
  shownType,
  type TypeUrl,
  typeNameOf,
  typeUrl,
  typeUrlOf,
  unpack,
  unpackAs,
} from "./type-url.ts";
