-- dialect=string: a plain key `SET name value NX PX ttl`, as other libraries use it. No line, no
-- number; the value is the claim and is shown to nobody.
-- KEYS: the name; the marker, if there is a guard.
-- ARGV: value, ttl; run id and ms of a quarantine; the value of a claim that this one replaces.
-- Answers like ask.lua.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
--#include guard.lua
local ttl = tonumber(ARGV[2])
local value = call('GET', KEYS[1])
if value == ARGV[1] then
  call('PEXPIRE', KEYS[1], ttl)
  return { 0, now, 0, ttl }
end
if value and value == ARGV[5] then
  call('DEL', KEYS[1])
  value = false
end
if value then return { 2, now, 'held', { '', 0, call('PTTL', KEYS[1]), -1, 1, 1, 0 } } end
local quarantine = KEYS[2] and quarantine_until(KEYS[2], ARGV[3], ARGV[4]) or 0
if now < quarantine then return { 2, now, 'quarantine', math.ceil((quarantine - now) / 1000) } end
call('SET', KEYS[1], ARGV[1], 'PX', ttl)
return { 0, now, 0, ttl }
