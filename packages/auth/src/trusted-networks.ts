/** Networks whose proxies may say for whom they speak. This host always belongs to them. */
import { BlockList, isIP } from "node:net";
import { AuthError } from "./errors.ts";

/** Empty texts are skipped: they come from an empty setting. @throws AuthError AUTH_BAD_NETWORK */
export function trustedNetworks(cidrs: readonly string[]): (remoteAddress: string) => boolean {
  const networks = new BlockList();
  for (const cidr of cidrs) {
    if (cidr === "") continue;
    const [address = "", prefix = ""] = cidr.split("/");
    const version = isIP(address);
    if (version === 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > (version === 4 ? 32 : 128))
      throw new AuthError("AUTH_BAD_NETWORK", `${JSON.stringify(cidr)} is not a network such as 10.0.0.0/8`);
    networks.addSubnet(address, Number(prefix), version === 4 ? "ipv4" : "ipv6");
  }
  networks.addSubnet("127.0.0.0", 8, "ipv4");
  networks.addAddress("::1", "ipv6");
  return (remoteAddress) => {
    const host = hostOf(remoteAddress);
    if (host === undefined) return false;
    return networks.check(host, isIP(host) === 4 ? "ipv4" : "ipv6");
  };
}

/** The address in `ip:port`; without a port it is not an address of a connection. */
function hostOf(remoteAddress: string): string | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:]+)|((?:[0-9a-f]*:){2,}[0-9a-f.]*)):(\d+)$/i.exec(remoteAddress);
  const [host = ""] = (match?.[1] ?? match?.[2] ?? match?.[3] ?? "").split("%", 1);
  if (isIP(host) === 0) return undefined;
  // A dual-stack socket shows IPv4 callers as ::ffff:a.b.c.d.
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(host)?.[1];
  return mapped ?? host;
}
