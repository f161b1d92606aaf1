-- Versions are never used twice: a new cell starts with the server's time in µs.
local function next_version()
  if version ~= '0' then return string.format('%.0f', version + 1) end
  local time = call('TIME')
  return string.format('%.0f', time[1] * 1000000 + time[2])
end

-- `expiry` in ms, from each change on or, in a window, from the first one on; 0: never.
local function set_expiry(expiry, window)
  if expiry == '0' then
    if version ~= '0' then call('PERSIST', KEYS[1]) end
  elseif not window or call('PTTL', KEYS[1]) == -1 then
    call('PEXPIRE', KEYS[1], expiry)
  end
end
