/**
 * The listener of a gRPC server: its requirements on callers. gRPC refuses listeners with listener filters, and cannot take plain text
 * and TLS at one port: where both are permitted, a server whose callers use the mesh's TLS by themselves takes TLS alone.
 */
import { create, pack } from "@flotilla/proto";
import { socketAddress } from "@flotilla/proto/addresses";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import {
  HttpConnectionManagerSchema,
  type HttpFilter,
} from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { inboundMutualTls } from "../../snapshot/scope/authn.ts";
import { targetService } from "../../snapshot/scope/services.ts";
import type { View } from "../../snapshot/view.ts";
import { router } from "../envoy/filters/http-filters.ts";
import { networkFilter } from "../envoy/filters/network-filters.ts";
import { serverTls } from "../envoy/tls/certificate-provider.ts";
import { extraAddresses } from "../select/service-address.ts";
import { serverAuthorization } from "./authorization.ts";
import { serverAddress } from "./listener-names.ts";

export interface ServerListenerInputs {
  readonly kind: "server";
  readonly name: string;
  readonly address: string;
  readonly port: number;
  /** Other addresses of the service, one a line. */
  readonly extraAddresses: string;
  readonly isMutual: boolean;
  readonly authorization: readonly HttpFilter[];
}

/** Undefined for ports at which no service finds the server. */
export function selectServerListener(view: View, name: string): ServerListenerInputs | undefined {
  const address = serverAddress(name);
  const port = Number(address?.port);
  const target = view.proxy.targets.findLast(({ targetPort }) => targetPort === port);
  if (address === undefined || target === undefined) return undefined;
  const service = targetService(view, target);
  return {
    kind: "server",
    name,
    address: address.host,
    port,
    extraAddresses: service === undefined ? "" : extraAddresses(view, service).join("\n"),
    isMutual: demandsTls(view, port),
    authorization: view.read(serverAuthorization),
  };
}

function demandsTls(view: View, port: number): boolean {
  const { workload, ports } = view.read(inboundMutualTls);
  const mode = ports.get(port) ?? workload;
  return mode === "STRICT" || (mode === "PERMISSIVE" && view.proxy.label("security.istio.io/tlsMode") === "istio");
}

export function buildServerListener(inputs: ServerListenerInputs): Listener {
  const { name, address, port, extraAddresses: extra, isMutual, authorization } = inputs;
  const kind = isMutual ? "mtls" : "plaintext";
  return create(ListenerSchema, {
    name,
    address: socketAddress(address, port),
    additionalAddresses: extra.split("\n").flatMap((one) => (one === "" ? [] : { address: socketAddress(one, port) })),
    filterChains: [
      {
        name: `inbound-${kind}`,
        filters: [networkFilter(`inbound-hcm${kind}`, connectionManager([...authorization, router]))],
        ...(isMutual && { transportSocket: serverTls }),
      },
    ],
  });
}

/** Every call is the server's own: there is one route, and it forwards nothing. */
function connectionManager(httpFilters: readonly HttpFilter[]) {
  const routes = [
    {
      match: { pathSpecifier: { case: "prefix" as const, value: "/" } },
      action: { case: "nonForwardingAction" as const, value: {} },
    },
  ];
  return pack(
    HttpConnectionManagerSchema,
    create(HttpConnectionManagerSchema, {
      routeSpecifier: {
        case: "routeConfig",
        value: { name: "inbound", virtualHosts: [{ domains: ["*"], routes }] },
      },
      httpFilters: [...httpFilters],
    }),
  );
}
