/** A source of MCP as an entry of configSources asks for it. */
import { hostname } from "node:os";
import { caRootFileOf } from "@flotilla/auth/serving";
import { isIstioKind, kinds } from "@flotilla/kinds";
import type { Logger } from "@flotilla/runtime";
import type { Admission } from "@flotilla/sources";
import { grpcTransport } from "@flotilla/xds/grpc";
import manifest from "../../../package.json" with { type: "json" };
import { followCa, type KeyPair } from "../../api/certificate.ts";
import type { Settings } from "../../config.ts";
import { mcpNode } from "./mcp-client.ts";
import { type McpOptions, type McpSource, mcpSource } from "./mcp-source.ts";
import type { McpAddress } from "./source-address.ts";
import { type OwnIdentity, tlsCredentials } from "./tls-credentials.ts";

export interface OpenMcpOptions {
  readonly settings: Settings;
  readonly admission: Admission;
  readonly log: Logger;
  readonly onProblems: () => void;
  readonly document?: McpOptions["document"];
}

export function openMcp(at: McpAddress, { settings, admission, log, onProblems, document }: OpenMcpOptions): McpSource {
  const { namespace, revision } = settings;
  const identity = ownIdentity(settings, log);
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
function ownIdentity(settings: Settings, log: Logger) {
  let keyPair: KeyPair | undefined;
  return {
    current: (): OwnIdentity => {
      if (keyPair === undefined) throw new Error(`there is no certificate from ca at ${settings.caAddress} yet`);
      return { ...keyPair, rootFile: caRootFileOf(settings) };
    },
    follow: async (stop: AbortSignal): Promise<void> => {
      const onCertificate = (next: KeyPair) => {
        keyPair = next;
      };
      const instance = `${hostname()}:config-sources`;
      const options = { settings, log, onCertificate, onTrouble: () => undefined, instance };
      try {
        await followCa(options, stop);
      } catch (cause) {
        // What was waiting when `stop` fired ends with its reason: that is no failure.
        if (!stop.aborted) throw cause;
      }
    },
  };
}
