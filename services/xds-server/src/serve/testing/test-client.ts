/** A client of the test server, with what it was sent and how its streams ended. */
import { checksum } from "@flotilla/model";
import { create, encode } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import type { Form, Resource } from "@flotilla/xds";
import { type ClientOptions, type ClientUpdate, XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import type { TestServer } from "./test-server.ts";

export function resource(typeUrl: string, name: string, content: string): Resource {
  // Field 1 is the name in every Envoy resource; the content is an unknown field.
  const bytes = encode(NodeSchema, create(NodeSchema, { id: name, cluster: content }));
  return { name, typeUrl, bytes, version: checksum(`${name} ${content}`) };
}

export interface TestClient extends AsyncDisposable {
  readonly client: XdsClient;
  readonly updates: ClientUpdate[];
  readonly ends: unknown[];
}

export interface TestClientOptions {
  readonly form: Form;
  readonly id?: string;
  readonly metadata?: Record<string, string>;
  readonly token?: string;
  readonly check?: ClientOptions["check"];
}

export function startClient(server: TestServer, options: TestClientOptions): TestClient {
  const { form, id = "sidecar~10.0.0.1~a.shop~shop.svc.cluster.local", metadata = {}, token, check } = options;
  const stop = new AbortController();
  const updates: ClientUpdate[] = [];
  const ends: unknown[] = [];
  const client = new XdsClient({
    form,
    node: create(NodeSchema, { id, metadata }),
    transport: grpcTransport({ address: server.address, ...(token !== undefined && { token }) }),
    backoffMs: () => 10,
    onUpdate: (update) => void updates.push(update),
    onConnection: (event, error) => {
      if (event === "ended") ends.push(error);
    },
    ...(check && { check }),
  });
  const running = client.run(stop.signal);
  return {
    client,
    updates,
    ends,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}
