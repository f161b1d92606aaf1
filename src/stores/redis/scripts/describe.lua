-- KEYS: the lock. Answers {now, …}: holders, then waiters, each with what is shown of it, its
-- number, ms left, ms held or waited, weight, capacity, and 1 if it waits.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local answer = { now }
local text = redis.pcall('HGET', KEYS[1], 's')
-- Most keys that a list finds are of released locks (shape 0), so these must cost little.
if type(text) == 'string' and string.sub(text, 1, 3) == 'h\1\0' then return answer end
local quarantine, keep_us = 0, 0
--#include line.lua
--#include shown.lua
if open(KEYS[1], text) then return answer end
if lock.first ~= none then
  local all = call('HGETALL', key)
  for i = 1, #all, 2 do seen[all[i]] = all[i + 1] end
end

local function add(r)
  if r.expires > now then answer[#answer + 1] = shown(r) end
end
if lock.whole then add(lock.whole) end
local claim = lock.first
while claim ~= none do
  add(decode(get('e' .. claim)))
  claim = behind(claim)
end
return answer
