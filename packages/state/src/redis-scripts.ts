/** Steps that Redis does as one, and the keys they work on. */

const prefix = "flotilla:v1";
export const keys = {
  entries: `${prefix}:snapshot:entries`,
  about: `${prefix}:snapshot:about`,
  writer: `${prefix}:snapshot:writer`,
  replica: (id: string) => `${prefix}:replica:${id}`,
  parts: (id: string) => `${prefix}:replica-parts:${id}`,
};

/**
 * Writes only while the lock is ours and the snapshot is as we left it: a server that was killed may have come back with less, or others
 * may have removed entries. KEYS: lock, entries, about. ARGV: token, life, checksum and number of entries before, number of puts, then key
 * and value of each, number of removals, then their keys, then pairs of fields of `about`.
 */
export const writeScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if (redis.call('HGET', KEYS[3], 'checksum') or '') ~= ARGV[3] then return 0 end
if redis.call('HLEN', KEYS[2]) ~= tonumber(ARGV[4]) then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local at = 5
local puts = tonumber(ARGV[at]); at = at + 1
for i = 1, puts do redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1]); at = at + 2 end
local gone = tonumber(ARGV[at]); at = at + 1
for i = 1, gone do redis.call('HDEL', KEYS[2], ARGV[at]); at = at + 1 end
redis.call('DEL', KEYS[3])
while at < #ARGV do redis.call('HSET', KEYS[3], ARGV[at], ARGV[at + 1]); at = at + 2 end
return 1
`;

/**
 * The lock, if it is free or the writer's own already. A value of another type under its key is removed, and the time left to a lock of another
 * writer is cut to the usual life: a lock without an end would stop all writers. KEYS: lock. ARGV: token, life.
 */
export const claimScript = `
local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' then
  redis.call('DEL', KEYS[1])
  holder = false
end
if holder and holder ~= ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2], 'LT')
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`;

/** KEYS: lock. ARGV: token. */
export const releaseScript = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`;
