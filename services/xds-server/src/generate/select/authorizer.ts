/** The external authorizers of CUSTOM policies, of the mesh's extension providers. */
import { StatusCode } from "@flotilla/proto/envoy/type/v3/http_status_pb";
import type { MeshConfig_ExtensionProvider_EnvoyExternalAuthorizationHttpProvider as HttpProvider } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import type { View } from "../../snapshot/view.ts";
import type { Authorizer } from "../envoy/filters/authz/ext-authz.ts";
import { outsideService } from "./outside-service.ts";

/** Undefined for names that no usable provider has, or whose service is unknown: nothing can be asked then, and requests are denied. */
export function authorizer(view: View, name: string): Authorizer | undefined {
  const [found, ...others] = view.mesh.extensionProviders.filter((one) => one.name === name);
  const settings = found?.provider;
  if (settings?.case !== "envoyExtAuthzHttp" && settings?.case !== "envoyExtAuthzGrpc") return undefined;
  if (others.length > 0 || !isLabel(name) || !isStatus(settings.value.statusOnError)) return undefined;
  if (settings.case === "envoyExtAuthzHttp" && !isUsable(settings.value)) return undefined;
  const service = outsideService(view, settings.value.service, settings.value.port);
  return service && { name, service, settings };
}

/** Names become part of metadata keys and of names of policies. */
function isLabel(name: string): boolean {
  return name.length <= 63 && /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(name);
}

const statuses: ReadonlySet<unknown> = new Set(Object.values(StatusCode));

/** Of those that Envoy has a name for. */
function isStatus(code: string): boolean {
  return code === "" || (/^\d+$/.test(code) && statuses.has(Number(code)));
}

/** Headers are named, or given by a prefix or suffix; `*` alone is none of these. */
function isUsable(settings: HttpProvider): boolean {
  const headers = [
    ...settings.includeRequestHeadersInCheck,
    ...settings.includeHeadersInCheck,
    ...settings.headersToDownstreamOnDeny,
    ...settings.headersToDownstreamOnAllow,
    ...settings.headersToUpstreamOnAllow,
  ];
  const isPath = settings.pathPrefix === "" || settings.pathPrefix.startsWith("/");
  return isPath && !headers.includes("*");
}
