-- KEYS: locks; then the marker, if there is a guard.
-- ARGV: the claim of each, followed by the ms of its mark if it is doubtful; how many ms to keep
--       the keys; `c` in a Cluster, or empty; run id and ms of a quarantine. What is not needed at
--       the end is left out.
-- Answers {now, …}: for each, 0: it is gone now; 3: it was not there; or why not; then `silenced`
-- if a waiter could not be notified. On a short path: now.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local found = redis.pcall('HGET', KEYS[1], 's')

-- The short path: one who has all of it, and nobody waits.
if found and #found > 85 and (not KEYS[2] or #ARGV == 5 and not KEYS[3]) then
  local begins, _, _, delay_until, kept_until, number, _, expires, claim =
    struct.unpack('>I3BI4I8I8I8I8I8c16', found)
  if begins == 0x680101 and claim == ARGV[1] and expires > now then
    local keep_us = ARGV[2] * 1000
    local needed = math.max(now, delay_until, number) + keep_us
    local stale = kept_until < needed or kept_until > needed + keep_us / 4
    if stale then kept_until = needed + keep_us / 8 end
    found = 'h\1\0' .. string.sub(found, 4, 16) .. struct.pack('>I8I8', kept_until, number)
    if redis.pcall('HSET', KEYS[1], 's', found) ~= 0 then
      call('HDEL', KEYS[1], '-') -- Once a script has written, its writes do not run out of memory.
      call('HSET', KEYS[1], 's', found)
    end
    if stale then call('PEXPIRE', KEYS[1], math.ceil((kept_until - now) / 1000)) end
    return now
  end
end

-- The handover: the whole lock goes to the next in line, which listens.
if found and #found > 169 and #ARGV == 2 then
  local begins, kind, capacity, delay_until, kept_until, number, taken, holders, marks, sweep_at,
    sweep_marks_at, _, line, last, _, _, expires, claim =
    struct.unpack('>I3BI4I8I8I8I4I4I4I8I8c16c16c16I8I8I8c16', found)
  if begins == 0x680102 and claim == ARGV[1] and expires > now and marks == 0
    and delay_until <= now then
    local fields = call('HMGET', KEYS[1], 'e' .. line, 'n' .. line)
    local _, _, ends, _, _, weight, ttl, lock_delay, card =
      struct.unpack('>I8I8I8c16BI4I8I8', fields[1])
    if number < now then number = now else number = number + 1 end
    local keep_us = ARGV[2] * 1000
    local needed = math.max(now + (ttl + lock_delay) * 1000, number) + keep_us
    if ends > now and weight == capacity and kept_until >= needed
      and (line ~= last or kept_until <= needed + keep_us / 4) then
      local from, to = card + 1, card + string.byte(fields[1], card)
      local reached = redis.pcall('PUBLISH', string.sub(fields[1], from, to), 'g' .. line
        .. string.format('%.0f %.0f %.0f ', number, ttl, now) .. KEYS[1])
      if type(reached) == 'number' and reached > 0 then
        call('HDEL', KEYS[1], 'e' .. line, 'n' .. line, 'p' .. line)
        local base = struct.pack('>BI4I8I8', kind, capacity, delay_until, kept_until)
        local record = struct.pack('>I8I8I8c16B', number, now, now + ttl * 1000, line, 2)
          .. string.sub(fields[1], 42)
        if line == last then
          call('HSET', KEYS[1], 's', 'h\1\1' .. base .. record)
        else
          local following = fields[2]
          call('HSET', KEYS[1], 's', 'h\1\2' .. base .. struct.pack('>I8I4I4I4I8I8c16c16c16',
            number, taken, 0, 0, sweep_at, sweep_marks_at, following, following, last) .. record)
        end
        return now
      end
    end
  end
end

--#include guard.lua
local count, extra = #KEYS, #ARGV - #KEYS
if extra == 3 then count = count - 1 end
local keep_us = ARGV[count + 1] * 1000
local cluster = ARGV[count + 2] == 'c'
local quarantine = extra == 3
  and quarantine_until(KEYS[#KEYS], ARGV[count + 3], ARGV[count + 4]) or 0
--#include line.lua
local answers = { now }
for i = 1, count do
  local claim, mark_ms = sub(ARGV[i], 1, 16), tonumber(sub(ARGV[i], 17)) or 0
  if i > 1 then found = redis.pcall('HGET', KEYS[i], 's') end
  answers[i + 1] = open(KEYS[i], found)
  if not answers[i + 1] then
    sweep()
    answers[i + 1] = withdraw(claim, mark_ms) and 0 or 3
    settle(cluster)
    save(true)
  end
end
if silenced then answers[#answers + 1] = 'silenced' end
return answers
