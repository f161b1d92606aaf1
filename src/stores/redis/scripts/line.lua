-- The line of one name and its grants: core::Admission, inside the server. Every step is open,
-- sweep, the request itself, settle, save; only save writes to the key.
--
-- One hash per lock. Its field `s` is the state: 24 bytes (`h`, layout version, shape, kind,
-- capacity, end of the lock_delay, until when the key is kept), then by shape
--   0   the last number: no holder, no waiter
--   1   the record of the holder of the whole lock: no waiter
--   2   the last number, the line, and the record of a holder of the whole lock, if there is one
-- A record: number, since, expires, claim, standing, weight, ttl, lock_delay, card. A card: one
-- byte, a channel of that many bytes to notify, and what is shown to others.
-- The other fields are holders of a part, then waiters, as one list: `e`+claim a record, `n`+claim
-- and `p`+claim its neighbours (meaningless beyond the ends of the list); `m`+claim a mark: until
-- then that claim is refused; and `d` the lock_delays that run: for each, the claim whose holder
-- did not release, and its end. `d` counts as one of the marks.
--
-- The key expires `keep_us` after all in it has ended and the clock has passed its number. To write
-- this rarely, a step sets it an eighth later, and leaves it if it is up to a quarter late.
--
-- A script that includes this has `call`, `now` (µs), `quarantine` (µs: no grant before) and
-- `keep_us`.
local pack, parse = struct.pack, struct.unpack
local sub, byte, format = string.sub, string.byte, string.format
local max, min, ceil = math.max, math.min, math.ceil

local none = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' -- stands for no claim
local never = 2 ^ 53
local waiting, held, revoked = 1, 2, 3

local key, state, seen, written -- `seen`: fields as this step sees them, or false
local lock -- the decoded state; one table, because each captured local makes closures dearer
local told = false
local silenced = false -- a message was refused: the user lacks the right to PUBLISH

-- ── fields and records ──────────────────────────────────────────────────────────────────────────

local function decode(text)
  local r, card = {}, nil
  r.number, r.since, r.expires, r.claim, r.standing, r.weight, r.ttl, r.lock_delay, card =
    parse('>I8I8I8c16BI4I8I8', text)
  r.card = sub(text, card)
  return r
end

local function encode(r)
  return pack('>I8I8I8c16BI4I8I8', r.number, r.since, r.expires, r.claim, r.standing, r.weight,
    r.ttl, r.lock_delay) .. r.card
end

-- Returns why the key cannot be used, or nil. `text` is what pcall of HGET gave for `s`.
local function open(name, text)
  if type(text) == 'table' then
    if not string.find(text.err, 'WRONGTYPE', 1, true) then call('HGET', name, 's') end -- raises it
    return 'foreign'
  end
  if not text then
    if call('EXISTS', name) == 1 then return 'foreign' end
    text = 'h\1' .. string.rep('\0', 30)
  end
  if #text < 32 or byte(text) ~= 104 then return 'foreign' end
  if byte(text, 2) ~= 1 then return 'layout' end
  if byte(text, 3) > 2 then return 'foreign' end
  key, state, seen, written = name, text, {}, {}
  lock = { taken = 0, holders = 0, marks = 0, sweep_at = never, sweep_marks_at = 0, first = none,
    line = none, last = none, ends = 0 }
  local shape, at
  shape, lock.kind, lock.capacity, lock.delay_until, lock.kept_until, lock.number, at =
    parse('>xxBBI4I8I8I8', text)
  if shape == 2 then
    lock.taken, lock.holders, lock.marks, lock.sweep_at, lock.sweep_marks_at, lock.first, lock.line,
      lock.last, at = parse('>I4I4I4I8I8c16c16c16', text, at)
  end
  if shape == 1 or at <= #text then
    lock.whole = decode(sub(text, shape == 1 and 25 or at))
    lock.taken = lock.capacity
  end
end

local function get(field)
  if seen[field] == nil then seen[field] = call('HGET', key, field) end
  return seen[field]
end

-- Two fields by one command.
local function get_both(one, other)
  if seen[one] == nil and seen[other] == nil then
    local values = call('HMGET', key, one, other)
    seen[one], seen[other] = values[1], values[2]
  end
  return get(one), get(other)
end

local function set(field, value)
  seen[field], written[field] = value, true
end

-- What this step put into the key has ended by then.
local function keep(ms) lock.ends = max(lock.ends, now + ms * 1000) end

-- A step does not know when everything in a list ends, so a list never shortens the expiry.
local function kept_until()
  local listed, whole = lock.first ~= none or lock.marks > 0, lock.whole
  local ends = max(now, lock.ends, lock.delay_until, lock.number)
  if whole then ends = max(ends, whole.expires + whole.lock_delay * 1000) end
  local needed, before = ends + keep_us, lock.kept_until
  if before < needed or not listed and before > needed + keep_us / 4 then
    return needed + keep_us / 8
  end
  return before
end

local function state_now()
  local whole, listed = lock.whole, lock.first ~= none or lock.marks > 0
  local base = pack('>BBBBI4I8I8', 104, 1, listed and 2 or whole and 1 or 0, lock.kind,
    lock.capacity, lock.delay_until, lock.kept_until)
  if not listed then return base .. (whole and encode(whole) or pack('>I8', lock.number)) end
  return base .. pack('>I8I4I4I4I8I8c16c16c16', lock.number, lock.taken, lock.holders, lock.marks,
    lock.sweep_at, lock.sweep_marks_at, lock.first, lock.line, lock.last)
    .. (whole and encode(whole) or '')
end

-- Without memory the server refuses an HSET, unless this script has written before. So a step that
-- must not fail (it notified somebody, or it is a release) deletes first.
local function save(must)
  local text = state_now()
  if text == state and not next(written) then return end
  local until_then = kept_until()
  local stale = until_then ~= lock.kept_until
  if stale then text = sub(text, 1, 16) .. pack('>I8', until_then) .. sub(text, 25) end
  local puts, drops = { 's', text }, (must or told) and { '-' } or {}
  for field in pairs(written) do
    local value = seen[field]
    if value then
      puts[#puts + 1] = field
      puts[#puts + 1] = value
    else
      drops[#drops + 1] = field
    end
  end
  for i = 1, #drops, 1000 do call('HDEL', key, unpack(drops, i, min(i + 999, #drops))) end
  for i = 1, #puts, 1000 do call('HSET', key, unpack(puts, i, min(i + 999, #puts))) end
  if stale then call('PEXPIRE', key, ceil((until_then - now) / 1000)) end
end

-- ── the list ────────────────────────────────────────────────────────────────────────────────────

local function before(claim) return claim == lock.first and none or get('p' .. claim) end
local function behind(claim) return claim == lock.last and none or get('n' .. claim) end

local function link(a, b)
  if a == none then lock.first = b end
  if b == none then lock.last = a end
  if a ~= none and b ~= none then
    set('n' .. a, b)
    set('p' .. b, a)
  end
end

local function unlink(claim)
  local a, b = before(claim), behind(claim)
  if claim == lock.line then lock.line = b end
  link(a, b)
  set('e' .. claim, false)
  set('n' .. claim, false)
  set('p' .. claim, false)
end

local function insert(r, at) -- before `at`; none: at the end
  link(at == none and lock.last or before(at), r.claim)
  link(r.claim, at)
  set('e' .. r.claim, encode(r))
end

-- ── parts of a step ─────────────────────────────────────────────────────────────────────────────

local function stop_holding(r)
  if r == lock.whole then
    lock.whole = nil
  else
    unlink(r.claim)
    lock.holders = lock.holders - 1
  end
  lock.taken = lock.taken - r.weight
end

-- Drops expired lock_delays and this claim's own; with `ends`, sets its own to end then.
local function set_delay(claim, ends)
  local text, running = get('d'), {}
  if not text and not ends then return end
  lock.delay_until = 0
  local function add(of, its_end)
    if its_end <= now then return end
    running[#running + 1] = pack('>c16I8', of, its_end)
    lock.delay_until = max(lock.delay_until, its_end)
  end
  for at = 1, #(text or ''), 24 do
    local of, its_end = parse('>c16I8', text, at)
    if of ~= claim then add(of, its_end) end
  end
  if ends then add(claim, ends) end
  set('d', running[1] and table.concat(running) or false)
  lock.marks = lock.marks + (running[1] and 1 or 0) - (text and 1 or 0)
  if lock.sweep_marks_at == 0 then lock.sweep_marks_at = lock.delay_until end
end

-- A holder that releases or asks again is alive: none of its effects is still on its way.
local function end_delay(claim)
  if now < lock.delay_until then set_delay(claim) end
end

-- The holder did not release, so its last effects may still be on their way.
local function end_hold(r)
  if r.lock_delay > 0 then set_delay(r.claim, r.expires + r.lock_delay * 1000) end
  stop_holding(r)
end

local function each_holder(visit)
  if lock.whole then visit(lock.whole) end
  local claim = lock.first
  while claim ~= lock.line do
    local text, next_claim = get_both('e' .. claim, 'n' .. claim)
    if claim == lock.last then next_claim = none end
    visit(decode(text))
    claim = next_claim
  end
end

-- find() checks the time of a mark, so this only tidies up, and seldom.
local function sweep_marks()
  if lock.delay_until <= now then set_delay() end
  local latest = lock.delay_until
  for _, field in ipairs(call('HKEYS', key)) do
    if byte(field) == 109 then
      local ends = tonumber(get(field))
      if ends <= now then
        set(field, false)
        lock.marks = lock.marks - 1
      else
        latest = max(latest, ends)
      end
    end
  end
  lock.sweep_marks_at = latest
end

-- Drops whose time is over. Those in line are skipped at their turn.
local function sweep()
  if lock.whole and lock.whole.expires <= now then end_hold(lock.whole) end
  if lock.holders > 0 and lock.sweep_at <= now then
    lock.sweep_at = never
    each_holder(function(r)
      if r.expires <= now then end_hold(r) else lock.sweep_at = min(lock.sweep_at, r.expires) end
    end)
  end
  if lock.marks > 0 and lock.sweep_marks_at <= now then sweep_marks() end
end

local function head()
  while lock.line ~= none do
    local r = decode((get_both('e' .. lock.line, 'n' .. lock.line)))
    if r.expires > now then return r end
    unlink(lock.line)
  end
end

-- The record of a claim; or nil, and whether it is marked.
local function find(claim)
  if lock.whole and lock.whole.claim == claim then return lock.whole end
  if lock.first == none and lock.marks == 0 then return end
  local text, mark = get_both('e' .. claim, 'm' .. claim)
  if text then
    local r = decode(text)
    if r.standing ~= waiting or r.expires > now then return r end
    unlink(claim)
  end
  return nil, mark and tonumber(mark) > now
end

local function withdraw(claim, mark_ms)
  end_delay(claim)
  local r, marked = find(claim)
  if r and r.standing == waiting then
    unlink(claim)
  elseif r then
    stop_holding(r)
  end
  if mark_ms > 0 then
    local ends = now + mark_ms * 1000
    if marked then ends = max(ends, tonumber(get('m' .. claim))) end
    if not get('m' .. claim) then lock.marks = lock.marks + 1 end
    if lock.sweep_marks_at == 0 then lock.sweep_marks_at = ends end
    set('m' .. claim, format('%.0f', ends))
    keep(mark_ms)
  end
  return r ~= nil
end

local function fits(r) return now >= lock.delay_until and lock.taken + r.weight <= lock.capacity end

-- Hybrid time: numbers do not go back if the server loses its data.
local function mint()
  lock.number = max(lock.number + 1, now)
  return lock.number
end

local function hold(r)
  lock.taken = lock.taken + r.weight
  if r.weight == lock.capacity then
    lock.whole = r
  else
    lock.holders, lock.sweep_at = lock.holders + 1, min(lock.sweep_at, r.expires)
    insert(r, lock.line)
  end
end

-- Grants a claim that is not in the list. Its number was minted before.
local function admit(r)
  r.standing, r.since, r.expires = held, now, now + r.ttl * 1000
  keep(r.ttl + r.lock_delay)
  hold(r)
end

-- Sends a message to the process of r; returns how many received it.
local function tell(r, message)
  told = true
  local reached = redis.pcall('PUBLISH', sub(r.card, 2, 1 + byte(r.card)), message)
  silenced = silenced or type(reached) == 'table'
  return silenced and 0 or reached
end

-- Grants to the head of the line while it fits. `silent` is the claim whose step this is: it gets
-- an answer, no message. In a Cluster, PUBLISH counts the listeners of one node only, so nobody is
-- skipped, and a grant is short until its owner asks again. A waiter that this user may not notify
-- keeps its place until it asks again or the step of another user grants it.
local function settle(cluster, silent)
  if now < quarantine then return end
  while true do
    local r = head()
    if not r or not fits(r) then return end
    r.number = mint()
    local reached = r.claim == silent
    if not reached then
      if cluster then r.ttl = min(r.ttl, 2000) end
      local grant = format('%.0f %.0f %.0f ', r.number, r.ttl, now) -- %s would end at a zero byte
      reached = tell(r, 'g' .. r.claim .. grant .. key) > 0 or cluster
      if silenced then return end
    end
    unlink(r.claim)
    if reached then admit(r) end
  end
end
