export {
  createHttpServer,
  type HttpAnswer,
  type HttpServer,
  type HttpServerOptions,
  type ServerTls,
  sendText,
} from "./http-server.ts";
export { type HttpsAnswer, sendJson } from "./https-client.ts";
export { type ListPage, type ListShape, listPage } from "./list-page.ts";
export {
  defaultHandshakeLimits,
  type HandshakeLimits,
  paceHandshakes,
} from "./paced-listener.ts";
export { readBody } from "./read-body.ts";
export {
  type HttpHandler,
  type HttpMethod,
  type HttpReply,
  type HttpRequest,
  RouteTable,
  requestUrl,
} from "./routes.ts";
export { type CompliancePolicy, serverTlsParameters, type TlsPolicy, tlsCipherSuites } from "./tls-parameters.ts";
