-- What others see of a claim; needs line.lua. Never the claim itself, nor its channel.
local function millis(us) return math.floor(max(0, us) / 1000) end

local function shown(r)
  return { sub(r.card, 2 + byte(r.card)), r.number, millis(r.expires - now), millis(now - r.since),
    r.weight, lock.capacity, r.standing == waiting and 1 or 0 }
end

-- A holder, and whether it has more time left than its ttl: then the clock was set back.
local function shown_holder()
  local r = lock.whole or lock.holders > 0 and decode(get('e' .. lock.first))
  if r then return shown(r), r.expires - now > r.ttl * 1000 end
end
