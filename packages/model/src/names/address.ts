/** IP addresses and CIDR ranges as text. */

const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;

export function isIpv4(text: string): boolean {
  return ipv4.test(text);
}

/** Accepts every form of RFC 4291 text, an embedded IPv4 tail included, but no zone. */
export function isIpv6(text: string): boolean {
  if (!text.includes(":") || !/^[0-9a-fA-F:.]+$/.test(text)) return false;
  const tail = text.lastIndexOf(":") + 1;
  const hasIpv4Tail = text.includes(".");
  if (hasIpv4Tail && !isIpv4(text.slice(tail))) return false;
  const halves = text.split("::");
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  const width = groups.length + (hasIpv4Tail ? 1 : 0);
  if (!groups.every((group, i) => /^[0-9a-fA-F]{1,4}$/.test(group) || (hasIpv4Tail && i === groups.length - 1)))
    return false;
  return halves.length === 2 ? width < 8 : width === 8;
}

export function isIpAddress(text: string): boolean {
  return isIpv4(text) || isIpv6(text);
}

/** `address/length`; undefined when it is no CIDR range. A bare address gives its full length. */
export function parseCidr(text: string): { readonly address: string; readonly length: number } | undefined {
  const [address = "", length, rest] = text.split("/");
  if (rest !== undefined || !isIpAddress(address)) return undefined;
  const width = isIpv4(address) ? 32 : 128;
  if (length === undefined) return { address, length: width };
  if (!/^\d{1,3}$/.test(length) || Number(length) > width) return undefined;
  return { address, length: Number(length) };
}

/** The significant bits of a range as binary text, after `4` or `6`: equal texts mean the same addresses. */
export function rangeBits(text: string): string | undefined {
  const cidr = parseCidr(text);
  if (cidr === undefined) return undefined;
  const isV4 = isIpv4(cidr.address);
  const bits = isV4 ? octetBits(cidr.address) : groupBits(cidr.address);
  return `${isV4 ? 4 : 6}${bits.slice(0, cidr.length)}`;
}

function octetBits(address: string): string {
  return address
    .split(".")
    .map((octet) => Number(octet).toString(2).padStart(8, "0"))
    .join("");
}

function groupBits(address: string): string {
  const [head = "", tail] = address.split("::").map(bitsOfGroups);
  return tail === undefined ? head : head + tail.padStart(128 - head.length, "0");
}

function bitsOfGroups(groups: string): string {
  return groups
    .split(":")
    .filter((group) => group !== "")
    .map((group) => (group.includes(".") ? octetBits(group) : Number.parseInt(group, 16).toString(2).padStart(16, "0")))
    .join("");
}

/** The number of an address; undefined for what is none. */
export function addressNumber(address: string): bigint | undefined {
  const bits = isIpAddress(address) ? rangeBits(address) : undefined;
  return bits === undefined ? undefined : BigInt(`0b${bits.slice(1)}`);
}

/** As text in the form of RFC 5952, so that equal addresses are equal texts. */
export function addressText(number: bigint, family: 4 | 6): string {
  const [count, bits] = family === 4 ? [4, 8] : [8, 16];
  const parts = Array.from({ length: count }, (_, i) =>
    Number(BigInt.asUintN(bits, number >> BigInt(bits * (count - 1 - i)))),
  );
  if (family === 4) return parts.join(".");
  const groups = parts.map((group) => group.toString(16));
  const zeros = longestZeros(parts);
  if (zeros.length < 2) return groups.join(":");
  return `${groups.slice(0, zeros.start).join(":")}::${groups.slice(zeros.start + zeros.length).join(":")}`;
}

/** The first of the longest runs of zeros. */
function longestZeros(parts: readonly number[]): { readonly start: number; readonly length: number } {
  let longest = { start: 0, length: 0 };
  let start = 0;
  for (const [index, part] of parts.entries()) {
    if (part !== 0) start = index + 1;
    else if (index + 1 - start > longest.length) longest = { start, length: index + 1 - start };
  }
  return longest;
}
