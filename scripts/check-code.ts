/** Rules on code that linters do not have, each with a file in scripts/code. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { flaggedWords, questionOpenings } from "./code/flagged-words.ts";
import { openProject, recordLookups } from "./code/record-lookups.ts";
import { expressionProblems } from "./code/regular-expressions.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const fewestFiles = 800;
const isProduct = (file: string): boolean =>
  /^(packages|services)\/[^/]+\/(src|bin)\//.test(relative(root, file)) &&
  !/\.test\.ts$|\.fixture\.ts$|\.conformance\.ts$|\/gen\/|\/testing\/|\/bin\/gen|\/kube-assets\.ts$|\/xds\/src\/compare\.ts$/.test(
    file,
  ) &&
  // Programs that users start themselves.
  !/^packages\/(cli|servers|dataplane|proto\/bin)\//.test(relative(root, file));

const project = openProject(join(root, "tsconfig.json"), isProduct);
const lookups = recordLookups(project).map(
  ({ file, line, kind, text }) =>
    `${relative(root, file)}:${line}: ${kind} by a key from outside: ${text}\n  use a Map, ownValue() of packages/model, or Object.hasOwn`,
);
const expressions = (await expressionProblems(project, join(root, "node_modules/.cache/safe-expressions.json"))).map(
  ({ file, line, text, reason }) => `${relative(root, file)}:${line}: ${text}: ${reason}`,
);
const pages = globSync(
  ["*.md", "{docs,changes}/**/*.md", "{packages,services,test,scripts}/**/*.{ts,md}", "k8s/**/*.{yaml,conf}"],
  { cwd: root },
).filter(
  (file) =>
    !/node_modules|\/(?:gen|dist)\/|\/(?:scenarios|corpora|testdata)\/.*\.(?:md|yaml)$|flagged-words/.test(file),
);
const words = pages.flatMap((file) =>
  flaggedWords(readFileSync(join(root, file), "utf8")).map(
    ({ line, text, instead }) => `${file}:${line}: "${text}" is no term of the field: write ${instead}`,
  ),
);
const openings = pages
  .filter((file) => /\.tsx?$/.test(file))
  .flatMap((file) =>
    questionOpenings(readFileSync(join(root, file), "utf8")).map(
      ({ line, text, instead }) => `${file}:${line}: a comment begins with "${text}": begin with ${instead}`,
    ),
  );
const problems = [...lookups, ...expressions, ...words, ...openings];
if (project.files.length < fewestFiles)
  problems.push(`only ${project.files.length} files were read, at least ${fewestFiles} exist`);
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.stdout.write(
  `${project.files.length} files\n${problems.length === 0 ? 1 : 0} passed, ${problems.length} failed\n`,
);
// recheck's worker goes on.
process.exit(problems.length === 0 ? 0 : 1);
