/** LDS of gRPC programs without a proxy: API listeners of what they call, and of servers the listeners of their own addresses. */
import { clusterName } from "@flotilla/model";
import { create, pack, typeUrl } from "@flotilla/proto";
import { socketAddress } from "@flotilla/proto/addresses";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import type { StatefulSession } from "@flotilla/proto/envoy/extensions/filters/http/stateful_session/v3/stateful_session_pb";
import { HttpConnectionManagerSchema } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import type { View } from "../../snapshot/view.ts";
import { createGenerator } from "../encode/generator.ts";
import { fault, router, sessionFilter } from "../envoy/filters/http-filters.ts";
import { sessionStateOf } from "../select/persistent-session.ts";
import { extraAddresses, serviceAddress } from "../select/service-address.ts";
import { allListenerNames, listenerNamesFor, outboundPort } from "./listener-names.ts";
import { buildServerListener, type ServerListenerInputs, selectServerListener } from "./server-listener.ts";

interface ApiListenerInputs {
  readonly kind: "api";
  readonly name: string;
  readonly routeName: string;
  readonly address: string;
  readonly port: number;
  /** Other addresses of the service, one a line. */
  readonly extraAddresses: string;
  readonly session: StatefulSession | undefined;
}

export const grpcListeners = createGenerator<ApiListenerInputs | ServerListenerInputs, Listener>({
  typeUrl: typeUrl.listener,
  label: "grpc ",
  schema: ListenerSchema,
  names: allListenerNames,
  namesFor: listenerNamesFor,
  select: (view, name) => selectServerListener(view, name) ?? selectApiListener(view, name),
  build: (inputs) => (inputs.kind === "server" ? buildServerListener(inputs) : buildApiListener(inputs)),
});

function selectApiListener(view: View, name: string): ApiListenerInputs | undefined {
  const found = outboundPort(view, name);
  if (found === undefined) return undefined;
  const { service, port } = found;
  return {
    kind: "api",
    name,
    routeName: clusterName("outbound", port.number, "", service.hostname),
    address: serviceAddress(view, service),
    port: port.number,
    extraAddresses: extraAddresses(view, service).join("\n"),
    session: sessionStateOf(view, service.labels),
  };
}

function buildApiListener({ name, routeName, address, port, session, ...inputs }: ApiListenerInputs): Listener {
  const extra = inputs.extraAddresses.split("\n").filter((one) => one !== "");
  const manager = create(HttpConnectionManagerSchema, {
    routeSpecifier: {
      case: "rds",
      value: { routeConfigName: routeName, configSource: { configSourceSpecifier: { case: "ads", value: {} } } },
    },
    httpFilters: [...(session === undefined ? [] : [sessionFilter(session)]), fault, router],
  });
  return create(ListenerSchema, {
    name,
    address: socketAddress(address, port),
    additionalAddresses: extra.map((one) => ({ address: socketAddress(one, port) })),
    apiListener: { apiListener: pack(HttpConnectionManagerSchema, manager) },
  });
}
