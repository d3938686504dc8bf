/** Imported before a program: names of Kubernetes Services lead to this host. */
import dns from "node:dns";

type Lookup = (host: string, ...rest: readonly unknown[]) => void;

const lookup = dns.lookup as unknown as Lookup;
const here: Lookup = (host, ...rest) => lookup(host.endsWith(".svc") ? "127.0.0.1" : host, ...rest);
Object.assign(dns, { lookup: Object.assign(here, dns.lookup) });
