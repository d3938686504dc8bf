/** EXTENSION_CONFIG patches: configs of filters that proxies ask for by name (ECDS), in whatever context. */
import type { TypedExtensionConfig } from "@flotilla/proto/envoy/config/core/v3/extension_pb";
import { ApplyTo, Operation, type Patch, patchesTo } from "./patch.ts";

export function addedExtensionConfigs(patches: readonly Patch[]): readonly Patch<TypedExtensionConfig>[] {
  return patchesTo(patches, ApplyTo.EXTENSION_CONFIG).filter(({ operation }) => operation === Operation.ADD);
}
