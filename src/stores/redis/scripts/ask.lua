-- KEYS: the lock; the marker, if there is a guard.
-- ARGV: the first 8 bytes of the state, and what follows `expires` in the record, as they are when
--       this claim has the whole lock (layout: line.lua); ttl in ms; flags (s: a short path may do,
--       q: stand in line, u: unfair, c: Cluster); how many ms to keep the key; the server's run id
--       and the ms of a quarantine; a doubtful claim that this one replaces and the ms of its mark.
-- Answers: if granted, five numbers of 8 bytes: delay_until, kept_until (on the long path its old
-- value), number, since, expires; in line: {1, now, ms until the next ask, [why,] holder}; no:
-- {2, now, why, …}; gone: {3, now, why}.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local keep_us = ARGV[5] * 1000
local found = redis.pcall('HGET', KEYS[1], 's')

-- The short path: the whole of a free lock.
if not found and call('EXISTS', KEYS[1]) == 0 then
  found = 'h\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
end
if found and #found == 32 and string.byte(ARGV[4]) == 115
  and (not KEYS[2] or call('GET', KEYS[2]) == ARGV[6] .. ' 0') then
  local begins, _, _, delay_until, kept_until, number = struct.unpack('>I3BI4I8I8I8', found)
  if begins == 0x680100 and delay_until <= now then
    local expires = now + ARGV[3] * 1000
    if number < now then number = now else number = number + 1 end
    local lock_delay = struct.unpack('>I8', ARGV[2], 30)
    local needed = math.max(expires + lock_delay * 1000, number) + keep_us
    local stale = needed > kept_until
    if stale then kept_until = needed + keep_us / 8 end
    local numbers = struct.pack('>I8I8I8I8I8', delay_until, kept_until, number, now, expires)
    call('HSET', KEYS[1], 's', ARGV[1] .. numbers .. ARGV[2])
    if stale then call('PEXPIRE', KEYS[1], math.ceil((kept_until - now) / 1000)) end
    return numbers
  end
end

-- Another: stand in line for the whole lock, behind a holder of the whole.
if found and #found > 85 and not KEYS[2] and string.sub(ARGV[4], 1, 2) == 'sq'
  and string.sub(found, 4, 8) == string.sub(ARGV[1], 4, 8) then
  local begins, _, _, delay_until, kept_until, _, _, _, marks =
    struct.unpack('>I3BI4I8I8I8I4I4I4', found)
  local alone = begins == 0x680101
  local at = alone and 25 or 109 -- of the holder's record
  if alone or begins == 0x680102 and marks == 0 and #found > 169 then
    local number, since, expires, holder, _, weight, ttl, _, card =
      struct.unpack('>I8I8I8c16BI4I8I8', found, at)
    local claim, ends, again = string.sub(ARGV[2], 1, 16), now + ARGV[3] * 1000, nil
    local record = struct.pack('>I8I8I8c16B', 0, now, ends, claim, 1) .. string.sub(ARGV[2], 18)
    local apt = holder ~= claim and expires > now and expires - now <= ttl * 1000
      and since <= now and ends + keep_us <= kept_until
    if apt and alone then
      again = math.max(1, math.ceil((math.max(expires, delay_until) - now) / 1000))
      call('HSET', KEYS[1], 'e' .. claim, record, 's', 'h\1\2' .. string.sub(found, 4, 32)
        .. struct.pack('>I4I4I4I8I8c16c16c16', weight, 0, 0, 2 ^ 53, 0, claim, claim, claim)
        .. string.sub(found, 25))
    elseif apt then
      local line, last = string.sub(found, 77, 92), string.sub(found, 93, 108)
      local fields = call('HMGET', KEYS[1], 'e' .. claim, 'e' .. line)
      if not fields[1] and struct.unpack('>I8', fields[2], 17) > now then
        again = 0
        call('HSET', KEYS[1], 'e' .. claim, record, 'p' .. claim, last, 'n' .. last, claim, 's',
          string.sub(found, 1, 92) .. claim .. string.sub(found, 109))
      end
    end
    if again then
      return { 1, now, again, { string.sub(found, card + 1 + string.byte(found, card)), number,
        math.floor((expires - now) / 1000), math.floor((now - since) / 1000), weight, weight, 0 } }
    end
  end
end

--#include guard.lua
local quarantine = KEYS[2] and quarantine_until(KEYS[2], ARGV[6], ARGV[7]) or 0
--#include line.lua
--#include shown.lua
local asked_kind, asked_capacity = parse('>BI4', ARGV[1], 4)
local asked = decode('\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' .. ARGV[2])
local claim, ttl = asked.claim, asked.ttl
local queue = string.find(ARGV[4], 'q', 1, true)
local unfair = string.find(ARGV[4], 'u', 1, true)
local cluster = string.find(ARGV[4], 'c', 1, true)

local function granted(r)
  return pack('>I8I8I8I8I8', lock.delay_until, lock.kept_until, r.number, now, now + ttl * 1000)
end

-- When enough holders will have expired, if none of them renews. With more than 64 holders, the
-- first expiry has to do.
local function next_chance(r)
  local over, at = lock.taken + r.weight - lock.capacity, now
  if over > 0 and lock.holders > 64 then
    at = lock.sweep_at
  elseif over > 0 then
    local ends = {}
    each_holder(function(holder) ends[#ends + 1] = holder end)
    table.sort(ends, function(a, b) return a.expires < b.expires end)
    for _, holder in ipairs(ends) do
      if over <= 0 then break end
      over, at = over - holder.weight, holder.expires
    end
  end
  return max(at, lock.delay_until, quarantine)
end

local function in_line()
  local r, again = head(), 0
  if r.claim == claim then again = max(1, ceil((next_chance(r) - now) / 1000)) end
  local holder, early = shown_holder()
  if early then return { 1, now, again, 'clock_fault', holder } end
  return { 1, now, again, holder }
end

local function in_quarantine() return { 2, now, 'quarantine', ceil((quarantine - now) / 1000) } end

local function busy()
  local holder, early = shown_holder()
  if holder then return { 2, now, early and 'clock_fault' or 'held', holder } end
  if now < lock.delay_until then return { 2, now, 'lock_delay' } end
  if silenced then return { 2, now, 'silenced' } end
  return in_quarantine()
end

local function enter(r)
  r.number = mint()
  admit(r)
end

-- The asker counts its validity from this ask, so it restarts a holder's ttl.
local function ask_again(mine)
  mine.ttl, mine.expires, mine.card = ttl, now + ttl * 1000, asked.card
  if mine ~= lock.whole then set('e' .. claim, encode(mine)) end
  if mine.standing == held then lock.sweep_at = min(lock.sweep_at, mine.expires) end
  keep(ttl + mine.lock_delay)
  if unfair and mine.standing == waiting and now >= quarantine and fits(mine) then
    unlink(claim)
    enter(mine)
  end
  settle(cluster, claim)
  mine = find(claim)
  return mine.standing == held and granted(mine) or in_line()
end

local function misfit(mine)
  if mine.weight < 1 or mine.weight > asked_capacity then return { 2, now, 'weight' } end
  if lock.taken == 0 and not head() then
    lock.kind, lock.capacity = asked_kind, asked_capacity
  elseif lock.kind ~= asked_kind or lock.capacity ~= asked_capacity then
    return { 2, now, 'kind', lock.kind, lock.capacity, asked_kind, asked_capacity }
  end
end

local function ask_anew(mine)
  mine.standing, mine.since, mine.expires = waiting, now, now + ttl * 1000
  local answer = misfit(mine)
  if answer or not unfair then settle(cluster) end
  if answer then return answer end

  if not fits(mine) or head() and not unfair then
    if queue then
      insert(mine, none)
      if lock.line == none then lock.line = claim end
      keep(ttl)
    end
  elseif now < quarantine then
    answer = in_quarantine()
  else
    enter(mine)
    answer = granted(mine)
  end
  if unfair then settle(cluster) end
  return answer or queue and in_line() or busy()
end

local why = open(KEYS[1], found)
if why then return { 2, now, why } end
sweep()
if ARGV[8] then withdraw(ARGV[8], tonumber(ARGV[9])) end

end_delay(claim)
local answer
local mine, marked = find(claim)
if marked or mine and mine.standing == revoked then
  settle(cluster)
  answer = { 3, now, marked and 'withdrawn' or 'revoked' }
elseif mine then
  answer = ask_again(mine)
else
  answer = ask_anew(asked)
end
save()
return answer
