-- KEYS: the cell. ARGV: by, least, most, expiry, flags (w: window).
--#include cell.lua
--#include cell_change.lua

-- a < b, both decimal.
local function less(a, b)
  local minus = string.sub(a, 1, 1) == '-'
  if minus ~= (string.sub(b, 1, 1) == '-') then return minus end
  if minus then a, b = b, a end
  if #a ~= #b then return #a < #b end
  return a < b
end

local exact = 2 ^ 53
local sum = number + ARGV[1]
if math.abs(number) < exact and math.abs(ARGV[1]) < exact and math.abs(sum) < exact then
  sum = string.format('%.0f', sum)
else
  -- Too large for Lua: the server adds, and the script restores `n` at once.
  local counted = redis.pcall('HINCRBY', KEYS[1], 'n', ARGV[1])
  if type(counted) == 'table' then
    if not string.find(counted.err, 'overflow', 1, true) then return counted end
    return { 2, number, version, bytes, 'bounds' }
  end
  sum = call('HGET', KEYS[1], 'n')
  if state[1] then call('HSET', KEYS[1], 'n', number) else call('HDEL', KEYS[1], 'n') end
end
if less(sum, ARGV[2]) or less(ARGV[3], sum) then return { 2, number, version, bytes, 'bounds' } end

local changed = next_version()
call('HSET', KEYS[1], 'n', sum, 'v', changed)
set_expiry(ARGV[4], ARGV[5] == 'w')
return { 0, sum, changed, bytes }
