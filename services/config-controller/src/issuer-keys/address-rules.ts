/**
 * Addresses that URIs from objects may lead to. Authors of a RequestAuthentication could otherwise make the control plane send requests to
 * services of its own network (CVE-2026-41413).
 */
import { BlockList, isIPv4, isIPv6 } from "node:net";

/** Ranges that no public issuer has: of the host, the site, the link, carriers, documentation, benchmarks, groups, the future. */
const closedIpv4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"],
  ...["192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"],
  ...["203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
];
/** 2000::/3 is what is given out; of that 6to4, Teredo and documentation are not reached directly. */
const openIpv6 = "2000::/3";
const closedIpv6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

export interface AddressRules {
  /** An address of IPv4 within one of IPv6 counts as itself. */
  isAllowed(address: string): boolean;
}

/** @param allowed ranges that are asked although they are closed. @param blocked further ranges, which win; all as parseRange reads them */
export function addressRules(allowed: readonly string[], blocked: readonly string[]): AddressRules {
  const [opened, shut, closed, open] = [
    rangesOf(allowed),
    rangesOf(blocked),
    rangesOf([...closedIpv4, ...closedIpv6]),
    rangesOf([openIpv6]),
  ];
  const isIn = (list: BlockList, address: string) => list.check(address, isIPv4(address) ? "ipv4" : "ipv6");
  return {
    isAllowed: (given) => {
      const plain = given.split("%", 1)[0] ?? "";
      const address = embeddedIpv4(plain) ?? plain;
      if (!isIPv4(address) && !isIPv6(address)) return false;
      if (isIn(shut, address) || isIn(shut, plain)) return false;
      if (isIn(opened, address)) return true;
      if (isIn(closed, address)) return false;
      return isIPv4(address) || isIn(open, address);
    },
  };
}

/** Of `::ffff:10.0.0.1`, `64:ff9b::10.0.0.1` and their hexadecimal forms. */
function embeddedIpv4(address: string): string | undefined {
  if (!isIPv6(address)) return undefined;
  const [, text] = /^\[(.*)\]$/.exec(new URL(`http://[${address}]/`).hostname) ?? [];
  const [, high, low] = /^(?:::ffff:|64:ff9b::)(?:([0-9a-f]{1,4}):)?([0-9a-f]{1,4})$/.exec(text ?? "") ?? [];
  if (low === undefined) return undefined;
  const bits = [Number.parseInt(high ?? "0", 16), Number.parseInt(low, 16)];
  return bits.flatMap((word) => [word >> 8, word & 255]).join(".");
}

function rangesOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const parsed = parseRange(range);
    if (parsed === undefined) throw new RangeError(`${range} is no range of addresses`);
    list.addSubnet(parsed.address, parsed.bits, parsed.family);
  }
  return list;
}

interface Range {
  readonly address: string;
  readonly bits: number;
  readonly family: "ipv4" | "ipv6";
}

/** `10.0.0.0/8`, or one address; undefined for what is neither. */
export function parseRange(text: string): Range | undefined {
  const [address = "", length] = text.split("/");
  const family = isIPv4(address) ? "ipv4" : isIPv6(address) ? "ipv6" : undefined;
  const most = family === "ipv4" ? 32 : 128;
  const bits = length === undefined ? most : Number(length);
  if (family === undefined || !Number.isInteger(bits) || bits < 0 || bits > most) return undefined;
  return { address, bits, family };
}
