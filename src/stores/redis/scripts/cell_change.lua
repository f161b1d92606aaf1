-- Versions are never used twice: a cell that is made anew starts at the time of the server in µs.
local function next_version()
  if version ~= '0' then return string.format('%.0f', version + 1) end
  local time = call('TIME')
  return string.format('%.0f', time[1] * 1000000 + time[2])
end

-- `expiry` in ms, counted anew with each change or, in a window, with the first one; 0: never.
local function set_expiry(expiry, window)
  if expiry == '0' then
    if version ~= '0' then call('PERSIST', KEYS[1]) end
  elseif not window or call('PTTL', KEYS[1]) == -1 then
    call('PEXPIRE', KEYS[1], expiry)
  end
end
