/** A server of configuration as registries have them: a few kinds, the others never answered, and a refusal is only noted. */
import {
  type Any,
  aggregatedDiscoveryService,
  create,
  decode,
  encode,
  fromJson,
  type JsonValue,
  pack,
  registry,
  typeNameOf,
  typeUrl as typeUrls,
} from "@flotilla/proto";
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { ResourceSchema } from "@flotilla/proto/mcp/v1alpha1/resource_pb";
import { MeshConfigSchema } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { Server, ServerCredentials, type ServerDuplexStream } from "@grpc/grpc-js";

type Call = ServerDuplexStream<Buffer, Buffer>;

export interface ServedObject {
  /** As the envelope has it: `namespace/name` where it is right. */
  readonly name: string;
  /** Full name of the body's message. */
  readonly message: string;
  readonly spec: JsonValue;
  readonly labels?: Readonly<Record<string, string>>;
  readonly version?: string;
}

export interface FixtureOptions {
  /** `none`: there is no such method. `silent`: streams are taken and never answered. */
  readonly delta: "none" | "silent" | "spoken";
  readonly port?: number;
  /** Plain text without. */
  readonly tls?: ServerCredentials;
}

export class McpServer implements AsyncDisposable {
  readonly requests: (DiscoveryRequest | DeltaDiscoveryRequest)[] = [];
  readonly #server = new Server();
  readonly #calls = new Map<Call, "sotw" | "delta">();
  readonly #kinds = new Map<string, readonly ServedObject[]>();
  readonly #asked = new Map<Call, Set<string>>();
  #mesh: Any | undefined;
  #nonce = 0;
  port = 0;

  static async start({ delta, port = 0, tls }: FixtureOptions): Promise<McpServer> {
    const fixture = new McpServer();
    const raw = (bytes: Buffer): Buffer => bytes;
    const unread = { requestSerialize: raw, requestDeserialize: raw, responseSerialize: raw, responseDeserialize: raw };
    const { streamAggregatedResources, deltaAggregatedResources } = aggregatedDiscoveryService;
    const both = {
      streamAggregatedResources: { ...streamAggregatedResources, ...unread },
      ...(delta !== "none" && { deltaAggregatedResources: { ...deltaAggregatedResources, ...unread } }),
    };
    fixture.#server.addService(both, {
      streamAggregatedResources: (call: Call) => fixture.#open(call, "sotw"),
      deltaAggregatedResources: (call: Call) => {
        if (delta === "spoken") fixture.#open(call, "delta");
        else call.on("data", () => undefined);
      },
    });
    fixture.port = await new Promise<number>((resolve, reject) => {
      fixture.#server.bindAsync(`127.0.0.1:${port}`, tls ?? ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    return fixture;
  }

  /** Sets the objects of a kind; they are sent to all clients that asked for it. */
  set(typeUrl: string, objects: readonly ServedObject[]): void {
    const before = this.#kinds.get(typeUrl) ?? [];
    const gone = before.filter(({ name }) => !objects.some((object) => object.name === name)).map(({ name }) => name);
    this.#kinds.set(typeUrl, objects);
    for (const [call, asked] of this.#asked) if (asked.has(typeUrl)) this.#send(call, typeUrl, gone);
  }

  /** The MeshConfig that it sends; before the first it answers nothing about it. */
  setMesh(mesh: JsonValue): void {
    const message = fromJson(MeshConfigSchema, mesh);
    this.#mesh = pack(MeshConfigSchema, message);
    this.#kinds.set(typeUrls.meshConfig, []);
    for (const [call, asked] of this.#asked)
      if (asked.has(typeUrls.meshConfig)) this.#send(call, typeUrls.meshConfig, []);
  }

  /** The refusals that came for a type. */
  refusals(typeUrl: string): readonly string[] {
    return this.requests.flatMap((request) =>
      request.typeUrl === typeUrl && request.errorDetail !== undefined ? [request.errorDetail.message] : [],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown();
  }

  #open(call: Call, form: "sotw" | "delta"): void {
    this.#calls.set(call, form);
    const asked = new Set<string>();
    this.#asked.set(call, asked);
    const leave = () => {
      this.#calls.delete(call);
      this.#asked.delete(call);
    };
    call.on("error", leave);
    call.on("cancelled", leave);
    call.on("end", () => call.end());
    call.on("data", (bytes: Buffer) => {
      const request =
        form === "sotw" ? decode(DiscoveryRequestSchema, bytes) : decode(DeltaDiscoveryRequestSchema, bytes);
      this.requests.push(request);
      if (request.responseNonce !== "" || asked.has(request.typeUrl)) return;
      asked.add(request.typeUrl);
      if (this.#kinds.has(request.typeUrl)) this.#send(call, request.typeUrl, []);
    });
  }

  #send(call: Call, typeUrl: string, removedResources: readonly string[]): void {
    const nonce = `${++this.#nonce}`;
    const objects = this.#kinds.get(typeUrl) ?? [];
    const wrapped = objects.map((object) => ({
      name: object.name,
      resource: pack(ResourceSchema, envelopeOf(object)),
    }));
    const isMesh = typeUrl === typeUrls.meshConfig && this.#mesh !== undefined;
    const anys = isMesh ? [{ name: "", resource: this.#mesh as Any }] : wrapped;
    if (this.#calls.get(call) === "delta") {
      const resources = anys.map(({ name, resource }, index) => ({ name, version: `${index}`, resource }));
      const response = { typeUrl, nonce, resources, removedResources: [...removedResources] };
      call.write(Buffer.from(encode(DeltaDiscoveryResponseSchema, create(DeltaDiscoveryResponseSchema, response))));
    } else {
      const resources = anys.map(({ resource }) => resource);
      const response = { typeUrl, nonce, versionInfo: nonce, resources };
      call.write(Buffer.from(encode(DiscoveryResponseSchema, create(DiscoveryResponseSchema, response))));
    }
  }
}

function envelopeOf({ name, message, spec, labels = {}, version = "" }: ServedObject) {
  const schema = registry.getMessage(typeNameOf(message));
  if (schema === undefined) throw new RangeError(message);
  const body = pack(schema, fromJson(schema, spec));
  return create(ResourceSchema, { metadata: { name, labels, version }, body });
}
