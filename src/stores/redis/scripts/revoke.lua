-- KEYS: the lock; the marker, if there is a guard.
-- ARGV: flags (n: now, else at their next renewal; c: Cluster); how many ms to keep the key; run id
--       and ms of a quarantine.
-- Answers {0, now}: notified its holders; {3, now, why}: there are none; {2, now, why}: no.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
--#include guard.lua
local keep_us = ARGV[2] * 1000
local quarantine = KEYS[2] and quarantine_until(KEYS[2], ARGV[3], ARGV[4]) or 0
--#include line.lua
local why = open(KEYS[1], redis.pcall('HGET', KEYS[1], 's'))
if why then return { 2, now, why } end
sweep()
local answer = { 3, now, 'nobody' }
each_holder(function(r)
  answer = { 0, now }
  tell(r, 'x' .. r.claim .. key)
  if string.find(ARGV[1], 'n', 1, true) then
    stop_holding(r)
  else
    r.standing = revoked
    if r ~= lock.whole then set('e' .. r.claim, encode(r)) end
  end
end)
settle(string.find(ARGV[1], 'c', 1, true))
save()
return answer
