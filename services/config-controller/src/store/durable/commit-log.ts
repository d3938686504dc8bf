/**
 * Objects in the bus's shared values, written in transactions by whichever replica is first. One value, the head, holds the last
 * transaction: its replacement is the moment in which the whole transaction takes effect. Then its objects are written one by one under
 * keys of their own; should the writer end before that is done, the next writer does it before it replaces the head.
 */
import { randomUUID } from "node:crypto";
import type { KeyValueEntry } from "@flotilla/bus";
import { configKeyText, StoreError } from "@flotilla/model";
import { delay, type Logger, TimeSlice, Turns } from "@flotilla/runtime";
import type { ConfigTable } from "../config-table.ts";
import { HeadValue, headKey } from "./head-value.ts";
import type { ObjectJournal } from "./object-journal.ts";
import { ObjectValues, type ObjectValuesOptions } from "./object-values.ts";
import { readOnce, readStored, type StoredReading } from "./stored-reading.ts";
import { StoredState } from "./stored-state.ts";
import { type Edit, objectsOf, type StoredObject, type Transaction } from "./transaction.ts";

export interface CommitLogOptions extends ObjectValuesOptions {
  readonly log: Logger;
  readonly nowMs: () => number;
  readonly random: () => number;
  /** The copy of this replica. */
  readonly journal?: ObjectJournal;
}

/** How often a writer begins again because another replica was faster. */
const maxAttempts = 100;
/** Of those that were lost, in the log. */
const namedObjects = 20;

export class CommitLog {
  readonly #options: CommitLogOptions;
  readonly #listeners = new Set<(transaction: Transaction) => void>();
  readonly #objects: ObjectValues;
  readonly #state = new StoredState();
  readonly #head: HeadValue;
  /** Not yet known to be written to its objects' own keys. */
  #unwritten: Transaction | undefined;
  /** Lost writes that no `compare` has reported yet: found outside of one, or by one that failed before all were written again. */
  readonly #unreported = new Set<string>();
  #isRestored = false;
  readonly #turns = new Turns();

  constructor(options: CommitLogOptions) {
    this.#options = options;
    this.#objects = new ObjectValues(options);
    this.#head = new HeadValue(options);
  }

  /** As of the last transaction received. */
  get table(): ConfigTable {
    return this.#state.table;
  }

  get version(): number {
    return this.#state.version;
  }

  /** Stored values that cannot be read here; they stay as they are. */
  problems(): readonly { readonly object: string; readonly reason: string }[] {
    const damaged = [...this.#objects.unreadable].map(([object, why]) => ({ object, reason: `is damaged: ${why}` }));
    const closed = [...this.#state.closed.keys()].map((object) => ({ object, reason: "is sealed with another key" }));
    return [...damaged, ...closed];
  }

  /** Called with each transaction, ours and others', after the table shows it. Returns a function that ends that. */
  onCommit(listener: (transaction: Transaction) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Reads what is stored. @throws StoreError STORE_AWAY */
  load(): Promise<void> {
    return this.#turns.take(async () => {
      await this.#restore();
      if (this.#state.version === 0) return this.#load();
      // The replica's earlier state is restored, as if it had run all the time.
      this.#unwritten = await this.#head.readOwn();
      await this.#compare();
    });
  }

  /**
   * Makes what `edit` returns true at once, or nothing of it; `edit` is asked again when another replica was faster, and whatever
   * it throws is thrown. Without changes nothing is written. @throws StoreError STORE_AWAY, STORE_TOO_LARGE, STORE_CONFLICT
   */
  commit(edit: () => Edit, caller?: string): Promise<void> {
    return this.#turns.take(() => this.#commit(edit, caller));
  }

  /** Follows the writes of other replicas. Runs until `stop`. */
  async follow(stop: AbortSignal): Promise<void> {
    for await (const entry of this.#options.values.watch(stop)) {
      if (entry.key !== headKey || entry.value === undefined) continue;
      try {
        await this.#turns.take(() => this.#receive(entry));
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        this.#options.log.warn("stored values unreadable, the last known ones stay in force", { error });
      }
    }
  }

  /**
   * Compares what is stored with what is held, and writes again what is missing, older or unreadable there: the servers may have come
   * back with less than they acknowledged, or somebody may have taken values away. Resolves to the objects that were lost.
   * @throws StoreError STORE_AWAY
   */
  compare(): Promise<readonly string[]> {
    return this.#turns.take(async () => {
      await this.#compare();
      const lost = [...this.#unreported];
      this.#unreported.clear();
      return lost;
    });
  }

  /** Writes everything as it is, for values that were written before values were authenticated. @throws StoreError STORE_AWAY */
  writeAgain(): Promise<void> {
    return this.#turns.take(async () => {
      const { version } = this.#state;
      if (version === 0) return;
      await this.#writeOut();
      await this.#objects.writeAll(this.#state.lostIn([], false));
      await this.#renewHead();
    });
  }

  /** A head of the same version, of which everything is written out. */
  async #renewHead(): Promise<boolean> {
    const { version } = this.#state;
    const again = { version, id: randomUUID(), timeMs: this.#options.nowMs(), puts: [], deletes: [], closed: [] };
    if (!(await this.#head.replace(again))) return false;
    this.#head.id = again.id;
    await this.#options.journal?.replace(this.#whole());
    return true;
  }

  /** Restores the state that this replica held when it ended. */
  async #restore(): Promise<void> {
    const { journal } = this.#options;
    if (this.#isRestored || journal === undefined) return;
    for (const transaction of await journal.read()) {
      this.#state.apply(transaction);
      this.#head.id = transaction.id;
    }
    this.#isRestored = true;
  }

  #whole(): Transaction {
    const { version } = this.#state;
    return { version, id: this.#head.id ?? "", timeMs: this.#options.nowMs(), ...this.#state.all() };
  }

  async #compare(): Promise<void> {
    const { version } = this.#state;
    if (version === 0) return;
    const reading = await readOnce(this.#options.values, this.#head, this.#objects);
    const { transaction, newest } = reading;
    // Another replica held more.
    if (newest > version) return this.#takeNewer();
    this.#head.revision = reading.revision;
    // Written by another replica over values that were lost: its values stay.
    const isForeign = transaction?.version === version && transaction.id !== this.#head.id;
    const inFlight = this.#inFlightOf(transaction);
    const lost = this.#state.lostIn(reading.objects, isForeign).filter(({ key }) => !inFlight.has(configKeyText(key)));
    for (const { key } of lost) this.#unreported.add(configKeyText(key));
    if (lost.length > 0 || transaction?.version !== version) await this.#writeAgain(lost, newest);
    if (isForeign) await this.#load();
  }

  /** Objects of the head that its writer may be about to give values of their own. */
  #inFlightOf(last: Transaction | undefined): ReadonlySet<string> {
    if (last === undefined || this.#unwritten?.id !== last.id) return new Set();
    return new Set(objectsOf(this.#unwritten).map(({ key }) => configKeyText(key)));
  }

  async #writeAgain(lost: readonly StoredObject[], storedVersion: number): Promise<void> {
    const [{ log }, { version }] = [this.#options, this.#state];
    await this.#objects.writeAll(lost);
    this.#unwritten = undefined;
    // The head last: until it stands, this is done again. A replica that was faster does not have the lost ones.
    for (let attempt = 0; attempt < maxAttempts && !(await this.#renewHead()); attempt++) {
      await this.#load();
      await this.#writeOut();
    }
    const objects = lost.slice(0, namedObjects).map(({ key }) => configKeyText(key));
    const details = { objects, count: lost.length, version, storedVersion };
    log.error("the bus lost acknowledged writes, they are written again", details);
  }

  async #commit(edit: () => Edit, caller: string | undefined): Promise<void> {
    const { nowMs, random } = this.#options;
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      await this.#writeOut();
      const timeSlice = new TimeSlice();
      const { puts, deletes } = edit();
      // An object of megabytes was compared; packing it takes as long again.
      if (timeSlice.isDue) await timeSlice.yield();
      if (puts.length === 0 && deletes.length === 0) return;
      const transaction = {
        version: this.#state.version + 1,
        id: randomUUID(),
        ...(this.#head.id !== undefined && { after: this.#head.id }),
        timeMs: nowMs(),
        ...(caller !== undefined && { caller }),
        puts,
        deletes,
        closed: [],
      };
      if (await this.#head.replace(transaction)) {
        await this.#applyTransaction(transaction);
        await this.#writeOut().catch((error: unknown) => this.#options.log.warn("written out later", { error }));
        return;
      }
      await delay(random() * Math.min(attempt, 20));
      await this.#catchUp();
    }
    throw new StoreError("STORE_CONFLICT", undefined, "others wrote faster, try again");
  }

  /** The current head differs from the one last read here. */
  async #catchUp(): Promise<void> {
    const entry = await this.#head.read();
    if (entry?.value === undefined) return this.#compare();
    const transaction = await this.#head.decodeYielding(entry);
    // One that cannot be read is replaced by the next transaction.
    if (transaction === undefined) this.#head.revision = entry.revision;
    else if (transaction.version <= this.#state.version && entry.revision !== this.#head.revision)
      await this.#compare();
    else await this.#receive(entry);
  }

  /** Takes over a head that may be ours, or an old one. */
  async #receive(entry: KeyValueEntry): Promise<void> {
    if (entry.revision === this.#head.revision || entry.value === undefined) return;
    const transaction = await this.#head.decodeYielding(entry);
    if (transaction === undefined || transaction.version < this.#state.version) return;
    // Another replica has written again what was lost.
    if (transaction.version === this.#state.version) {
      if (transaction.id !== this.#head.id) await this.#compare();
      return;
    }
    // A renewed head does not list the objects of its version, and a head with another predecessor does not list those of that predecessor.
    const isRenewed = transaction.puts.length + transaction.deletes.length + transaction.closed.length === 0;
    const isForeign = (transaction.after ?? this.#head.id) !== this.#head.id;
    if (isRenewed || isForeign || transaction.version > this.#state.version + 1) return this.#takeNewer();
    this.#head.revision = entry.revision;
    await this.#applyTransaction(transaction);
  }

  async #applyTransaction(transaction: Transaction): Promise<void> {
    this.#state.apply(transaction);
    this.#unwritten = transaction;
    this.#head.id = transaction.id;
    for (const listener of this.#listeners) listener(transaction);
    // Those who were woken compare objects of megabytes, and the journal packs them: each in a turn of its own.
    await new TimeSlice().yield();
    await this.#options.journal?.append(transaction, () => this.#whole());
  }

  /** Gives the objects of the last transaction values of their own. @throws StoreError STORE_AWAY */
  async #writeOut(): Promise<void> {
    const transaction = this.#unwritten;
    if (transaction === undefined) return;
    await this.#objects.writeAll(objectsOf(transaction));
    this.#unwritten = undefined;
  }

  /**
   * Replaces the held state by a newer one. Held objects that its history lacks were lost: the next `compare` reports them and writes them
   * again, unless the history has other content at the same version.
   */
  async #takeNewer(): Promise<void> {
    const reading = await readStored(this.#options.values, this.#head, this.#objects);
    const lost = reading.newest > this.#state.version ? this.#state.lostTo(reading.objects) : [];
    const names = lost.map(({ key }) => configKeyText(key));
    for (const name of names) this.#unreported.add(name);
    await this.#install(reading);
    if (lost.length === 0) return;
    const details = { objects: names.slice(0, namedObjects), count: lost.length, version: reading.newest };
    this.#options.log.error("a newer history lacks acknowledged writes, they are written again", details);
    await this.#commit(() => ({ puts: this.#state.missing(lost), deletes: [] }), undefined);
  }

  /** Everything, as of the head; the differences from the held state are one transaction. */
  async #load(): Promise<void> {
    await this.#install(await readStored(this.#options.values, this.#head, this.#objects));
  }

  async #install({ revision, transaction, objects, newest }: StoredReading): Promise<void> {
    this.#head.revision = revision;
    this.#head.id = transaction?.id;
    const changed = this.#state.replace(objects, transaction, newest);
    this.#unwritten = transaction;
    if (newest > 0) await this.#options.journal?.replace(this.#whole());
    if (changed !== undefined) for (const listener of this.#listeners) listener(changed);
  }
}
