/**
 * The script within the single executable: unpacks the bundle that the executable holds, once for each build, and runs the command line from
 * there, or the program of the bundle that it was started for. Plain CommonJS, as a single executable runs no other.
 */
const { mkdirSync, existsSync, lstatSync, mkdtempSync, renameSync, rmSync, writeFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const { homedir } = require("node:os");
const { dirname, isAbsolute, join } = require("node:path");
const { getAsset } = require("node:sea");
const { brotliDecompressSync } = require("node:zlib");

const setting = "FLOTILLA_CACHE";

/** The directory of the bundle. Its name has the digest of its contents, so that no other build is met there. */
function unpacked() {
  const digest = getAsset("digest", "utf8").trim();
  const cache = process.env[setting] ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "flotilla");
  const directory = join(cache, `bundle-${digest}`);
  if (existsSync(directory)) {
    checkOwner(directory);
    return directory;
  }
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  const fresh = mkdtempSync(join(cache, "unpacking-"));
  const files = JSON.parse(brotliDecompressSync(Buffer.from(getAsset("bundle"))).toString("utf8"));
  for (const [name, base64] of Object.entries(files)) {
    const file = join(fresh, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, Buffer.from(base64, "base64"));
  }
  try {
    renameSync(fresh, directory);
  } catch (error) {
    // Another process has unpacked it meanwhile.
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(directory)) throw error;
    checkOwner(directory);
  }
  return directory;
}

/** Code is run from there: no other user may have put it there. */
function checkOwner(directory) {
  const { uid, mode } = lstatSync(directory);
  if (process.getuid === undefined) return;
  if (uid !== process.getuid() || (mode & 0o022) !== 0)
    throw new Error(`${directory} belongs to another user, or others may write there: remove it, or name a directory by ${setting}`);
}

try {
  const directory = unpacked();
  const [, , first] = process.argv;
  // The executable starts services and helpers as Node does: by the path of their program.
  const program = first !== undefined && isAbsolute(first) && first.startsWith(`${directory}/`) ? first : undefined;
  const entry = program ?? join(directory, "packages/cli/bin/flotilla.js");
  process.argv.splice(1, program === undefined ? 1 : 2, entry);
  createRequire(join(directory, "start.cjs"))("./start.cjs")(entry);
} catch (error) {
  process.stderr.write(`flotilla: cannot unpack itself: ${error.message}; ${setting} names another directory\n`);
  process.exitCode = 1;
}
