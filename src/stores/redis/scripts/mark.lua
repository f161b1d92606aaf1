-- The marker of the amnesia guard alone. KEYS: the marker. ARGV: run id, ms of a quarantine, and
-- what to do: `first` (a new server: no quarantine unless a marker exists), `touch` (as every other
-- script does) or `look`.
-- Answers {now, 1 if the marker is of this run, ms of quarantine left}.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
--#include guard.lua
if ARGV[3] == 'first' then call('SET', KEYS[1], ARGV[1] .. ' 0', 'NX') end
if ARGV[3] == 'touch' then quarantine_until(KEYS[1], ARGV[1], ARGV[2]) end
local id, ends = string.match(call('GET', KEYS[1]) or '', '^(%S+) (%d+)$')
return { now, id == ARGV[1] and 1 or 0, math.max(0, math.ceil(((ends or 0) - now) / 1000)) }
