/** The rows of the table of pushes: the workload, istiod's figure on a quiet machine, and the target. */

export interface Row {
  readonly id: string;
  readonly work: string;
  readonly services: number;
  readonly proxies: number;
  readonly form: "delta" | "sotw";
  readonly ramp: string;
  /** Sets of labels, each selected by a Sidecar of its own. */
  readonly views: number;
  readonly change: "route" | "endpoint" | "annotations" | "none";
  readonly triggers: number;
  /** Clients are spread over two; CPU and memory are those of both. */
  readonly replicas?: 2;
  /** One more client asks for everything and never reads. */
  readonly stuck?: boolean;
  /** Clients show a certificate of ca, on the secure port. */
  readonly mutualTls?: boolean;
  /** All clients disconnect and reconnect with their versions. */
  readonly reconnect?: boolean;
  /** By the name of the figure. */
  readonly istiod: Readonly<Record<string, string>>;
  readonly reach: Readonly<Record<string, string>>;
}

const memory = { "peak RSS, MB": "1,350–1,970" };
const base = {
  services: 500,
  proxies: 1000,
  form: "delta",
  ramp: "5s",
  views: 1,
  change: "none",
  triggers: 0,
} as const;

export const rows: readonly Row[] = [
  {
    ...base,
    id: "edit-delta",
    work: "one VirtualService edit, delta",
    change: "route",
    triggers: 5,
    istiod: { "p50, ms": "1,300–1,700", "p99, ms": "2,400–3,100", "CPU a change, s": "4.1–5.3", ...memory },
    reach: {
      "p50, ms": "≤ 400",
      "p99, ms": "≤ 900",
      "CPU a change, s": "≤ 0.8",
      "all synced, s": "≤ 8",
      "CPU a proxy to connect, ms": "≤ 5",
      "peak RSS, MB": "≤ 450",
      "RSS after they left, × before": "≤ 1.2",
    },
  },
  {
    ...base,
    id: "edit-sotw",
    work: "one VirtualService edit, state of the world",
    form: "sotw",
    change: "route",
    triggers: 5,
    istiod: {
      "p50, ms": "2,200–2,700",
      "p99, ms": "4,200–5,100",
      "CPU a change, s": "6.2–7.5",
      "MB a change": "819",
      ...memory,
    },
    reach: { "p50, ms": "≤ 400", "p99, ms": "≤ 900", "CPU a change, s": "≤ 0.8", "peak RSS, MB": "≤ 450" },
  },
  {
    ...base,
    id: "endpoint",
    work: "one endpoint changes, delta",
    proxies: 500,
    change: "endpoint",
    triggers: 20,
    istiod: { "p50, ms": "157–240", "p99, ms": "170–259", "CPU a change, s": "0.10–0.17" },
    reach: { "p50, ms": "≤ 25", "p99, ms": "≤ 60", "CPU a change, s": "≤ 0.05" },
  },
  {
    ...base,
    id: "views",
    work: "50 label sets, each with a Sidecar of its own: connect, one VirtualService edit",
    views: 50,
    change: "route",
    triggers: 3,
    istiod: { "CPU a proxy to connect, ms": "36–42" },
    reach: { "CPU a proxy to connect, ms": "≤ 2 × edit-delta", "CPU a change, s": "≤ 2 × edit-delta" },
  },
  {
    ...base,
    id: "replicas",
    work: "one VirtualService edit, delta, two replicas share the clients",
    change: "route",
    triggers: 5,
    replicas: 2,
    istiod: {},
    reach: {},
  },
  {
    ...base,
    id: "large",
    work: "2,000 services: connect",
    services: 2000,
    istiod: { "all synced, s": "never (689 proxies)", "peak RSS, MB": "5,400" },
    reach: { "all synced, s": "≤ 60", "peak RSS, MB": "≤ 1,200" },
  },
  {
    ...base,
    id: "reconnect",
    work: "all clients reconnect, nothing changed",
    reconnect: true,
    istiod: { "kB a proxy": "980" },
    reach: { "kB a proxy": "≤ 3", "resources a proxy": "0" },
  },
  {
    ...base,
    id: "admit",
    work: "10 services: new streams admitted",
    services: 10,
    proxies: 2000,
    ramp: "4s",
    istiod: { "streams a second": "25 by default" },
    reach: { "streams a second": "≥ 300", "stream errors at the clients": "0", "RSS a proxy, kB": "≤ 80" },
  },
  {
    ...base,
    id: "admit-mtls",
    work: "10 services: new streams admitted over mutual TLS",
    services: 10,
    proxies: 1000,
    ramp: "6s",
    mutualTls: true,
    istiod: { "streams a second": "25 by default" },
    reach: { "streams a second": "≥ 120", "stream errors at the clients": "0", "RSS a proxy, kB": "≤ 150" },
  },
  {
    ...base,
    id: "unchanged",
    work: "1,000 objects get another annotation",
    services: 1001,
    proxies: 100,
    ramp: "1s",
    change: "annotations",
    istiod: {},
    reach: { "CPU beyond that, s": "≤ 0.2", "messages sent": "0" },
  },
  {
    ...base,
    id: "stuck",
    work: "one VirtualService edit, delta, beside a client that never reads",
    change: "route",
    triggers: 5,
    stuck: true,
    istiod: {},
    reach: { "p99, ms": "as edit-delta, within 10 %" },
  },
];
