/** The sender of a gRPC call, in the form that authenticators read. */
import type { Metadata, ServerDuplexStream, ServerUnaryCall } from "@grpc/grpc-js";
import type { Caller } from "../authenticator.ts";

type Call = Pick<
  ServerUnaryCall<unknown, unknown> | ServerDuplexStream<unknown, unknown>,
  "getAuthContext" | "getPeer" | "metadata"
>;

/** The caller of a call of grpc-js. IPv6 addresses get the brackets that grpc-js leaves out. */
export function callerOf(call: Call): Caller {
  const der = call.getAuthContext().sslPeerCertificate?.raw;
  return {
    metadata: textsOf(call.metadata),
    remoteAddress: addressOf(call.getPeer()),
    ...(der !== undefined && { peerCertificate: der }),
  };
}

function textsOf(metadata: Metadata): ReadonlyMap<string, readonly string[]> {
  const texts = new Map<string, readonly string[]>();
  for (const name of Object.keys(metadata.getMap())) {
    texts.set(
      name,
      metadata.get(name).filter((value) => typeof value === "string"),
    );
  }
  return texts;
}

/** gRPC writes IPv6 addresses without brackets, which leaves open where the port begins. */
function addressOf(peer: string): string {
  const colon = peer.lastIndexOf(":");
  const [host, port] = [peer.slice(0, colon), peer.slice(colon + 1)];
  return host.includes(":") && /^[0-9a-f:.]+$/i.test(host) && /^\d+$/.test(port) ? `[${host}]:${port}` : peer;
}
