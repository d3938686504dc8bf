/** Envoy's form of addresses. */
import { create } from "@flotilla/proto";
import { type Address, AddressSchema } from "@flotilla/proto/envoy/config/core/v3/address_pb";

/** @param port TCP port */
export function socketAddress(address: string, port: number): Address {
  return create(AddressSchema, {
    address: { case: "socketAddress", value: { address, portSpecifier: { case: "portValue", value: port } } },
  });
}

/** A Unix domain socket. */
export function pipeAddress(path: string): Address {
  return create(AddressSchema, { address: { case: "pipe", value: { path } } });
}
