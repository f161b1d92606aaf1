-- KEYS: locks; then the marker, if there is a guard.
-- ARGV: claim, weight and ttl (ms) of each; run id and ms of a quarantine, if there is a guard; how
--       many ms to keep the keys; flags (g: guard, c: Cluster).
-- Answers {now, number, ttl, …}: a pair for each; if refused: 0, why.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local guarded = string.find(ARGV[#ARGV], 'g', 1, true)
local count = #KEYS - (guarded and 1 or 0)
local keep_us = ARGV[#ARGV - 1] * 1000
local answers, rest = { now }, nil

-- The short path: the claim has the whole lock, and nobody waits.
for i = 1, count do
  local text = redis.pcall('HGET', KEYS[i], 's')
  local ttl, done = tonumber(ARGV[3 * i]), false
  if text and #text > 85 then
    local begins, _, _, _, kept_until, number, _, expires, claim, standing, weight, _, lock_delay =
      struct.unpack('>I3BI4I8I8I8I8I8c16BI4I8I8', text)
    local ends = now + ttl * 1000
    if begins == 0x680101 and claim == ARGV[3 * i - 2] and standing == 2 and expires > now
      and weight == tonumber(ARGV[3 * i - 1])
      and ends + lock_delay * 1000 + keep_us <= kept_until then
      call('HSET', KEYS[i], 's', string.sub(text, 1, 40) .. struct.pack('>I8c16BI4I8', ends, claim,
        2, weight, ttl) .. string.sub(text, 78))
      answers[2 * i], answers[2 * i + 1] = number, ttl
      done = true
    end
  end
  if not done then
    rest = rest or {}
    rest[#rest + 1] = i
    answers[2 * i], answers[2 * i + 1] = 0, 0
  end
end
if not rest and not guarded then return answers end

--#include guard.lua
local quarantine = guarded and quarantine_until(KEYS[count + 1], ARGV[#ARGV - 3], ARGV[#ARGV - 2])
  or 0
if not rest then return answers end

--#include line.lua
local cluster = string.find(ARGV[#ARGV], 'c', 1, true)

local function renew(claim, weight, ttl)
  local mine = find(claim)
  if not mine or mine.standing == waiting then return 0, 'not_held' end
  if mine.standing == revoked then return 0, 'revoked' end
  if weight < 1 or weight > mine.weight then return 0, 'weight' end
  mine.ttl, mine.expires = ttl, now + ttl * 1000
  keep(ttl + mine.lock_delay)
  if mine ~= lock.whole then
    lock.taken, mine.weight = lock.taken - mine.weight + weight, weight
    lock.sweep_at = min(lock.sweep_at, mine.expires)
    set('e' .. claim, encode(mine))
  elseif weight < mine.weight then
    stop_holding(mine)
    mine.weight = weight
    hold(mine)
  end
  return mine.number, ttl
end

for _, i in ipairs(rest) do
  local why = open(KEYS[i], redis.pcall('HGET', KEYS[i], 's'))
  if why then
    answers[2 * i + 1] = why
  else
    sweep()
    answers[2 * i], answers[2 * i + 1] =
      renew(ARGV[3 * i - 2], tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i]))
    settle(cluster)
    save()
  end
end
return answers
