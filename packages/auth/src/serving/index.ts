export { type CaCall, requestCertificate } from "./ca-client.ts";
export {
  type CaSettings,
  type ClientCertificateSettings,
  caRootFileOf,
  caSettings,
  clientCertificateSettings,
  type KeyPairSettings,
  keyPairSettings,
} from "./ca-settings.ts";
export { callerOf } from "./grpc-caller.ts";
export { droppedConnections, type GrpcTls, type GrpcTlsOptions, serveGrpcTls } from "./grpc-tls.ts";
export {
  type FollowKeyPairOptions,
  followKeyPair,
  type KeyPair,
  type KeyPairSource,
  keyPairSourceOf,
  type SignCsr,
} from "./key-pair-source.ts";
export { checkMaterial, type TlsMaterial, writeCertificateFiles } from "./material.ts";
export {
  accountName,
  keepOwnCertificate,
  type OwnCertificate,
  type OwnCertificateOptions,
  type ServiceTokenOptions,
  serviceToken,
} from "./own-certificate.ts";
export {
  obtainServingCertificate,
  type ServingCertificate,
  type ServingCertificateOptions,
} from "./serving-certificate.ts";
