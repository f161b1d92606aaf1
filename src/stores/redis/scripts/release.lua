-- KEYS: locks; then the marker, if there is a guard.
-- ARGV: the claim of each, with the ms to refuse it from now on behind it if it is doubtful; `c` in
--       Cluster, or empty; run id and ms of a quarantine. What has nothing behind it is left out.
-- Answers {now, …}: of each 0: it is gone now; 3: it was not there; or why it could not be; and
-- `silenced` behind them if one in line could not be told. By a short path: now.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local found = redis.pcall('HGET', KEYS[1], 's')

-- The short path: one who has all of it, and nobody waits.
if found and #found > 85 and (not KEYS[2] or #ARGV == 4 and not KEYS[3]) then
  local begins, _, _, _, _, _, _, expires, claim =
    struct.unpack('>I3BI4I8I8I8I8I8c16', found)
  if begins == 0x680101 and claim == ARGV[1] and expires > now then
    found = 'h\1\0' .. string.sub(found, 4, 32)
    if redis.pcall('HSET', KEYS[1], 's', found) ~= 0 then
      call('HDEL', KEYS[1], '-') -- Once a script has written, no write of it is short of memory.
      call('HSET', KEYS[1], 's', found)
    end
    return now
  end
end

-- The handover: all of it goes from one to the next, who listens.
if found and #found > 169 and not ARGV[2] then
  local begins, kind, capacity, delay_until, kept_until, number, taken, holders, marks, sweep_at,
    sweep_marks_at, _, line, last, _, _, expires, claim =
    struct.unpack('>I3BI4I8I8I8I4I4I4I8I8c16c16c16I8I8I8c16', found)
  if begins == 0x680102 and claim == ARGV[1] and expires > now and marks == 0
    and delay_until <= now then
    local fields = call('HMGET', KEYS[1], 'e' .. line, 'n' .. line)
    local _, _, ends, _, _, weight, ttl, lock_delay, card =
      struct.unpack('>I8I8I8c16BI4I8I8', fields[1])
    if ends > now and weight == capacity
      and now + (ttl + lock_delay + 86400000) * 1000 <= kept_until then
      if number < now then number = now else number = number + 1 end
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
if extra == 2 then count = count - 1 end
local cluster = ARGV[count + 1] == 'c'
local quarantine = extra == 2
  and quarantine_until(KEYS[#KEYS], ARGV[count + 2], ARGV[count + 3]) or 0
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
