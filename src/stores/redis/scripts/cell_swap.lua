-- KEYS: the cell. ARGV: the version it must have (0: it must not exist), bytes, expiry.
--#include cell.lua
--#include cell_change.lua
if ARGV[1] ~= version then return { 2, number, version, bytes, 'changed' } end
local changed = next_version()
call('HSET', KEYS[1], 'v', changed, 'b', ARGV[2])
set_expiry(ARGV[3], false)
return { 0, number, changed, ARGV[2] }
