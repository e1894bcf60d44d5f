-- Asks wrk to fit pods of many shapes, and counts what is answered: well, or with when to ask again.
local threads = {}
local number = 0

function setup(thread)
  table.insert(threads, thread)
  thread:set("first", #threads * 100003)
end

function init()
  answered, busy, other = 0, 0, 0
end

function request()
  number = number + 1
  local shape = (first + number) * 7919
  local path = string.format("%s?shape=cpu=%dm,memory=%dMi", wrk.path, 10 + shape % 3989, 16 + shape % 8191)
  return wrk.format("GET", path)
end

function response(status, headers)
  if status == 200 then
    answered = answered + 1
  elseif status == 503 and headers["retry-after"] then
    busy = busy + 1
  else
    other = other + 1
  end
end

function done(summary)
  local told = {answered = 0, busy = 0, other = 0}
  for _, thread in ipairs(threads) do
    for name in pairs(told) do
      told[name] = told[name] + thread:get(name)
    end
  end
  local errors = summary.errors
  local lost = errors.connect + errors.read + errors.write + errors.timeout
  print(string.format('{"answered": %d, "busy": %d, "other": %d, "lost": %d, "seconds": %f}',
    told.answered, told.busy, told.other, lost, summary.duration / 1e6))
end
