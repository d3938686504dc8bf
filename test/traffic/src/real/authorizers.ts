/** Authorizers as others write them: a web server, and a gRPC server of Envoy's own service by grpc-js. */
import { createServer } from "node:http";
import { create, decode, encode } from "@flotilla/proto";
import {
  type CheckRequest,
  CheckRequestSchema,
  CheckResponseSchema,
} from "@flotilla/proto/envoy/service/auth/v3/external_auth_pb";
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";

export interface Authorizer extends AsyncDisposable {
  readonly port: number;
  /** The checks it was asked for: path and badge. */
  readonly checked: readonly string[];
}

const isGold = (badge: string) => badge === "gold";

/** @throws when a check comes without what the provider adds to each */
export async function httpAuthorizer(): Promise<Authorizer> {
  const checked: string[] = [];
  const server = createServer((request, response) => {
    const badge = String(request.headers["x-badge"] ?? "");
    const path = request.url?.replace(/^\/check/, "") ?? "";
    checked.push(`${path} ${badge}`);
    const isFromMesh = request.headers["x-from"] === "mesh" && request.url?.startsWith("/check/") === true;
    if (isFromMesh && isGold(badge)) response.writeHead(200, { "x-user": `owner of ${badge}` }).end();
    else response.writeHead(401, { "x-reason": `${badge} is no gold` }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a web server has a port");
  return {
    port: address.port,
    checked,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export async function grpcAuthorizer(): Promise<Authorizer> {
  const checked: string[] = [];
  const server = new Server();
  const check = ({ request }: ServerUnaryCall<CheckRequest, Uint8Array>, answer: sendUnaryData<Uint8Array>) => {
    const { path = "", headers = {} } = request.attributes?.request?.http ?? {};
    // own key: a header of the request, as Envoy lists them
    const badge = headers["x-badge"] ?? "";
    checked.push(`${path} ${badge}`);
    answer(null, encode(CheckResponseSchema, isGold(badge) ? allowed(badge) : denied(badge)));
  };
  const method = {
    ...{ path: "/envoy.service.auth.v3.Authorization/Check", requestStream: false, responseStream: false },
    requestSerialize: (request: CheckRequest) => Buffer.from(encode(CheckRequestSchema, request)),
    requestDeserialize: (bytes: Buffer) => decode(CheckRequestSchema, bytes),
    responseSerialize: (bytes: Uint8Array) => Buffer.from(bytes),
    responseDeserialize: (bytes: Buffer) => new Uint8Array(bytes),
  };
  server.addService({ check: method }, { check });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  return {
    port,
    checked,
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  };
}

const permissionDenied = 7;

function allowed(badge: string) {
  const headers = [{ header: { key: "x-user", value: `owner of ${badge}` } }];
  return create(CheckResponseSchema, { status: { code: 0 }, httpResponse: { case: "okResponse", value: { headers } } });
}

function denied(badge: string) {
  const headers = [{ header: { key: "x-reason", value: `${badge} is no gold` } }];
  const value = { status: { code: 401 }, headers };
  return create(CheckResponseSchema, {
    status: { code: permissionDenied },
    httpResponse: { case: "deniedResponse", value },
  });
}
