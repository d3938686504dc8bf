/** `/debug/config_dump`: what a proxy gets, in the shape of Envoy's own config_dump, without secrets. */
import type { Proxy } from "@flotilla/model";
import { bytesToJson, type JsonObject, type JsonValue, typeUrl } from "@flotilla/proto";
import type { Core } from "../core.ts";

const admin = "type.googleapis.com/envoy.admin.v3";

export function configDump(core: Core, proxy: Proxy): JsonObject {
  const subject = core.subjectOf(proxy);
  const all = (
    type: string,
  ): readonly { readonly name: string; readonly version: string; readonly json: JsonValue }[] =>
    [...(core.resources(subject, type)?.byName.values() ?? [])].map(({ name, version, bytes }) => ({
      name,
      version,
      json: bytesToJson(type, bytes),
    }));
  return {
    configs: [
      {
        "@type": `${admin}.ClustersConfigDump`,
        dynamicActiveClusters: all(typeUrl.cluster).map(({ version, json }) => ({
          versionInfo: version,
          cluster: json,
        })),
      },
      {
        "@type": `${admin}.ListenersConfigDump`,
        dynamicListeners: all(typeUrl.listener).map(({ name, version, json }) => ({
          name,
          activeState: { versionInfo: version, listener: json },
        })),
      },
    ],
  };
}
