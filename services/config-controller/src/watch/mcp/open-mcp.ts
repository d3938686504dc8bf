/** A source of MCP as an entry of configSources asks for it. */
import { hostname } from "node:os";
import { caRootFileOf, type OwnCertificate, type TlsMaterial } from "@flotilla/auth/serving";
import { isIstioKind, kinds } from "@flotilla/kinds";
import type { Logger } from "@flotilla/runtime";
import type { Admission } from "@flotilla/sources";
import { grpcTransport } from "@flotilla/xds/grpc";
import manifest from "../../../package.json" with { type: "json" };
import type { Settings } from "../../settings.ts";
import { mcpNode } from "./mcp-client.ts";
import { type McpOptions, type McpSource, mcpSource } from "./mcp-source.ts";
import type { McpAddress } from "./source-address.ts";
import { type OwnIdentity, tlsCredentials } from "./tls-credentials.ts";

export interface OpenMcpOptions {
  readonly settings: Settings;
  readonly admission: Admission;
  /** For sources that ask for an identity of the mesh. */
  readonly certificate: OwnCertificate;
  readonly log: Logger;
  readonly onProblems: () => void;
  readonly document?: McpOptions["document"];
}

export function openMcp(
  at: McpAddress,
  { settings, admission, certificate, log, onProblems, document }: OpenMcpOptions,
): McpSource {
  const { namespace, revision } = settings;
  const identity = ownIdentity(settings, certificate);
  const tls = tlsCredentials(at.tls, identity.current);
  const { serverName } = at.tls;
  const named = { ...(tls && { tls }), ...(serverName !== undefined && { serverName }) };
  return mcpSource({
    name: at.name,
    transport: grpcTransport({ address: at.address, ...named }),
    node: mcpNode({ namespace, instance: hostname(), revision, version: manifest.version }),
    kinds: kinds.filter((kind) => isIstioKind(kind) && (at.kinds.length === 0 || at.kinds.includes(kind.name))),
    readiness: at,
    ...{ revision, admission, log, onProblems, nowMs: Date.now, random: Math.random },
    ...(document && { document }),
    ...(at.tls.mode === "ISTIO_MUTUAL" && { accompany: identity.follow }),
  });
}

/** From ca, renewed in good time. */
function ownIdentity(settings: Settings, certificate: OwnCertificate) {
  let material: TlsMaterial | undefined;
  return {
    current: (): OwnIdentity => {
      if (material === undefined) throw new Error(`there is no certificate from ca at ${settings.caAddress} yet`);
      return { ...material, rootFile: caRootFileOf(settings) };
    },
    follow: async (stop: AbortSignal): Promise<void> => {
      const take = (next: TlsMaterial) => {
        material = next;
      };
      try {
        await certificate.follow(take, stop);
      } catch (cause) {
        // Waits that were pending when `stop` fired end with its reason: that is no failure.
        if (!stop.aborted) throw cause;
      }
    },
  };
}
