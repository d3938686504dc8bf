/**
 * All data of the control plane on NATS, and the effect of its loss: which streams must be written to disk before they
 * are acknowledged follows from that (docs/decisions/0130-synchronous-nats.md). docs/architecture/stored-data.md shows this table.
 */

export interface StoredStream {
  /** Of JetStream; that of a bucket begins with KV_. */
  readonly stream: string;
  readonly writers: readonly string[];
  /** Others that read it. The one stream is read by all. */
  readonly readers?: readonly string[];
  readonly holds: string;
  /**
   * - `truth`: kept nowhere else; acknowledged writes must survive.
   * - `copy`: its writers have the source, compare and publish what is missing.
   * - `lease`: one holder at a time; a lost lease ends early, a resurrected one must not overlap with another.
   * - `report`: written again at short intervals, ends with its writer.
   */
  readonly kind: "truth" | "copy" | "lease" | "report";
  readonly afterLoss: string;
}

const bucket = (name: string): string => `KV_flotilla-${name}`;

/** All streams and buckets of the control plane, with their writers and their durability. */
export const storedStreams: readonly StoredStream[] = [
  {
    stream: "FLOTILLA",
    writers: ["config-controller", "service-controller", "ca"],
    holds: "configuration, services, endpoints, trust bundle; automatic addresses of ServiceEntries",
    kind: "truth",
    afterLoss: "publishers write everything again; automatic addresses may change",
  },
  {
    stream: bucket("config"),
    writers: ["config-controller"],
    holds: "objects written over the API (meshes without Kubernetes)",
    kind: "truth",
    afterLoss:
      "written again by the replicas, from what they hold or from their journal below WORK_DIR; without both the objects are gone",
  },
  {
    stream: bucket("ledger"),
    writers: ["config-controller"],
    holds: "history of the configuration",
    kind: "truth",
    afterLoss: "earlier generations cannot be shown or undone",
  },
  {
    stream: bucket("ca"),
    writers: ["ca"],
    holds: "state of a root rotation, and who holds which certificate",
    kind: "truth",
    afterLoss:
      "written again from the copies below WORK_DIR of the replicas; in Kubernetes a rotation under way must be started again, and certificates that no running replica issued are not waited for",
  },
  {
    stream: bucket("ca-roots"),
    writers: ["ca"],
    holds: "self-signed root, sealed (CA_SELF_SIGNED_STORE=bus)",
    kind: "truth",
    afterLoss:
      "written again from the sealed copy below WORK_DIR of a replica; without any a new root is made, and the old one is not trusted any more",
  },
  {
    stream: bucket("duties"),
    writers: ["service-controller"],
    holds: "leases of duties that one replica has, without Kubernetes",
    kind: "lease",
    afterLoss: "another replica may take over",
  },
  {
    stream: bucket("config-controller"),
    writers: ["config-controller"],
    holds: "lease of the replica that publishes",
    kind: "lease",
    afterLoss: "another replica may take over",
  },
  {
    stream: bucket("service-controller"),
    writers: ["service-controller"],
    holds: "lease of the replica that publishes",
    kind: "lease",
    afterLoss: "another replica may take over",
  },
  {
    stream: bucket("ca-lease"),
    writers: ["ca"],
    holds: "lease of the replica that advances a rotation",
    kind: "lease",
    afterLoss: "another replica may take over",
  },
  {
    stream: bucket("progress"),
    writers: ["service-controller"],
    readers: ["config-controller"],
    holds: "how far service-controller has processed the configuration",
    kind: "report",
    afterLoss: "written again with the next change",
  },
  {
    stream: bucket("distribution"),
    writers: ["xds-server"],
    readers: ["config-controller"],
    holds: "how far each change has come on the proxies of a replica",
    kind: "report",
    afterLoss: "written again within seconds",
  },
  {
    stream: bucket("trust-reports"),
    writers: ["xds-server"],
    readers: ["ca"],
    holds: "roots that connected proxies have accepted",
    kind: "report",
    afterLoss: "written again within seconds; a rotation waits for it",
  },
  {
    stream: bucket("machines"),
    writers: ["xds-server"],
    readers: ["service-controller"],
    holds: "machines that are connected to a replica",
    kind: "report",
    afterLoss: "written again within seconds",
  },
];

/** The share of a stream that one service with credentials can take: the others go on when it takes all of it. */
export interface StreamBounds {
  /** Of everything in it; writes beyond that are refused. Undefined: the disk is the bound. */
  readonly maxBytes: number | undefined;
  readonly maxConsumers: number;
}

const maxReportBytes = 64 * 1024 * 1024;
const maxLeaseBytes = 1024 * 1024;
/** A replica has one to three of the one stream, and one of a bucket. */
const maxStreamConsumers = 512;
const maxBucketConsumers = 256;
/** A consumer without a listener is removed after this, whatever its creator asked for, in milliseconds. */
export const maxIdleConsumerMs = 30_000;

/** `truth` and `copy` grow with the mesh and have no bound but the disk. Streams of other names have that of the disk, too. */
export function boundsOf(stream: string): StreamBounds {
  const found = storedStreams.find((one) => one.stream === stream);
  const maxConsumers = stream.startsWith("KV_") ? maxBucketConsumers : maxStreamConsumers;
  if (found?.kind === "lease") return { maxBytes: maxLeaseBytes, maxConsumers };
  return { maxBytes: found?.kind === "report" ? maxReportBytes : undefined, maxConsumers };
}

/**
 * The services that may change the settings of a stream after its creation: its readers, else its writers. xds-server, which every workload
 * can reach, then cannot lift the bounds of what it writes.
 */
export function configurersOf({ stream, writers, readers }: StoredStream): readonly string[] {
  return stream.startsWith("KV_") ? (readers ?? writers) : writers;
}
