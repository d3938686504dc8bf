/** Machines that are connected now: the WorkloadEntries that stand for them, and their reports for those that users wrote. */
import {
  type Config,
  compareText,
  fnv1a,
  type ObjectName,
  objectName,
  type RegisteredWorkload,
  type RegisteredWorkloadClaim,
  type RegisteredWorkloadKey,
  registeredWorkloadClaimText,
  registeredWorkloadKeyText,
} from "@flotilla/model";
import {
  entryWithHealth,
  groupAnnotation,
  healthRefusal,
  isRegisteredEntry,
  type RegistrationRules,
  registeredEntry,
  registrationRefusal,
} from "../convert/registered-workload.ts";
import type { RegistrySettings } from "../settings.ts";
import { MultiMap } from "./objects.ts";
import type { RegistryProblem } from "./problem.ts";

/** A machine is connected, has changed, or is gone for longer than the grace. */
export type RegisteredWorkloadChange =
  | { readonly type: "machine"; readonly op: "put"; readonly machine: RegisteredWorkload }
  | { readonly type: "machine"; readonly op: "delete"; readonly machine: RegisteredWorkloadClaim };

export interface RegisteredEntry {
  readonly name: ObjectName;
  readonly entry: Config | undefined;
}

/** Records of machines for Kubernetes. */
export interface RegistrationRecords {
  /** Entries of registered machines, under names of their own. */
  readonly registered: readonly Config[];
  /** Entries that somebody wrote for machines that report their health. */
  readonly reported: readonly Config[];
}

export class RegistrationSide {
  readonly #settings: RegistrySettings;
  /** By text of the claim. */
  readonly #claims = new Map<string, RegisteredWorkload>();
  /** Texts of claims by key of the machine, and by the WorkloadEntry they stand for. */
  readonly #claimsOfKey = new MultiMap<string>();
  readonly #claimsOfEntry = new MultiMap<string>();
  readonly #groups = new Map<ObjectName, Config>();
  /** WorkloadEntries as they are written. */
  readonly #written = new Map<ObjectName, Config>();
  #trustDomain = "cluster.local";

  constructor(settings: RegistrySettings) {
    this.#settings = settings;
  }

  /** Returns the entries that another trust domain changes. */
  applyTrustDomain(trustDomain: string): readonly RegisteredEntry[] {
    this.#trustDomain = trustDomain;
    return this.#machines().flatMap((machine) => this.#entriesOf(machine.key, machine));
  }

  applyMachine(change: RegisteredWorkloadChange): readonly RegisteredEntry[] {
    const { key } = change.machine;
    const text = registeredWorkloadClaimText(change.machine);
    const before = this.#claims.get(text);
    const entryBefore = before && writtenNameOf(before);
    if (entryBefore !== undefined) this.#claimsOfEntry.remove(entryBefore, text);
    if (change.op === "delete") {
      this.#claims.delete(text);
      this.#claimsOfKey.remove(registeredWorkloadKeyText(key), text);
    } else {
      this.#claims.set(text, change.machine);
      this.#claimsOfKey.add(registeredWorkloadKeyText(key), text);
      const entry = writtenNameOf(change.machine);
      if (entry !== undefined) this.#claimsOfEntry.add(entry, text);
    }
    const left = entryBefore === undefined ? [] : [this.#writtenEntry(entryBefore)];
    return [...left, ...this.#entriesOf(key, this.#machineOfKey(key))];
  }

  applyGroup(name: ObjectName, group: Config | undefined): readonly RegisteredEntry[] {
    if (group === undefined) this.#groups.delete(name);
    else this.#groups.set(name, group);
    return this.#machines()
      .filter(({ key }) => groupOf(key) === name)
      .flatMap((machine) => this.#entriesOf(machine.key, machine));
  }

  /** A written WorkloadEntry. Images of registrations count for nothing: the machine itself does. */
  applyEntry(name: ObjectName, entry: Config | undefined): RegisteredEntry {
    if (entry === undefined || isRegisteredEntry(entry)) this.#written.delete(name);
    else this.#written.set(name, entry);
    return this.#writtenEntry(name);
  }

  records(): RegistrationRecords {
    const rules = this.#rules();
    const registered = new Map<string, Config>();
    for (const machine of [...this.#machines()].sort(byConnection)) {
      const entry = this.#registration(machine);
      if (entry === undefined) continue;
      const { namespace, name } = entry.key;
      // Two machines of one address and group: the second gets a name of its own. Entries that istiod registered are taken over.
      const text = objectName.write(entry.key);
      const other = this.#written.get(text);
      const isTaken = registered.has(text) || (other !== undefined && !isRegistrationOf(other, machine));
      const own = isTaken ? `${name}-${fnv1a(registeredWorkloadKeyText(machine.key)).toString(36)}` : name;
      registered.set(
        objectName.write({ namespace, name: own }),
        own === name ? entry : { ...entry, key: { ...entry.key, name: own } },
      );
    }
    const reported = [...this.#written].flatMap(([name, entry]) => {
      const shown = entryWithHealth(entry, this.#machineOfEntry(name), rules);
      return shown === entry ? [] : [shown];
    });
    return { registered: [...registered.values()], reported };
  }

  problems(): readonly RegistryProblem[] {
    const problems: RegistryProblem[] = [];
    const owners = new Map<string, string>();
    for (const machine of this.#machines().sort((a, b) => compareText(objectText(a), objectText(b)))) {
      const { key, address, entry } = machine;
      const object = objectText(machine);
      const reason = this.#refusal(machine);
      const field = entry === undefined ? "AUTO_REGISTER_GROUP" : "WORKLOAD_ENTRY";
      if (reason !== undefined) problems.push({ object, field, reason });
      problems.push(...this.#clashes(machine, object, field));
      const place = `${key.network}/${address}`;
      const owner = owners.get(place);
      if (owner === undefined) owners.set(place, object);
      else problems.push({ object, field: "address", reason: `${address} is ${owner}'s too: both are kept` });
    }
    return problems;
  }

  #entriesOf(key: RegisteredWorkloadKey, machine: RegisteredWorkload | undefined): readonly RegisteredEntry[] {
    const written = machine && writtenNameOf(machine);
    if (written !== undefined) return [this.#writtenEntry(written)];
    return [{ name: nameOf(key), entry: machine === undefined ? undefined : this.#registration(machine) }];
  }

  #registration(machine: RegisteredWorkload): Config | undefined {
    const group = this.#groups.get(groupOf(machine.key));
    if (machine.entry !== undefined || group === undefined || this.#refusal(machine) !== undefined) return undefined;
    return registeredEntry(machine, group, this.#rules());
  }

  #writtenEntry(name: ObjectName): RegisteredEntry {
    const entry = this.#written.get(name);
    return { name, entry: entry && entryWithHealth(entry, this.#machineOfEntry(name), this.#rules()) };
  }

  /** Callers that claim to be the machine, or to stand for its entry, without being it. */
  #clashes(machine: RegisteredWorkload, object: string, field: string): readonly RegistryProblem[] {
    const written = writtenNameOf(machine);
    const rivals =
      written === undefined
        ? this.#claimsOf(this.#claimsOfKey.get(registeredWorkloadKeyText(machine.key)))
        : this.#claimsOf(this.#claimsOfEntry.get(written));
    const owner = written === undefined ? machine : (this.#machineOfEntry(written) ?? machine);
    // Of an entry that is claimed by several machines, its owner reports.
    if (owner !== machine) return [];
    return rivals
      .filter((rival) => rival !== owner && this.#strength(rival) < this.#strength(owner))
      .map((rival) => ({
        object,
        field,
        reason: `claimed by ${rival.address} too, ${proofText(rival)}: that of ${owner.address}, ${proofText(owner)}, stays`,
      }));
  }

  /** Each machine once, by its strongest claim. */
  #machines(): RegisteredWorkload[] {
    const keys = new Map([...this.#claims.values()].map(({ key }) => [registeredWorkloadKeyText(key), key]));
    return [...keys.values()].flatMap((key) => this.#machineOfKey(key) ?? []);
  }

  /** The strongest claim; of equally strong ones the one that was there first. */
  #machineOfKey(key: RegisteredWorkloadKey): RegisteredWorkload | undefined {
    return this.#strongest(this.#claimsOfKey.get(registeredWorkloadKeyText(key)), (a, b) => byConnection(a, b));
  }

  /** The strongest claim; of equally strong ones the newest connection. */
  #machineOfEntry(name: ObjectName): RegisteredWorkload | undefined {
    return this.#strongest(this.#claimsOfEntry.get(name), (a, b) => byConnection(b, a));
  }

  #strongest(
    texts: ReadonlySet<string>,
    order: (a: RegisteredWorkload, b: RegisteredWorkload) => number,
  ): RegisteredWorkload | undefined {
    const isAway = ({ disconnectedAtMs }: RegisteredWorkload): number => (disconnectedAtMs === undefined ? 0 : 1);
    return this.#claimsOf(texts).sort(
      (a, b) => this.#strength(b) - this.#strength(a) || isAway(a) - isAway(b) || order(a, b),
    )[0];
  }

  #claimsOf(texts: ReadonlySet<string>): RegisteredWorkload[] {
    return [...texts].flatMap((text) => this.#claims.get(text) ?? []);
  }

  /** The proof that is asked for, another one, none: a weaker claim never displaces a stronger one. */
  #strength(machine: RegisteredWorkload): number {
    return (this.#refusal(machine) === undefined ? 2 : 0) + (machine.identities.length > 0 ? 1 : 0);
  }

  #refusal(machine: RegisteredWorkload): string | undefined {
    const written = writtenNameOf(machine);
    return written === undefined
      ? registrationRefusal(machine, this.#groups.get(groupOf(machine.key)), this.#rules())
      : healthRefusal(machine, this.#written.get(written), this.#rules());
  }

  #rules(): RegistrationRules {
    const { validateMachines, machineHealthChecks } = this.#settings;
    return { trustDomain: this.#trustDomain, validateIdentity: validateMachines, healthChecks: machineHealthChecks };
  }
}

/** Of the WorkloadEntry that somebody wrote for it, if it stands for one. */
function writtenNameOf({ key, entry }: RegisteredWorkload): ObjectName | undefined {
  return entry === undefined ? undefined : objectName.write({ namespace: key.namespace, name: entry });
}

function groupOf({ namespace, group }: RegisteredWorkloadKey): ObjectName {
  return objectName.write({ namespace, name: group });
}

/** Begins with its group's name; no WorkloadEntry that somebody wrote has such a name. */
function nameOf(key: RegisteredWorkloadKey): ObjectName {
  return objectName.write({ namespace: key.namespace, name: `${key.group}/${key.network}/${key.instance}` });
}

function objectText({ key }: RegisteredWorkload): string {
  return `Machine/${key.namespace}/${key.instance}`;
}

function proofText({ identities }: RegisteredWorkload): string {
  return identities.length === 0 ? "not proven" : identities.join(", ");
}

function isRegistrationOf({ annotations }: Config, { key }: RegisteredWorkload): boolean {
  return annotations[groupAnnotation] === key.group;
}

function byConnection(a: RegisteredWorkload, b: RegisteredWorkload): number {
  return (
    a.connectedAtMs - b.connectedAtMs || compareText(registeredWorkloadKeyText(a.key), registeredWorkloadKeyText(b.key))
  );
}
