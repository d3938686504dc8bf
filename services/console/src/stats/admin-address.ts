/**
 * The address at which a proxy's statistics are read. A proxy must not be able to lead the console to any other place: addresses come from settings, from
 * the own work directory, or from the connection of the proxy itself, and never from its metadata alone (decision 0310).
 */
import { BlockList, isIP } from "node:net";
import { RuntimeError, readAdminAddress } from "@flotilla/runtime";

/** A connected proxy, as xds-server knows it. */
export interface KnownProxy {
  /** `name.namespace` */
  readonly proxy: string;
  /** `host:port` of the other end of its connection. */
  readonly peer: string;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface AdminAddresses {
  /** `host:port`; undefined where none is known. */
  of(proxy: KnownProxy): Promise<string | undefined>;
}

export interface AdminAddressOptions {
  /** `NAME.NAMESPACE=HOST:PORT`, of settings. */
  readonly given: readonly string[];
  /** Port of every proxy's own address; undefined: none is asked there. */
  readonly statsPort: number | undefined;
  readonly workDir: string;
}

const ownHost = new BlockList();
ownHost.addSubnet("127.0.0.0", 8, "ipv4");
ownHost.addAddress("::1", "ipv6");

/** Nothing of a workload's: the own host, metadata services of clouds, groups. */
const noWorkload = new BlockList();
for (const [net, prefix, family] of [
  ["0.0.0.0", 8, "ipv4"],
  ["127.0.0.0", 8, "ipv4"],
  ["169.254.0.0", 16, "ipv4"],
  ["224.0.0.0", 3, "ipv4"],
  ["::", 127, "ipv6"],
  ["fe80::", 10, "ipv6"],
  ["ff00::", 8, "ipv6"],
  ["fd00:ec2::254", 128, "ipv6"],
] as const)
  noWorkload.addSubnet(net, prefix, family);

/** @throws RuntimeError SETTINGS_INVALID */
export function adminAddresses({ given, statsPort, workDir }: AdminAddressOptions): AdminAddresses {
  const named = new Map(given.map(parseGiven));
  return {
    of: async (known) => {
      const { proxy } = known;
      const recorded = named.get(proxy) ?? loopback(await readAdminAddress({ workDir, proxy }));
      return recorded ?? (statsPort === undefined ? undefined : atPeer(known, statsPort));
    },
  };
}

function parseGiven(text: string): readonly [proxy: string, address: string] {
  const [, proxy = "", address = ""] = /^([\w.-]+)=(.+)$/.exec(text) ?? [];
  if (partsOf(address) === undefined)
    throw new RuntimeError("SETTINGS_INVALID", `CONSOLE_PROXY_ADMIN: ${text} is not NAME.NAMESPACE=HOST:PORT`);
  return [proxy, address];
}

function partsOf(address: string): { readonly host: string; readonly port: number } | undefined {
  const [, host = "", port = ""] = /^([\w.-]+|\[[\da-fA-F:.]+\]):(\d{1,5})$/.exec(address) ?? [];
  const isPort = port !== "" && Number(port) > 0 && Number(port) < 65_536;
  return isPort ? { host: host.replace(/^\[(.*)\]$/, "$1"), port: Number(port) } : undefined;
}

function isIn(list: BlockList, host: string): boolean {
  const family = isIP(host);
  return family !== 0 && list.check(host, family === 6 ? "ipv6" : "ipv4");
}

/** Records of the work directory are of proxies on this host. */
function loopback(address: string | undefined): string | undefined {
  const parts = address === undefined ? undefined : partsOf(address);
  return parts !== undefined && isIn(ownHost, parts.host) ? address : undefined;
}

/** A gateway or a NAT between is not the proxy: the connection must come from an address that the proxy has. */
function atPeer({ peer, metadata }: KnownProxy, port: number): string | undefined {
  const host = partsOf(peer)?.host.replace(/^::ffff:/i, "");
  const own = (metadata["INSTANCE_IPS"] ?? "").split(",").map((ip) => ip.trim());
  if (host === undefined || !own.includes(host) || isIP(host) === 0 || isIn(noWorkload, host)) return undefined;
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
