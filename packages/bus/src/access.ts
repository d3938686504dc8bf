/**
 * Users of the NATS server: what each service may publish and subscribe to, and the credentials of servers started beside
 * the services.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nkeys } from "nats";
import { horizonSubject, subjectRoot } from "./bus.ts";
import { configurersOf, storedStreams } from "./stored-streams.ts";
import { token } from "./topics.ts";

/**
 * Rights of each service on NATS, made of the table of stored streams and of the subjects that each publishes. The servers of `flotilla up`
 * and the files below k8s/ get their users from here; docs/security/who-writes.md shows the result.
 */
export const busServices = ["ca", "config-controller", "service-controller", "webhook", "xds-server"] as const;
/** A service with a user of its own on the NATS server. */
export type BusService = (typeof busServices)[number];

/** Subjects with NATS' wildcards. All others are refused. */
export interface BusPermissions {
  readonly publish: readonly string[];
  /** Refused although `publish` allows it. */
  readonly deny: readonly string[];
  readonly subscribe: readonly string[];
}

interface Part {
  /** Of the one stream, below `flotilla.v1`. */
  readonly subjects: readonly string[];
  readonly deny?: readonly string[];
  /** The only subjects of the one stream that are read; all unless given. */
  readonly reads?: readonly string[];
}

const mainStream = "FLOTILLA";
/** ca publishes the roots that the mesh trusts as a configuration object of this kind (`trustBundleKind` in packages/auth). */
const trustBundles = "config.TrustBundle.>";

const parts: Readonly<Record<BusService, Part>> = {
  ca: { subjects: [trustBundles, "sync.ca"] },
  "config-controller": { subjects: ["config.>", "sync.config-controller"], deny: [trustBundles] },
  "service-controller": { subjects: ["service.>", "endpoints.>", "workload.>", "sync.service-controller"] },
  webhook: { subjects: [], reads: ["config.>", "service.>"] },
  "xds-server": { subjects: [] },
};

/** The subjects that a service may publish and subscribe to, with those of the JetStream API that it needs. */
export function permissionsOf(service: BusService): BusPermissions {
  const { subjects, deny = [], reads } = parts[service];
  const used = storedStreams.filter(({ writers, readers = [] }) => [...writers, ...readers].includes(service));
  const publish = [
    "$JS.API.INFO",
    ...(subjects.length === 0 ? [] : [horizonSubject, ...below(subjects)]),
    ...readingOf(mainStream, reads),
    ...(subjects.length === 0
      ? []
      : [`$JS.API.STREAM.UPDATE.${mainStream}`, `$JS.API.STREAM.MSG.DELETE.${mainStream}`]),
    ...used.flatMap((one) => {
      const { stream, writers } = one;
      if (stream === mainStream) return [];
      return [
        ...readingOf(stream),
        ...(configurersOf(one).includes(service) ? [`$JS.API.STREAM.UPDATE.${stream}`] : []),
        ...(writers.includes(service) ? [`${keysOf(stream)}.>`] : []),
      ];
    }),
  ];
  return { publish: publish.toSorted(), deny: below(deny), subscribe: [`${inboxPrefix(service)}.>`] };
}

/** Answers and deliveries come below this prefix, where no other service may listen. */
export function inboxPrefix(clientName: string): string {
  return `_INBOX.${token(clientName)}`;
}

/** A user of the NATS server's configuration. */
export interface BusUser {
  readonly service: BusService;
  /** The user's identity at NATS: a public key, or a name in its certificate. */
  readonly identity: { readonly nkey: string } | { readonly user: string };
}

/** The block `authorization` of a configuration file of NATS. */
export function natsAuthorization(users: readonly BusUser[]): string {
  return `authorization {\n  users: [\n${users.map(userText).join("")}  ]\n}\n`;
}

function userText({ service, identity }: BusUser): string {
  const [[key, value] = []] = Object.entries(identity);
  const { publish, deny, subscribe } = permissionsOf(service);
  const list = (subjects: readonly string[]): string =>
    `[\n${subjects.map((subject) => `            ${JSON.stringify(subject)}\n`).join("")}          ]`;
  return `    {
      ${key}: ${JSON.stringify(value)}
      permissions: {
        publish: {
          allow: ${list(publish)}${deny.length === 0 ? "" : `\n          deny: ${list(deny)}`}
        }
        subscribe: { allow: [${subscribe.map((subject) => JSON.stringify(subject)).join(", ")}] }
      }
    }
`;
}

/**
 * Creating the stream where it is missing, and reading it. A consumer is created by a subject with its name and its filter, which
 * the server compares with the request.
 */
function readingOf(stream: string, only?: readonly string[]): readonly string[] {
  const consumer = `$JS.API.CONSUMER.CREATE.${stream}`;
  return [
    `$JS.API.STREAM.INFO.${stream}`,
    `$JS.API.STREAM.CREATE.${stream}`,
    `$JS.API.STREAM.MSG.GET.${stream}`,
    ...(only === undefined ? [`${consumer}.>`] : below(only).map((subject) => `${consumer}.*.${subject}`)),
    // Several filters at once are asked for without a name, and the subject has none of them.
    ...(stream === mainStream && only === undefined ? [consumer] : []),
    // Answers to flow control.
    `$JS.FC.${stream}.>`,
  ];
}

function keysOf(stream: string): string {
  return `$KV.${stream.slice("KV_".length)}`;
}

function below(subjects: readonly string[]): readonly string[] {
  return subjects.map((subject) => `${subjectRoot}.${subject}`);
}

/** Users for the server and addresses for the services, which name the seed files. */
export interface BusCredentials {
  /** For the server's configuration: public keys. */
  readonly users: readonly BusUser[];
  /** The server's address for a service, which names the file of its seed. */
  urlFor(service: BusService, url: string): string;
}

/**
 * Credentials of the services for a NATS server that is started beside them: an NKey each, whose seed only its service has.
 * New ones, in place of those that the directory had.
 */
export function createBusCredentials(directory: string): BusCredentials {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const fileOf = (service: BusService): string => join(directory, `${service}.nkey`);
  const users = busServices.map((service) => {
    const pair = nkeys.createUser();
    writeFileSync(fileOf(service), pair.getSeed(), { mode: 0o600 });
    return { service, identity: { nkey: pair.getPublicKey() } };
  });
  return { users, urlFor: (service, url) => `${url}?nkey=${encodeURIComponent(fileOf(service))}` };
}
