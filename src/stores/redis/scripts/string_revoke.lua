-- dialect=string. KEYS: the name. Answers like revoke.lua; its holder notices when it renews.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if not call('GET', KEYS[1]) then return { 3, now, 'nobody' } end
call('DEL', KEYS[1])
return { 0, now }
