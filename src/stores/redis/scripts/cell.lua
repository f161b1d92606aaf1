-- A cell: one hash with `n` its number, `v` its version and `b` its bytes. Numbers have 64 bits,
-- and Lua's are exact only up to 2^53, so they travel as text.
-- Answers {0, number, version, bytes}: done; {2, …, why}: nothing was changed.
local call = redis.call
local state = call('HMGET', KEYS[1], 'n', 'v', 'b')
local number, version, bytes = state[1] or '0', state[2] or '0', state[3] or ''
if not string.find(version, '^%d+$') or not string.find(number, '^-?%d+$')
  or version == '0' and call('EXISTS', KEYS[1]) == 1 then
  return { 2, '0', '0', '', 'foreign' }
end
