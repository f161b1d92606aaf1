-- The amnesia guard: a server whose marker is missing, or of another run, may have forgotten locks
-- that are still held. Returns until when to grant nothing new; 0: no quarantine.
local function quarantine_until(marker, run_id, guard_ms)
  local id, ends = string.match(call('GET', marker) or '', '^(%S+) (%d+)$')
  if id ~= run_id then
    ends = string.format('%.0f', now + guard_ms * 1000)
  elseif ends == '0' then
    return 0
  elseif tonumber(ends) <= now then
    ends = '0'
  else
    return tonumber(ends)
  end
  -- Without memory this fails, and the next script begins the quarantine: later, but not never.
  redis.pcall('SET', marker, run_id .. ' ' .. ends)
  return tonumber(ends)
end
