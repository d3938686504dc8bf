/** A simulated gateway of the namespace shop that asks for Secrets alone, over TLS, and remembers what it was sent. */
import { create, decode, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { type Secret, SecretSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/secret_pb";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { credentials } from "@grpc/grpc-js";

export interface SecretWatcherOptions {
  /** Of a port with TLS. */
  readonly address: string;
  readonly rootsPem: string;
  readonly token: string;
  readonly cluster: string;
  readonly serviceAccount: string;
  /** Names of Secrets, with `-cacert` for roots. */
  readonly names: readonly string[];
}

export class SecretWatcher implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #held = new Map<string, string>();

  constructor({ address, rootsPem, token, cluster, serviceAccount, names }: SecretWatcherOptions) {
    const ip = "10.77.0.2";
    const client = new XdsClient({
      form: "delta",
      transport: grpcTransport({
        ...{ address, token, serverName: "istiod.istio-system.svc" },
        tls: credentials.createSsl(Buffer.from(rootsPem)),
      }),
      node: create(NodeSchema, {
        id: `router~${ip}~edge.shop~shop.svc.cluster.local`,
        metadata: {
          ...{ NAMESPACE: "shop", INSTANCE_IPS: ip, CLUSTER_ID: cluster, SERVICE_ACCOUNT: serviceAccount },
          LABELS: { app: "edge" },
        },
      }),
      backoffMs: () => 100,
      onUpdate: ({ changed, removed }) => {
        for (const { name, bytes } of changed) this.#held.set(name, textOf(decode(SecretSchema, bytes)));
        for (const name of removed) this.#held.delete(name);
      },
    });
    client.subscribe(
      typeUrl.secret,
      names.map((name) => `kubernetes://${name}`),
    );
    this.#running = client.run(this.#stop.signal);
  }

  /** The PEM of the certificates or roots that it holds. */
  pemOf(name: string): string | undefined {
    return this.#held.get(`kubernetes://${name}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

function textOf({ type }: Secret): string {
  const source =
    type.case === "tlsCertificate"
      ? type.value.certificateChain
      : type.case === "validationContext"
        ? type.value.trustedCa
        : undefined;
  return source?.specifier.case === "inlineBytes" ? Buffer.from(source.specifier.value).toString() : "";
}
