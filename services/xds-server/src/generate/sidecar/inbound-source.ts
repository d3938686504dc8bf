/** Where connections to the workload seem to come from, so that they are not redirected again. */
import { create } from "@flotilla/proto";
import { type BindConfig, BindConfigSchema } from "@flotilla/proto/envoy/config/core/v3/address_pb";
import type { IpMode } from "../../snapshot/facets.ts";

export function sourceOfInbound(ipMode: IpMode): BindConfig {
  const of = (address: string) => ({ address, portSpecifier: { case: "portValue" as const, value: 0 } });
  return create(BindConfigSchema, {
    sourceAddress: of(ipMode === "ipv6" ? "::6" : "127.0.0.6"),
    ...(ipMode === "dual" && { extraSourceAddresses: [{ address: of("::6") }] }),
  });
}
