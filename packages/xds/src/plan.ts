/**
 * Plans the message of a due type: the difference between the client's resources and the present ones, and those that it asked for by name.
 * Streams in the same situation get the identical body.
 */
import { checksum } from "@flotilla/model";
import { typeUrl as types } from "@flotilla/proto";
import { absentResource, type Bodies, type MessageBody } from "./message-body.ts";
import { diffVersions, type Resource, type ResourceSet, resourcesFor, rulesOf } from "./resource-set.ts";
import { isAnswer, type StreamState, type Subscription, type TypeState } from "./stream-types.ts";
import { isSubscribed } from "./subscription.ts";

export type Form = "sotw" | "delta";

export interface Plan {
  readonly body: MessageBody;
  /** Of the type, once the client has taken this message. */
  readonly version: string;
}

/** The set to compare with: for endpoints it depends on the clusters that went out on this stream. */
export function effectiveSet(state: StreamState, set: ResourceSet, bodies: Bodies): ResourceSet {
  if (set.typeUrl !== types.endpoint) return set;
  const clusters = state.types.get(types.cluster)?.sent;
  return clusters === undefined ? set : bodies.bind(set, clusters);
}

/** Undefined: the client has all of it, nothing needs to be sent. */
export function plan(form: Form, known: TypeState, set: ResourceSet, bodies: Bodies): Plan | undefined {
  if (form === "delta") {
    const body = planDelta(known, set, bodies);
    return body === undefined ? undefined : { body, version: set.version };
  }
  const version = sotwVersion(known.subscription, set);
  const { claim } = known;
  if (claim !== undefined && "version" in claim && claim.version === version) return undefined;
  const isComplete = rulesOf(set.typeUrl).complete;
  const body = isComplete ? planComplete(known, set, bodies) : planPartial(known, set, bodies);
  return body === undefined ? undefined : { body, version };
}

/** Also reports which of the names asked for there are none: a client that waits for one must be answered when it comes. */
function sotwVersion({ wildcard, names }: Subscription, { byName, version }: ResourceSet): string {
  if (wildcard && names.size === 0) return version;
  const absent = [...names].filter((name) => !byName.has(name));
  return absent.length === 0 ? version : `${version}-${checksum(absent.join("\n"))}`;
}

function planComplete({ sent, due }: TypeState, set: ResourceSet, bodies: Bodies): MessageBody | undefined {
  const isAsked = due?.mustAnswer === true || due?.asked === "all" || (due?.asked.size ?? 0) > 0;
  return sent !== undefined && sent.version === set.version && !isAsked ? undefined : bodies.full(set);
}

function planPartial(known: TypeState, set: ResourceSet, bodies: Bodies): MessageBody | undefined {
  const { sent, due, subscription, suspects } = known;
  const asked = due?.asked ?? new Set<string>();
  const absentees = (names: Iterable<string>): readonly Resource[] =>
    [...names]
      .filter((name) => !set.byName.has(name) && subscription.names.has(name))
      .flatMap((name) => absentResource(set.typeUrl, name) ?? []);
  if (sent === undefined || asked === "all") {
    return withMore(bodies.full(set), absentees(subscription.names), []);
  }
  const shared = bodies.delta(sent, set);
  const again = repeated(known, set, new Set(shared.resources.map(({ name }) => name)));
  const more = [...again, ...absentees(new Set([...shared.removed, ...asked, ...suspects.keys()]))];
  // This form does not write removed names: the shared difference may hold them.
  const body = withMore(shared, more, []);
  return body.resources.length > 0 || due?.mustAnswer === true ? body : undefined;
}

function planDelta(known: TypeState, set: ResourceSet, bodies: Bodies): MessageBody | undefined {
  const { sent, claim, due, subscription, suspects } = known;
  const shared = deltaBody(known, set, bodies);
  if (isPlainPush(known) && shared.removed.length === 0) return shared.resources.length === 0 ? undefined : shared;
  const removed = shared.removed.filter(
    (name) => isSubscribed(subscription, name) || isWantedByAlias(known, set, name),
  );
  const again = repeated(known, set, new Set(shared.resources.map(({ name }) => name)));
  const asked = due?.asked === "all" ? subscription.names : (due?.asked ?? []);
  const absent = [...asked, ...(due?.dropped ?? []), ...suspects.keys()];
  const named = new Set(removed);
  const more = [...new Set(absent)].filter((name) => resourcesFor(set, name).length === 0 && !named.has(name));
  const isShared = removed.length === shared.removed.length && again.length === 0 && more.length === 0;
  const body = isShared ? shared : withMore({ ...shared, removed }, again, more);
  const isEmpty = body.resources.length === 0 && body.removed.length === 0;
  const isFirst = sent === undefined && claim === undefined && due?.mustAnswer === true;
  return isEmpty && !isFirst ? undefined : body;
}

/** A requested name may stand for others. A resource that is gone without a request was subscribed to, by whatever name. */
function isWantedByAlias({ sent, due, subscription }: TypeState, { typeUrl }: ResourceSet, name: string): boolean {
  if (rulesOf(typeUrl).aliased !== true) return false;
  if (due === undefined || !isAnswer(due)) return true;
  return sent?.byName.get(name)?.aliases?.some((alias) => subscription.names.has(alias)) === true;
}

/** Nothing but what changed is to be sent: so for most streams at most times. */
function isPlainPush({ sent, claim, due, suspects }: TypeState): boolean {
  return sent !== undefined && claim === undefined && suspects.size === 0 && (due === undefined || !isAnswer(due));
}

function deltaBody({ sent, claim }: TypeState, set: ResourceSet, bodies: Bodies): MessageBody {
  if (claim !== undefined && "held" in claim) {
    const { changed, removed } = diffVersions(claim.held, set);
    return { typeUrl: set.typeUrl, resources: changed, removed };
  }
  return sent === undefined ? bodies.full(set) : bodies.delta(sent, set);
}

/** Unchanged resources that go out again: asked for by name, or lost with a refused message through no fault of their own. */
function repeated(known: TypeState, set: ResourceSet, included: ReadonlySet<string>): readonly Resource[] {
  const { sent, claim, due, suspects, rejection } = known;
  const names = new Set<string>();
  if (sent !== undefined && due !== undefined) {
    for (const name of due.asked === "all" ? set.byName.keys() : due.asked) names.add(name);
  }
  for (const name of due?.dropped ?? []) names.add(name);
  if (claim === undefined) {
    for (const [name, version] of suspects) {
      // Sending what was refused by name again would only have everything beside it refused again.
      const isBlamed = rejection !== undefined && mentions(rejection.message, name);
      if (set.byName.get(name)?.version === version && !isBlamed) names.add(name);
    }
  }
  return [...new Set([...names].flatMap((name) => resourcesFor(set, name)))].filter(({ name }) => !included.has(name));
}

function withMore(body: MessageBody, resources: readonly Resource[], removed: readonly string[]): MessageBody {
  if (resources.length === 0 && removed.length === 0) return body;
  const { typeUrl } = body;
  return { typeUrl, resources: [...body.resources, ...resources], removed: [...body.removed, ...removed] };
}

/** Envoy names the rejected resources at the beginning of its error detail. */
const maxTextLength = 16_384;
/** Looking for so many in a text of that length takes some tens of milliseconds. */
const maxNames = 5_000;

/** Of the names of a rejected message those that the client's text names; all of them when it names none, or when there are too many. */
export function blamed(message: string, names: Iterable<string>): readonly string[] {
  const all = [...names];
  const named = all.length > maxNames ? [] : all.filter((name) => mentions(message, name));
  return named.length > 0 ? named : all;
}

/** True where a text holds the name as a word of its own. No text holds the empty name. */
export function mentions(text: string, name: string): boolean {
  if (name === "") return false;
  const head = text.slice(0, maxTextLength);
  const isPart = (char: string | undefined) => char !== undefined && /[\w|~/-]/.test(char);
  for (let at = head.indexOf(name); at !== -1; at = head.indexOf(name, at + 1)) {
    if (!isPart(head[at - 1]) && !isPart(head[at + name.length])) return true;
  }
  return false;
}
