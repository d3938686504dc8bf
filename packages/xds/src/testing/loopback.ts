/** A server stream and a client joined by two queues, so that a test decides what arrives when. Bytes travel. */
import { checksum } from "@flotilla/model";
import { decode } from "@flotilla/proto";
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
} from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import type { ClientState } from "../client/client-state.ts";
import { readResponse, writeRequest } from "../client/response.ts";
import type { Bodies, MessageBody } from "../message-body.ts";
import { encodeDeltaBody, encodeDeltaTail, encodeSotwBody, encodeSotwTail } from "../message-body.ts";
import type { ClientRequest } from "../request.ts";
import { readDeltaRequest, readSotwRequest } from "../request.ts";
import type { ResourceSet } from "../resource-set.ts";
import { SharedStates } from "../sharing.ts";
import { newStream } from "../stream-state.ts";
import type { Effect, StreamEvent, StreamState } from "../stream-types.ts";
import { type NameSetKey, nameSet, namesOfKey } from "../stream-types.ts";

export interface LoopbackOptions {
  readonly client: ClientState;
  readonly bodies: Bodies;
  /** All resources of a type; the loopback picks the names asked for. */
  readonly world: (typeUrl: string) => ResourceSet | undefined;
  readonly pick: (set: ResourceSet, names: NameSetKey) => ResourceSet;
}

/** One for all streams, as a server has it. */
const states = new SharedStates();

export class Loopback {
  state: StreamState = newStream;
  readonly effects: Effect[] = [];
  readonly sent: MessageBody[] = [];
  readonly #options: LoopbackOptions;
  #toServer: Uint8Array[] = [];
  #toClient: Uint8Array[] = [];
  #nowMs = 0;
  #nonce = 0;

  constructor(options: LoopbackOptions) {
    this.#options = options;
    for (const request of options.client.connected()) this.request(request);
  }

  request(request: ClientRequest): void {
    this.#toServer.push(writeRequest(request, undefined));
  }

  stale(typeUrl: string): void {
    this.#step({ type: "stale", typeUrl });
  }

  /** One request reaches the server. */
  serverReads(): boolean {
    const bytes = this.#toServer.shift();
    if (bytes === undefined) return false;
    const request =
      this.#options.client.form === "sotw"
        ? readSotwRequest(decode(DiscoveryRequestSchema, bytes))
        : readDeltaRequest(decode(DeltaDiscoveryRequestSchema, bytes));
    this.#step({ type: "request", request });
    return true;
  }

  /** One message reaches the client, which answers. */
  clientReads(): boolean {
    const bytes = this.#toClient.shift();
    if (bytes === undefined) return false;
    const { client } = this.#options;
    this.request(client.receive(readResponse(client.form, bytes)));
    return true;
  }

  /** The server writes one message if it has one; with `patient` false it no longer waits for the client. */
  serverWrites({ patient = true, endpointsFirst = false } = {}): boolean {
    const { client, bodies, world, pick } = this.#options;
    if (!patient) this.#nowMs += 1_000_000;
    const { state, message } = states.takeTurn(this.state, {
      form: client.form,
      bodies,
      nowMs: this.#nowMs,
      orderWaitMs: 1_000,
      endpointsFirst,
      setOf: (typeUrl, { wildcard, names }) => {
        const all = world(typeUrl);
        return all === undefined || wildcard ? all : pick(all, names.key);
      },
    });
    this.state = state;
    if (message === undefined) return false;
    const nonce = `n${this.#nonce++}`;
    const { typeUrl, set, body, version, again } = message;
    const parts =
      client.form === "sotw"
        ? [encodeSotwBody(body), encodeSotwTail(version, nonce)]
        : [encodeDeltaBody(body), encodeDeltaTail(version, nonce)];
    this.#toClient.push(Buffer.concat(parts));
    this.sent.push(body);
    this.#step({ type: "sent", typeUrl, set, body, nonce, again });
    return true;
  }

  /** Until nothing is under way. */
  settle(): void {
    for (let i = 0; i < 10_000; i++) {
      if (this.serverReads() || this.clientReads() || this.serverWrites()) continue;
      if (!this.serverWrites({ patient: false })) return;
    }
    throw new Error("the stream never comes to rest");
  }

  #step(event: StreamEvent): void {
    const [state, effects] = states.step(this.state, event);
    this.state = state;
    this.effects.push(...effects);
  }
}

/** The named part of a set; the identical object for the same names, as a server's memo gives it. */
export function picker(): (set: ResourceSet, names: NameSetKey) => ResourceSet {
  const memo = new WeakMap<ResourceSet, Map<NameSetKey, ResourceSet>>();
  return (set, key) => {
    const known = memo.get(set) ?? new Map<NameSetKey, ResourceSet>();
    memo.set(set, known);
    let part = known.get(key);
    if (part === undefined) {
      const names = nameSet(namesOfKey(key));
      const byName = new Map([...set.byName].filter(([name]) => names.has(name)));
      const version = [...byName.values()].map((r) => r.version).join("");
      part = { typeUrl: set.typeUrl, byName, version: `p${checksum(version)}` };
      known.set(key, part);
    }
    return part;
  };
}
