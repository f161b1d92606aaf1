-- dialect=string. KEYS: the name. Answers like describe.lua.
local call = redis.call
local time = call('TIME')
local answer = { time[1] * 1000000 + time[2] }
if type(redis.pcall('GET', KEYS[1])) == 'string' then
  answer[2] = { '', 0, call('PTTL', KEYS[1]), -1, 1, 1, 0 }
end
return answer
