/** Requests of a caller to a port, over a real connection; the answer as a word, a status of HTTP or a code of gRPC. */
import { request } from "node:https";
import { certificateService, create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { until } from "@flotilla/runtime";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { type ChannelCredentials, Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { type Callers, type Proof, serverName, type Who } from "./callers.ts";

interface Asked {
  /** The default port; another one is in use. */
  readonly port: number;
  readonly who: Who;
  readonly from: "here" | "elsewhere";
}

export interface Question {
  readonly name: string;
  ask(callers: Callers, asked: Asked): Promise<string>;
}

const withinMs = 20_000;

/** A stream for a sidecar of the namespace; `generator`: for one that asks for configuration as such. */
export function stream(security: "plain" | "tls", namespace = "shop", generator?: "api"): Question {
  return {
    name: generator === undefined ? `a stream of a sidecar in ${namespace}` : "a stream of all configuration",
    ask: async (callers, { port, who }) => {
      const { token, certificate } = callers.proofs[who];
      const [state, stop] = [{ answer: "" }, new AbortController()];
      const metadata = { NAMESPACE: namespace, ...(generator && { GENERATOR: generator }) };
      const client = new XdsClient({
        form: "delta",
        node: create(NodeSchema, { id: `sidecar~10.0.0.1~web.${namespace}~${namespace}.svc.cluster.local`, metadata }),
        transport: grpcTransport({
          address: `127.0.0.1:${callers.portOf(port)}`,
          ...(security === "tls" && { tls: tlsOf(callers, { ...(certificate && { certificate }) }), serverName }),
          ...(token !== undefined && { token }),
        }),
        backoffMs: () => 60_000,
        onUpdate: () => {
          state.answer ||= "resources";
        },
        onConnection: (event, cause) => {
          if (event === "ended") state.answer ||= codeOf(cause as ServiceError);
        },
      });
      client.subscribe(generator === undefined ? typeUrl.cluster : "networking.istio.io/v1/ServiceEntry");
      const running = client.run(stop.signal);
      await until(() => state.answer !== "", { withinMs, what: "an answer" });
      stop.abort();
      await running;
      return state.answer;
    },
  };
}

/** A request for a certificate; one that is proven fails for the lack of a CSR only. */
export function certificate(security: "plain" | "tls"): Question {
  return {
    name: "a certificate",
    ask: async (callers, { port, who }) => {
      const proof = callers.proofs[who];
      const channel = security === "plain" ? credentials.createInsecure() : tlsOf(callers, proof);
      const client = new Client(`127.0.0.1:${callers.portOf(port)}`, channel, {
        "grpc.ssl_target_name_override": serverName,
        "grpc.use_local_subchannel_pool": 1,
      });
      const metadata = new Metadata();
      if (proof.token !== undefined) metadata.set("authorization", `Bearer ${proof.token}`);
      const raw = (bytes: Buffer): Buffer => bytes;
      const { promise, resolve } = Promise.withResolvers<string>();
      const { path } = certificateService.createCertificate;
      const deadline = Date.now() + withinMs;
      client.makeUnaryRequest(path, raw, raw, Buffer.alloc(0), metadata, { deadline }, (error) =>
        resolve(error === null ? "a certificate" : error.details === "CSR parsing error" ? "proven" : codeOf(error)),
      );
      const answer = await promise;
      client.close();
      return answer;
    },
  };
}

export function page(path: string, method: "GET" | "POST" = "GET"): Question {
  return {
    name: method === "GET" ? path : `${method} ${path}`,
    ask: async (callers, { port, who, from }) => {
      const { token } = callers.proofs[who];
      const host = from === "here" ? "127.0.0.1" : callers.address;
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const reply = await fetch(`http://${host}:${callers.portOf(port)}${path}`, { method, headers });
      await reply.arrayBuffer();
      return String(reply.status);
    },
  };
}

export function https(method: "GET" | "POST", path: string, body = ""): Question {
  return {
    name: `${method} ${path}`,
    ask: (callers, { port, who }) => {
      const { token } = callers.proofs[who];
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const headers = {
        "content-type": "application/json",
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      };
      const to = { host: "127.0.0.1", port: callers.portOf(port), path, method, headers };
      const asked = request({ ...to, ca: callers.rootsPem, servername: "localhost" }, (reply) => {
        reply.resume();
        resolve(String(reply.statusCode));
      });
      asked.once("error", reject);
      asked.end(body);
      return promise;
    },
  };
}

function tlsOf({ rootsPem }: Callers, { certificate: pair }: Proof): ChannelCredentials {
  const [root, key, chain] = [rootsPem, pair?.keyPem, pair?.chainPem].map((pem) => (pem ? Buffer.from(pem) : null));
  return credentials.createSsl(root ?? null, key, chain);
}

function codeOf({ code }: ServiceError): string {
  return status[code] ?? "UNKNOWN";
}
