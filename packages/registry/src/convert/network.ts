/** On which network an address lies, by MeshNetworks. Source: Istio's MeshNetworks reference. */
import { addressNumber } from "@flotilla/model";

/** The fields of MeshNetworks that networks of endpoints follow from. */
export interface MeshNetworksSpec {
  readonly networks?: Readonly<Record<string, { readonly endpoints?: readonly NetworkEndpoints[] }>>;
}
interface NetworkEndpoints {
  readonly fromCidr?: string;
  readonly fromRegistry?: string;
}

/** The network of an address; "" when no network has it. */
export type NetworkLookup = (address: string) => string;

interface Range {
  readonly network: string;
  readonly base: bigint;
  readonly bits: bigint;
  readonly width: number;
}

/** A network that takes the whole registry of `clusterId` goes before address ranges; of ranges the narrowest wins. */
export function networkLookup(networks: MeshNetworksSpec | undefined, clusterId: string): NetworkLookup {
  const ranges: Range[] = [];
  let ofRegistry = "";
  for (const [network, { endpoints = [] }] of Object.entries(networks?.networks ?? {})) {
    for (const { fromCidr, fromRegistry } of endpoints) {
      if (fromRegistry === clusterId) ofRegistry = network;
      const range = fromCidr === undefined ? undefined : parseRange(network, fromCidr);
      if (range !== undefined) ranges.push(range);
    }
  }
  if (ofRegistry !== "") return () => ofRegistry;
  if (ranges.length === 0) return () => "";
  ranges.sort((a, b) => (a.bits < b.bits ? -1 : a.bits > b.bits ? 1 : 0));
  return (address) => {
    const number = addressNumber(address);
    if (number === undefined) return "";
    const width = address.includes(":") ? 128 : 32;
    return ranges.find((r) => r.width === width && number >> r.bits === r.base)?.network ?? "";
  };
}

function parseRange(network: string, cidr: string): Range | undefined {
  const [address = "", length] = cidr.split("/");
  const number = addressNumber(address);
  if (number === undefined || length === undefined) return undefined;
  const width = address.includes(":") ? 128 : 32;
  const bits = BigInt(Math.max(width - Number(length), 0));
  return { network, base: number >> bits, bits, width };
}
