export {
  clone,
  create,
  equals,
  fromBinary as decode,
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
  StructSchema,
  type Timestamp,
} from "@bufbuild/protobuf/wkt";
export { pack, unpack } from "./any.ts";
export { encode } from "./encode.ts";
export { aggregatedDiscoveryService, certificateService } from "./grpc.ts";
export { bytesToJson, type FromJsonOptions, fromJson, toJson } from "./json.ts";
export { merge } from "./merge.ts";
export { registry } from "./registry.ts";
export { type TypeUrl, typeNameOf, typeUrl, typeUrlOf } from "./type-url.ts";
