/** The client's transport over grpc-js; a second entry of the package, so that only who uses it loads the library. */
import { aggregatedDiscoveryService, channelOptions } from "@flotilla/proto";
import { type ChannelCredentials, Client, type ClientOptions, credentials, Metadata } from "@grpc/grpc-js";
import type { ClientTransport } from "../client/client.ts";

export interface GrpcTransportOptions {
  /** `host:port`. */
  readonly address: string;
  /** Plaintext without; for each stream anew, as certificates change. @throws what cannot be read then ends the stream. */
  readonly tls?: ChannelCredentials | (() => ChannelCredentials);
  /** The name that is asked for and expected in TLS, in place of the host's. */
  readonly serverName?: string;
  /** Sent as `authorization: Bearer`. */
  readonly token?: string;
}

const streamOptions: ClientOptions = {
  ...channelOptions,
  "grpc.max_receive_message_length": -1,
  // Many simulated proxies in one process must not share one connection.
  "grpc.use_local_subchannel_pool": 1,
};

const raw = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** A connection of its own for each stream. */
export function grpcTransport({ address, tls, serverName, token }: GrpcTransportOptions): ClientTransport {
  return {
    open: (form) => {
      const secrets = (typeof tls === "function" ? tls() : tls) ?? credentials.createInsecure();
      const named = serverName === undefined ? {} : { "grpc.ssl_target_name_override": serverName };
      const client = new Client(address, secrets, { ...streamOptions, ...named });
      const { streamAggregatedResources, deltaAggregatedResources } = aggregatedDiscoveryService;
      const { path } = form === "sotw" ? streamAggregatedResources : deltaAggregatedResources;
      const metadata = new Metadata();
      if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
      const call = client.makeBidiStreamRequest<Uint8Array, Buffer>(path, raw, (bytes) => bytes, metadata);
      // The iterator below reports it; without a listener a late error would end the process.
      call.on("error", () => undefined);
      return {
        send: (request) => void call.write(request),
        responses: call,
        close: () => {
          call.cancel();
          client.close();
        },
      };
    },
  };
}
