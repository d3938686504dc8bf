/** Machines that are registered now, with the groups they belong to: which WorkloadEntries stand for them. */
import { type Config, compareText, type Machine, type MachineKey, machineKeyText } from "@flotilla/model";
import { machineEntry, registrationRefusal } from "../convert/machine.ts";
import type { RegistrySettings } from "../settings.ts";
import type { ObjectName } from "./objects.ts";
import type { RegistryProblem } from "./problems.ts";

/** A machine is connected, has changed, or is gone for longer than the grace. */
export type MachineChange =
  | { readonly type: "machine"; readonly op: "put"; readonly machine: Machine }
  | { readonly type: "machine"; readonly op: "delete"; readonly key: MachineKey };

export interface MachineEntry {
  readonly name: ObjectName;
  readonly entry: Config | undefined;
}

export class MachineSide {
  readonly #settings: RegistrySettings;
  readonly #machines = new Map<string, Machine>();
  readonly #groups = new Map<ObjectName, Config>();

  constructor(settings: RegistrySettings) {
    this.#settings = settings;
  }

  applyMachine(change: MachineChange, trustDomain: string): MachineEntry {
    const key = change.op === "put" ? change.machine.key : change.key;
    const text = machineKeyText(key);
    if (change.op === "delete") {
      this.#machines.delete(text);
      return { name: nameOf(key), entry: undefined };
    }
    this.#machines.set(text, change.machine);
    return this.#entryOf(change.machine, trustDomain);
  }

  applyGroup(name: ObjectName, group: Config | undefined, trustDomain: string): readonly MachineEntry[] {
    if (group === undefined) this.#groups.delete(name);
    else this.#groups.set(name, group);
    return this.entries(trustDomain).filter(({ name: entry }) => entry.startsWith(`${name}/`));
  }

  entries(trustDomain: string): readonly MachineEntry[] {
    return Array.from(this.#machines.values(), (machine) => this.#entryOf(machine, trustDomain));
  }

  problems(trustDomain: string): readonly RegistryProblem[] {
    const problems: RegistryProblem[] = [];
    const owners = new Map<string, string>();
    for (const machine of [...this.#machines.values()].sort((a, b) => compareText(objectText(a), objectText(b)))) {
      const { key, address } = machine;
      const object = objectText(machine);
      const reason = this.#refusal(machine, trustDomain);
      if (reason !== undefined) problems.push({ object, field: "AUTO_REGISTER_GROUP", reason });
      const place = `${key.network}/${address}`;
      const owner = owners.get(place);
      if (owner === undefined) owners.set(place, object);
      else problems.push({ object, field: "address", reason: `${address} is ${owner}'s too: both are kept` });
    }
    return problems;
  }

  #entryOf(machine: Machine, trustDomain: string): MachineEntry {
    const group = this.#groups.get(groupOf(machine.key));
    const isRefused = group === undefined || this.#refusal(machine, trustDomain) !== undefined;
    return { name: nameOf(machine.key), entry: isRefused ? undefined : machineEntry(machine, group) };
  }

  #refusal(machine: Machine, trustDomain: string): string | undefined {
    const { validateMachines: validateIdentity } = this.#settings;
    return registrationRefusal(machine, this.#groups.get(groupOf(machine.key)), { trustDomain, validateIdentity });
  }
}

function groupOf({ namespace, group }: MachineKey): ObjectName {
  return `${namespace}/${group}`;
}

/** Begins with its group's name; no WorkloadEntry that somebody wrote has such a name. */
function nameOf(key: MachineKey): ObjectName {
  return `${groupOf(key)}/${key.network}/${key.instance}`;
}

function objectText({ key }: Machine): string {
  return `Machine/${key.namespace}/${key.instance}`;
}
