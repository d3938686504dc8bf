/**
 * A generator: which resources of one type a proxy gets, and what each is made of.
 *
 * `select` may look at everything through the view, which records it; `build` sees nothing but what
 * `select` returned. `select` should return a flat object of primitives and of values it found in
 * the view (not copies): inputs that are equal one level deep are not built again, and proxies whose
 * inputs are equal share one resource. The inputs themselves are not kept.
 */
import type { Message, MessageShape } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import type { TypeUrl } from "@flotilla/proto";
import { type NameSetKey, namesOfKey } from "@flotilla/xds";
import { query, type View, type ViewQuery } from "../../snapshot/view.ts";
import { type Encoded, type EncodedResource, Joined, sameVersion } from "./encoded.ts";
import { encodedMessage } from "./message.ts";

export interface Generator {
  readonly typeUrl: TypeUrl;
  /** All names of a view, for types that are subscribed to by wildcard. */
  readonly names?: ViewQuery<undefined, readonly string[]>;
  /** The names that are served to a subscription, where one name stands for several; without it, those asked for. */
  readonly namesFor?: ViewQuery<NameSetKey, readonly string[]>;
  /** The resource of a name; undefined when the view has none. */
  readonly resource: ViewQuery<string, EncodedResource | undefined>;
}

/** What a name means to a view, where that is all that depends on who asks; `name` is the resource's. */
export interface Target {
  readonly name: string;
}

interface Selection<Inputs extends object> {
  readonly typeUrl: TypeUrl;
  /** Distinguishes generators of one type for different proxies; results are shared under this name. */
  readonly label?: string;
  readonly names?: (view: View) => readonly string[];
  readonly namesFor?: (view: View, asked: readonly string[]) => readonly string[];
  readonly select: (view: View, name: string) => Inputs | undefined;
  /** For names that mean a target, instead of `select`: views that mean the identical one share what follows from it. */
  readonly shared?: SharedSelection<Inputs>;
}

interface SharedSelection<Inputs extends object> {
  readonly target: (view: View, name: string) => Target | undefined;
  readonly select: (view: View, target: never) => Inputs;
}

/** Types that the selection of a target's inputs takes what the target is found as. */
export function sharedSelection<Found extends Target, Inputs extends object>(selection: {
  readonly target: (view: View, name: string) => Found | undefined;
  readonly select: (view: View, target: Found) => Inputs;
}): SharedSelection<Inputs> {
  return selection;
}

export interface GeneratorSpec<Inputs extends object, Resource extends Message> extends Selection<Inputs> {
  readonly schema: GenMessage<Resource>;
  readonly build: (inputs: Inputs) => MessageShape<GenMessage<Resource>>;
}

/** For large resources that are joined from parts which are encoded already. */
export interface ContainerSpec<Inputs extends object, Resource extends Message> extends Selection<Inputs> {
  readonly schema: GenMessage<Resource>;
  /** Fields whose numbers are lower, or higher, than that of the parts. */
  readonly before?: (inputs: Inputs) => MessageShape<GenMessage<Resource>>;
  readonly behind?: (inputs: Inputs) => MessageShape<GenMessage<Resource>>;
  readonly parts: (inputs: Inputs) => readonly Encoded[];
}

export function createGenerator<Inputs extends object, Resource extends Message>(
  spec: GeneratorSpec<Inputs, Resource>,
): Generator {
  const { schema, build } = spec;
  const built = new BuildCache<Inputs, Encoded>((inputs) => encodedMessage(schema, build(inputs)));
  return generatorOf(spec, (inputs) => built.get(inputs));
}

export function createContainerGenerator<Inputs extends object, Resource extends Message>(
  spec: ContainerSpec<Inputs, Resource>,
): Generator {
  const { schema, before, parts, behind } = spec;
  return generatorOf(
    spec,
    (inputs) =>
      new Joined([
        ...(before === undefined ? [] : [encodedMessage(schema, before(inputs))]),
        ...parts(inputs),
        ...(behind === undefined ? [] : [encodedMessage(schema, behind(inputs))]),
      ]),
  );
}

function generatorOf<Inputs extends object>(
  { typeUrl, label = "", names, namesFor, select, shared }: Selection<Inputs>,
  encodeInputs: (inputs: Inputs) => Encoded,
): Generator {
  const title = `${label}${typeUrl}`;
  // One for each content: views with equal inputs hold the identical resource.
  const resources = new WeakMap<Encoded, EncodedResource>();
  const resourceOf = (name: string, content: Encoded) => {
    const known = resources.get(content);
    if (known?.name === name) return known;
    const made = namedResource(typeUrl, name, content);
    resources.set(content, made);
    return made;
  };
  const ofTarget = query<EncodedResource, Target>(
    `${title} of a target`,
    (view, target) => {
      if (shared === undefined) throw new Error(`[XDS_NO_TARGET] ${title} has no targets`);
      return resourceOf(target.name, encodeInputs(shared.select(view, target as never)));
    },
    sameVersion,
  );
  const resource = query<EncodedResource | undefined, string>(
    title,
    (view, name) => {
      const target = shared?.target(view, name);
      if (target !== undefined) return view.read(ofTarget, target);
      const inputs = select(view, name);
      return inputs === undefined ? undefined : resourceOf(name, encodeInputs(inputs));
    },
    sameVersion,
  );
  return {
    typeUrl,
    resource,
    ...(names && { names: query(`${title} names`, (view) => names(view)) }),
    ...(namesFor && {
      namesFor: query<readonly string[], NameSetKey>(`${title} names asked for`, (view, key) =>
        namesFor(view, namesOfKey(key)),
      ),
    }),
  };
}

function namedResource(typeUrl: TypeUrl, name: string, content: Encoded): EncodedResource {
  // A getter, since containers join their bytes; it also keeps the content, which other views may share.
  const { version } = content;
  return {
    name,
    typeUrl,
    version,
    get bytes() {
      return content.bytes;
    },
  };
}

/**
 * Shares what was built from equal inputs between views: by the inputs' primitives and the identities of their
 * objects, one level deep. Nothing is kept that no view holds.
 */
class BuildCache<Inputs extends object, Result extends object> {
  readonly #results = new Map<string, WeakRef<Result>>();
  readonly #build: (inputs: Inputs) => Result;
  #sweepAt = 1024;

  constructor(build: (inputs: Inputs) => Result) {
    this.#build = build;
  }

  get(inputs: Inputs): Result {
    const key = identityKey(inputs);
    const known = this.#results.get(key)?.deref();
    if (known !== undefined) return known;
    const result = this.#build(inputs);
    this.#results.set(key, new WeakRef(result));
    if (this.#results.size > this.#sweepAt) this.#sweep();
    return result;
  }

  #sweep(): void {
    for (const [key, reference] of this.#results) if (reference.deref() === undefined) this.#results.delete(key);
    this.#sweepAt = Math.max(1024, this.#results.size * 2);
  }
}

const identities = new WeakMap<object, number>();
let nextIdentity = 1;

function identityKey(inputs: object): string {
  return Object.entries(inputs)
    .map(
      ([name, value]) =>
        `${name}=${typeof value === "object" && value !== null ? `#${identityOf(value)}` : `${typeof value}:${String(value)}`}`,
    )
    .join("\n");
}

function identityOf(value: object): number {
  let identity = identities.get(value);
  if (identity === undefined) {
    identity = nextIdentity++;
    identities.set(value, identity);
  }
  return identity;
}
