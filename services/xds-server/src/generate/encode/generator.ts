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
import { Interner, type NameSetKey, namesOfKey, type ResourceSet, SlicedResources } from "@flotilla/xds";
import { type SliceText, sliceKeys, sliceTexts } from "../../snapshot/row-index.ts";
import { query, type View, type ViewQuery } from "../../snapshot/view.ts";
import {
  BuildCache,
  concatBytes,
  contentHash,
  type Encoded,
  type EncodedResource,
  encodedMessage,
  identityKey,
  Joined,
  type Pair,
  Pairs,
  type ResourceOf,
  type Slice,
  sameVersion,
  sharedResources,
  sliceOf,
} from "./encoded.ts";
import {
  type ChangedContent,
  type Changes,
  type ContainerChanges,
  changedMessage,
  type Patching,
  reportOutcomes,
} from "./patching.ts";
import { type SliceGroup, SliceGroups } from "./slice-groups.ts";

export interface Generator {
  readonly typeUrl: TypeUrl;
  /** All names of a view, for types that are subscribed to by wildcard. */
  readonly names?: ViewQuery<undefined, readonly string[]>;
  /** Instead of `names`, where slices of them are known that stay when names come and go. */
  readonly slices?: ViewQuery<undefined, readonly SliceText[]>;
  /** The names that are served to a subscription, where one name stands for several; without it, those asked for. */
  readonly namesFor?: ViewQuery<NameSetKey, readonly string[]>;
  /** The resource of a name; undefined when the view has none. */
  readonly resource: ViewQuery<string, EncodedResource | undefined>;
}

/** The meaning of a name to a view, where the result depends on nothing else of the client; `name` is the resource's. */
export interface Target {
  readonly name: string;
}

interface Selection<Inputs extends object> {
  readonly typeUrl: TypeUrl;
  /** Distinguishes generators of one type for different proxies; results are shared under this name. */
  readonly label?: string;
  readonly names?: (view: View) => readonly string[];
  /** Instead of `names`, where slices are known that stay when names come and go; such a type takes no patches. */
  readonly slices?: (view: View) => readonly SliceText[];
  readonly namesFor?: (view: View, asked: readonly string[]) => readonly string[];
  readonly select: (view: View, name: string) => Inputs | undefined;
  /** Other names by which a resource may be asked for; they must follow from its contents. */
  readonly aliases?: (inputs: Inputs) => readonly string[];
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
  readonly patching?: Patching<Changes<MessageShape<GenMessage<Resource>>>>;
}

/** For large resources that are joined from parts which are encoded already. */
export interface ContainerSpec<Inputs extends object, Resource extends Message> extends Selection<Inputs> {
  readonly schema: GenMessage<Resource>;
  /** Fields whose numbers are lower, or higher, than that of the parts. */
  readonly before?: (inputs: Inputs) => MessageShape<GenMessage<Resource>>;
  readonly behind?: (inputs: Inputs) => MessageShape<GenMessage<Resource>>;
  readonly parts: (inputs: Inputs) => readonly Encoded[];
  readonly patching?: Patching<ContainerChanges>;
}

export function createGenerator<Inputs extends object, Resource extends Message>(
  spec: GeneratorSpec<Inputs, Resource>,
): Generator {
  const { schema, build, patching } = spec;
  type Shape = MessageShape<GenMessage<Resource>>;
  const built = new BuildCache<Inputs, Encoded>((inputs) => encodedMessage(schema, build(inputs)));
  const changed = new BuildCache<{ readonly inputs: Inputs; readonly changes: Changes<Shape> }, ChangedContent>(
    ({ inputs, changes }) => changedMessage(schema, build(inputs), changes),
    ({ inputs, changes }) => identityKey({ ...inputs, changes }),
  );
  return generatorOf(spec, {
    plain: (inputs) => built.get(inputs),
    changed: (inputs, changes) => changed.get({ inputs, changes }),
    patching,
  });
}

export function createContainerGenerator<Inputs extends object, Resource extends Message>(
  spec: ContainerSpec<Inputs, Resource>,
): Generator {
  const { schema, before, parts, behind, patching } = spec;
  const head = (inputs: Inputs) => (before === undefined ? [] : [encodedMessage(schema, before(inputs))]);
  const tail = (inputs: Inputs) => (behind === undefined ? [] : [encodedMessage(schema, behind(inputs))]);
  return generatorOf(spec, {
    plain: (inputs) => new Joined([...head(inputs), ...parts(inputs), ...tail(inputs)]),
    changed: (inputs, changes) => {
      const frame = [...head(inputs), ...tail(inputs)].map(({ bytes }) => bytes);
      return changes.join(concatBytes(frame), parts(inputs));
    },
    patching,
  });
}

interface Encoding<Inputs, ChangesOf extends object> {
  readonly plain: (inputs: Inputs) => Encoded;
  readonly changed: (inputs: Inputs, changes: ChangesOf) => ChangedContent;
  readonly patching: Patching<ChangesOf> | undefined;
}

function generatorOf<Inputs extends object, ChangesOf extends object>(
  { typeUrl, label = "", names, slices, namesFor, select, aliases, shared }: Selection<Inputs>,
  { plain, changed, patching }: Encoding<Inputs, ChangesOf>,
): Generator {
  const title = `${label}${typeUrl}`;
  const resourceOf = sharedResources(typeUrl);
  const ofTarget = query<EncodedResource, Target>(
    `${title} of a target`,
    (view, target) => {
      if (shared === undefined) throw new Error(`[XDS_NO_TARGET] ${title} has no targets`);
      return resourceOf(target.name, plain(shared.select(view, target as never)));
    },
    sameVersion,
  );
  const changedResource = (view: View, name: string, content: ChangedContent) => {
    for (const finding of content.findings) view.report(finding);
    reportOutcomes(view, content.outcomes);
    return content.isRemoved ? undefined : resourceOf(content.name ?? name, content);
  };
  const pairs = new Pairs<Target, ChangesOf>();
  const ofChangedTarget = query<EncodedResource | undefined, Pair<Target, ChangesOf>>(
    `${title} of a patched target`,
    (view, { first: target, second: changes }) => {
      if (shared === undefined) throw new Error(`[XDS_NO_TARGET] ${title} has no targets`);
      return changedResource(view, target.name, changed(shared.select(view, target as never), changes));
    },
    sameVersion,
  );
  const built = (view: View, name: string) => {
    const changes = patching?.changes(view, name);
    const target = shared?.target(view, name);
    if (target !== undefined)
      return changes === undefined
        ? view.read(ofTarget, target)
        : view.read(ofChangedTarget, pairs.of(target, changes));
    const inputs = select(view, name);
    if (inputs === undefined) return undefined;
    return changes === undefined
      ? resourceOf(name, plain(inputs), aliases?.(inputs))
      : changedResource(view, name, changed(inputs, changes));
  };
  const added = additions(patching, resourceOf);
  const resource = query<EncodedResource | undefined, string>(
    title,
    (view, name) => built(view, name) ?? added.resource(view, name),
    sameVersion,
  );
  return {
    typeUrl,
    resource,
    ...(names && { names: query(`${title} names`, (view) => added.names(view, names(view))) }),
    ...(slices && { slices: query(`${title} slices of all`, slices) }),
    ...(namesFor && {
      namesFor: query<readonly string[], NameSetKey>(`${title} names asked for`, (view, key) =>
        namesFor(view, namesOfKey(key)),
      ),
    }),
  };
}

/** The resources that patches add beside those that are built. */
function additions(patching: Patching<object> | undefined, resourceOf: ResourceOf) {
  const added = patching?.added;
  return {
    resource: (view: View, name: string) => {
      const content = added && view.read(added).get(name);
      return content && resourceOf(name, content);
    },
    names: (view: View, own: readonly string[]) => {
      const more = added === undefined ? [] : [...view.read(added).keys()];
      return more.length === 0 ? own : [...new Set([...own, ...more])];
    },
  };
}

export interface ResourceSetQueries {
  /** Every resource there is: for wildcard subscriptions. */
  readonly all: ViewQuery<undefined, ResourceSet>;
  /** The resources of the names asked for that exist. */
  readonly named: ViewQuery<NameSetKey, ResourceSet>;
  /** The parts of `all`. */
  readonly sliceTexts: ViewQuery<undefined, readonly SliceText[]>;
  readonly slice: ViewQuery<SliceText, Slice>;
}

export function resourceSetQueries(generator: Generator): ResourceSetQueries {
  const { typeUrl, names, slices: slicesOfAll, namesFor, resource } = generator;
  const sets = new Interner<ResourceSet>();
  const slice = query<Slice, SliceText>(
    `${typeUrl} slice`,
    (view, text) =>
      sliceOf(
        typeUrl,
        sliceKeys(text),
        (name) => view.attempt(resource, name),
        (finding) => view.report(finding),
      ),
    sameVersion,
  );
  const joined = (slices: readonly Slice[]): ResourceSet => {
    const version = contentHash(slices.map((one) => one.version).join(""));
    return sets.intern(version, () => {
      // Names that are known in slices are not changed by patches: each is there once.
      const content = slices.map((one) => one.content);
      const byName = new SlicedResources(content, { distinct: slicesOfAll !== undefined });
      const failed = slices.flatMap((one) => [...(one.failed ?? [])]);
      return { typeUrl, byName, version, ...(failed.length > 0 && { failed: new Map(failed) }) };
    });
  };
  const groups = new SliceGroups();
  const group = query<readonly Slice[], SliceGroup>(`${typeUrl} group of slices`, (view, texts) =>
    texts.map((text) => view.read(slice, text)),
  );
  const allTexts =
    slicesOfAll ??
    query<readonly SliceText[]>(`${typeUrl} slices of all`, (view) =>
      names === undefined ? [] : sliceTexts(view.read(names)),
    );
  const namedTexts = query<readonly SliceText[], NameSetKey>(`${typeUrl} slices`, (view, key) =>
    sliceTexts(namesFor === undefined ? namesOfKey(key) : view.read(namesFor, key)),
  );
  return {
    all: query(
      `${typeUrl} set`,
      (view) => {
        const texts = view.read(allTexts);
        if (slicesOfAll === undefined) return joined(texts.map((text) => view.read(slice, text)));
        return joined(groups.of(texts).flatMap((one) => view.read(group, one)));
      },
      sameVersion,
    ),
    named: query<ResourceSet, NameSetKey>(
      `${typeUrl} named`,
      (view, key) => joined(view.read(namedTexts, key).map((text) => view.read(slice, text))),
      sameVersion,
    ),
    ...{ sliceTexts: allTexts, slice },
  };
}
