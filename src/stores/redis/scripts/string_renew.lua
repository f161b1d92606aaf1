-- dialect=string. KEYS: names. ARGV: value and ttl of each. Answers like renew.lua.
local call = redis.call
local time = call('TIME')
local answers = { time[1] * 1000000 + time[2] }
for i, key in ipairs(KEYS) do
  local ttl = tonumber(ARGV[2 * i])
  local value = redis.pcall('GET', key)
  local why = type(value) == 'table' and 'foreign' or value ~= ARGV[2 * i - 1] and 'not_held'
  if not why then call('PEXPIRE', key, ttl) end
  answers[2 * i], answers[2 * i + 1] = 0, why or ttl
end
return answers
