-- dialect=string. KEYS: names. ARGV: the value of each. Answers like release.lua.
local call = redis.call
local time = call('TIME')
local answers = { time[1] * 1000000 + time[2] }
for i, key in ipairs(KEYS) do
  local value = redis.pcall('GET', key)
  if type(value) == 'table' then
    answers[i + 1] = 'foreign'
  elseif value == ARGV[i] then
    call('DEL', key)
    answers[i + 1] = 0
  else
    answers[i + 1] = 3
  end
end
return answers
