/** A call that a proxy's configuration is to meet. */
import type { JsonObject } from "@flotilla/proto";

export interface Call {
  readonly Address?: string;
  readonly Port: number;
  readonly HostHeader?: string;
  readonly Path?: string;
  readonly Protocol?: "http" | "http2" | "tcp";
  readonly TLS?: "plaintext" | "tls" | "mtls";
  readonly Sni?: string;
  readonly Alpn?: string;
  /** `inbound`: redirected to port 15006; `outbound`: to 15001; `gateway`: straight to the port. */
  readonly CallMode?: "gateway" | "outbound" | "inbound";
  readonly MtlsSecretConfigName?: string;
  readonly Method?: string;
  /** Names in lower case. */
  readonly Headers?: Readonly<Record<string, string>>;
  /** Of a token that is valid; undefined without one. */
  readonly Claims?: JsonObject | undefined;
}

/** The names of the resources that the call meets; absent where it meets none. */
export interface Outcome {
  listener?: string;
  filterChain?: string;
  routeConfig?: string;
  virtualHost?: string;
  route?: string;
  cluster?: string;
  error?: string;
}

/** A call with everything that goes without saying. */
export type FullCall = Required<Omit<Call, "Claims">> & Pick<Call, "Claims">;

const tlsAlpn = { http: "http/1.1", http2: "h2", tcp: "" };
const mtlsAlpn = { http: "istio-http/1.1", http2: "istio-h2", tcp: "istio" };

/** Defaults are those of a request to a gateway in plain text. */
export function fullCall(call: Call): FullCall {
  const { Protocol = "tcp", TLS = "plaintext", HostHeader = "" } = call;
  const alpn = TLS === "plaintext" ? "" : (TLS === "tls" ? tlsAlpn : mtlsAlpn)[Protocol];
  return {
    Address: "1.3.3.7",
    Path: "/",
    Alpn: alpn,
    Sni: TLS === "plaintext" ? "" : HostHeader,
    CallMode: "gateway",
    MtlsSecretConfigName: "default",
    Method: "GET",
    Headers: {},
    ...call,
    HostHeader,
    Protocol,
    TLS,
  };
}
