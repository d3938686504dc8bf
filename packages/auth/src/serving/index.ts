export { type CaCall, requestCertificate } from "./ca-client.ts";
export { callerOf } from "./grpc-caller.ts";
export { type GrpcTls, type GrpcTlsOptions, serveGrpcTls } from "./grpc-tls.ts";
export { checkMaterial, type TlsMaterial } from "./material.ts";
export {
  obtainServingCertificate,
  type ServingCertificate,
  type ServingCertificateOptions,
} from "./serving-certificate.ts";
