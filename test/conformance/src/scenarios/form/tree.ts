/**
 * The tree of expectations that the project holds: an `expected.yaml` for each stage, with blocks `TYPE to RECEIVERS`, and `shared/` for
 * what many of them repeat.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonValue } from "@flotilla/proto";
import { shortTypes } from "@flotilla/xds/client";
import type { Expected, Scenario } from "../scenario.ts";
import { readDocuments, writeDocument } from "./documents.ts";
import { applyBlocks, type Block, type Blocks, blocksBetween } from "./expectations.ts";
import { type Folded, type FoldedPlaces, foldPlaces, type Place, type SharedParts, unfolder } from "./shared-parts.ts";

const sharedFolder = "shared";
const partsFile = "parts.yaml";
const expectedFile = "expected.yaml";
/** Between a block's type and the names of the proxies. */
const toReceivers = " to ";
type FoldedBlock = Readonly<Record<string, Folded>> | null;
type FoldedBlocks = ReadonlyMap<string, ReadonlyMap<string, FoldedBlock>>;

export interface TreeReader {
  /** The state after the stage in `folder`, which follows `before`. */
  readonly readStage: (folder: string, before: Expected) => Expected;
}

export function isTree(root: string): boolean {
  return existsSync(join(root, sharedFolder, partsFile));
}

export function openTree(root: string): TreeReader {
  const unfold = unfolder(readParts(root));
  return {
    readStage: (folder, before) => {
      const blocks = [...readBlocks(folder)].map(
        ([type, byReceivers]) =>
          [type, new Map([...byReceivers].map(([to, block]) => [to, unfold(block) as Block]))] as const,
      );
      return applyBlocks(before, new Map(blocks));
    },
  };
}

/** Metadata that proxies of a type, or of `all`, have where a scenario writes nothing else. */
export function readStandardMetadata(root: string): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  const [metadata] = readDocuments(join(root, sharedFolder, "metadata.yaml"));
  return (metadata ?? {}) as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/**
 * Writes the expectations of all scenarios of a tree anew. Names of shared parts follow what the tree holds already.
 * Inputs, proxies and steps are written by people and stay as they are.
 */
export function writeExpectations(root: string, scenarios: readonly Scenario[]): void {
  const written = scenarios.flatMap((scenario) => {
    const proxies = scenario.proxies.map(({ name }) => name);
    return scenario.stages.map(({ title, expected }, index) => {
      const before = scenario.stages[index - 1]?.expected ?? new Map();
      return { folder: stageFolder(scenario, title), blocks: blocksBetween(before, expected, proxies) };
    });
  });
  const before = readFolded(
    root,
    written.map(({ folder }) => folder),
  );
  const { values, parts } = foldPlaces(
    written.flatMap(({ folder, blocks }) => placesOf(folder, blocks)),
    before,
  );
  mkdirSync(join(root, sharedFolder), { recursive: true });
  writeFileSync(
    join(root, sharedFolder, partsFile),
    writeDocument(Object.fromEntries(parts), { blockLevels: 1, comment: partsComment }),
  );
  for (const { folder, blocks } of written) writeBlocks(join(root, folder), folder, blocks, values);
}

const partsComment = " What several expectations hold, each once: `!shared NAME` there stands for the block here.";

function writeBlocks(path: string, folder: string, blocks: Blocks, values: ReadonlyMap<string, Folded>): void {
  const file = join(path, expectedFile);
  rmSync(file, { force: true });
  if (blocks.size === 0) return;
  const folded = [...blocks].flatMap(([type, byReceivers]) =>
    [...byReceivers].map(([to, block]) => {
      const entries = Object.keys(block ?? {}).map((name) => [name, values.get(placeKey(folder, type, to, name))]);
      return [`${type}${toReceivers}${to}`, block && Object.fromEntries(entries)] as const;
    }),
  );
  mkdirSync(path, { recursive: true });
  writeFileSync(file, writeDocument(Object.fromEntries(folded), { blockLevels: 2 }));
}

function placesOf(folder: string, blocks: Blocks): readonly Place[] {
  return [...blocks].flatMap(([type, byReceivers]) =>
    [...byReceivers].flatMap(([to, block]) =>
      Object.entries(block ?? {}).map(([name, value]: [string, JsonValue]) => ({
        key: placeKey(folder, type, to, name),
        label: name === "" ? type : name,
        value,
      })),
    ),
  );
}

function readFolded(root: string, folders: readonly string[]): FoldedPlaces {
  const values = new Map<string, Folded>();
  for (const folder of folders)
    for (const [type, byReceivers] of readBlocks(join(root, folder)))
      for (const [to, block] of byReceivers)
        for (const [name, value] of Object.entries(block ?? {})) values.set(placeKey(folder, type, to, name), value);
  return { values, parts: readParts(root) };
}

function readBlocks(folder: string): FoldedBlocks {
  const file = join(folder, expectedFile);
  const blocks = new Map<string, Map<string, FoldedBlock>>();
  if (!existsSync(file)) return blocks;
  const [found = {}] = readDocuments(file);
  for (const [heading, block] of Object.entries(found as Readonly<Record<string, FoldedBlock>>)) {
    const [type = "", receivers] = heading.split(toReceivers);
    if (shortTypes[type] === undefined || receivers === undefined)
      throw new Error(`${file}: "${heading}" is not "TYPE to PROXY, PROXY"`);
    const ofType = blocks.get(type) ?? new Map<string, FoldedBlock>();
    blocks.set(type, ofType.set(receivers, block));
  }
  return blocks;
}

function readParts(root: string): SharedParts {
  const path = join(root, sharedFolder, partsFile);
  const [parts = {}] = existsSync(path) ? readDocuments(path) : [];
  return new Map(Object.entries(parts as Readonly<Record<string, Folded>>));
}

function stageFolder({ group, name }: Scenario, title: string): string {
  return title === "" ? join(group, name) : join(group, name, "steps", title);
}

function placeKey(folder: string, type: string, to: string, name: string): string {
  return JSON.stringify([folder, type, to, name]);
}
