/**
 * The one registry of all message types: Envoy, xDS, Istio, Google. Built once per process from the
 * committed descriptor set; generated modules are look-ups in it.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import {
  createFileRegistry,
  type DescEnum,
  type DescExtension,
  type DescMessage,
  type DescService,
  fromBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { ProtoError } from "./errors.ts";

export const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, gunzipSync(readFileSync(new URL("./descriptors.binpb.gz", import.meta.url)))),
);

/** @throws ProtoError when the descriptor set has no such message: code and descriptors are of different generations. */
export function message(typeName: string): DescMessage {
  return found(registry.getMessage(typeName), typeName);
}

export function enumeration(typeName: string): DescEnum {
  return found(registry.getEnum(typeName), typeName);
}

export function service(typeName: string): DescService {
  return found(registry.getService(typeName), typeName);
}

export function extension(typeName: string): DescExtension {
  return found(registry.getExtension(typeName), typeName);
}

function found<D>(descriptor: D | undefined, name: string): D {
  if (descriptor === undefined)
    throw new ProtoError("PROTO_UNKNOWN", `the descriptor set has no ${name}; run pnpm gen`);
  return descriptor;
}
