/** Envoy's form of addresses. */
import { create } from "@bufbuild/protobuf";
import { type Address, AddressSchema, SocketAddress_Protocol } from "./gen/envoy/config/core/v3/address_pb.js";

/** @param port TCP port */
export function socketAddress(address: string, port: number): Address {
  return create(AddressSchema, {
    address: { case: "socketAddress", value: { address, portSpecifier: { case: "portValue", value: port } } },
  });
}

/** @param port UDP port */
export function datagramAddress(address: string, port: number): Address {
  const value = {
    protocol: SocketAddress_Protocol.UDP,
    address,
    portSpecifier: { case: "portValue" as const, value: port },
  };
  return create(AddressSchema, { address: { case: "socketAddress", value } });
}

/** A Unix domain socket. */
export function pipeAddress(path: string): Address {
  return create(AddressSchema, { address: { case: "pipe", value: { path } } });
}

/** A listener of the same Envoy. @param endpointId what makes it different from others that lead there */
export function internalAddress(listener: string, endpointId = ""): Address {
  const addressNameSpecifier = { case: "serverListenerName" as const, value: listener };
  return create(AddressSchema, {
    address: { case: "envoyInternalAddress", value: { addressNameSpecifier, endpointId } },
  });
}
