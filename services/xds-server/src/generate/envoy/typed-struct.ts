/** Istio's own extensions travel as TypedStruct, so that proxies without their protobuf types can still parse them. */
import type { JsonObject } from "@flotilla/proto";
import { type Any, create, pack } from "@flotilla/proto";
import { TypedStructSchema } from "@flotilla/proto/udpa/type/v1/typed_struct_pb";

export function typedStruct(typeUrl: string, value: JsonObject): Any {
  return pack(TypedStructSchema, create(TypedStructSchema, { typeUrl, value }));
}
