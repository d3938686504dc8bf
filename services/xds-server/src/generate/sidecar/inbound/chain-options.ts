/**
 * Selects the filter chains of one inbound port, by its protocol and mutual TLS mode: each chain takes one kind of connection, so that
 * together they take all that the mode allows.
 */

import type { MutualTlsMode } from "@flotilla/model";
import { isHttp, isUnsupported, type Protocol } from "@flotilla/model";
import type { ServerTLSSettings } from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import type { InboundPort } from "./inbound-ports.ts";

export interface ChainOption {
  readonly carries: "http" | "tcp";
  /** The sidecar terminates TLS. */
  readonly tls: boolean;
  /** As the Sidecar states; else by the mesh's certificates. */
  readonly ownTls?: ServerTLSSettings;
  readonly transportProtocol?: "tls" | "raw_buffer";
  readonly applicationProtocols?: readonly string[];
}

/** Protocols that sidecars offer when they open mutual TLS. */
const istioHttp = ["istio-http/1.0", "istio-http/1.1", "istio-h2"];
const istioTcp = ["istio-peer-exchange", "istio"];
const anyIstio = ["istio", "istio-peer-exchange", ...istioHttp];
const plainHttp = ["http/1.1", "h2c"];

type Kind = "http" | "tcp" | "auto";

const chains: Readonly<Record<MutualTlsMode, Readonly<Record<Kind, readonly ChainOption[]>>>> = {
  PERMISSIVE: {
    http: [
      { carries: "http", tls: true, transportProtocol: "tls", applicationProtocols: anyIstio },
      { carries: "http", tls: false, transportProtocol: "raw_buffer" },
    ],
    tcp: [
      { carries: "tcp", tls: true, transportProtocol: "tls", applicationProtocols: anyIstio },
      { carries: "tcp", tls: false, transportProtocol: "tls" },
      { carries: "tcp", tls: false, transportProtocol: "raw_buffer" },
    ],
    auto: [
      { carries: "http", tls: true, transportProtocol: "tls", applicationProtocols: istioHttp },
      { carries: "http", tls: false, transportProtocol: "raw_buffer", applicationProtocols: plainHttp },
      { carries: "tcp", tls: true, transportProtocol: "tls", applicationProtocols: istioTcp },
      { carries: "tcp", tls: false, transportProtocol: "raw_buffer" },
      { carries: "tcp", tls: false, transportProtocol: "tls" },
    ],
  },
  STRICT: {
    http: [{ carries: "http", tls: true, transportProtocol: "tls" }],
    tcp: [{ carries: "tcp", tls: true, transportProtocol: "tls" }],
    auto: [
      { carries: "http", tls: true, transportProtocol: "tls", applicationProtocols: istioHttp },
      { carries: "tcp", tls: true, transportProtocol: "tls" },
    ],
  },
  DISABLE: {
    http: [{ carries: "http", tls: false, transportProtocol: "raw_buffer" }],
    tcp: [{ carries: "tcp", tls: false, transportProtocol: "raw_buffer" }],
    auto: [
      { carries: "http", tls: false, transportProtocol: "raw_buffer", applicationProtocols: plainHttp },
      { carries: "tcp", tls: false, transportProtocol: "raw_buffer" },
    ],
  },
};

/** A Sidecar's own TLS stands in where the mesh's is off: then nothing else is taken. */
export function portChainOptions({ protocol, mode, ownTls }: InboundPort): readonly ChainOption[] {
  if (ownTls === undefined || mode !== "DISABLE") return chainOptions(protocol, mode);
  return [{ carries: isHttp(protocol) ? "http" : "tcp", tls: true, ownTls, transportProtocol: "tls" }];
}

export function chainOptions(protocol: Protocol, mode: MutualTlsMode): readonly ChainOption[] {
  return chains[mode][isUnsupported(protocol) ? "auto" : isHttp(protocol) ? "http" : "tcp"];
}
