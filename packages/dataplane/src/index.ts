export { type BootstrapOptions, type EnvoyNode, envoyBootstrap, proxyGroupId } from "./bootstrap.ts";
export { type EchoReply, type EchoServer, startEchoServer } from "./echo-server.ts";
export { type Envoy, type EnvoyOptions, startEnvoy } from "./envoy-process.ts";
export {
  type PilotAgent,
  type PilotAgentOptions,
  type PreparedAgent,
  preparePilotAgent,
  startPilotAgent,
} from "./pilot-agent.ts";
export { type SdsServer, serveSecrets, type WorkloadCertificate } from "./sds-server.ts";
export type { SecureChannel } from "./secure-channel.ts";
