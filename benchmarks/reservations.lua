-- Asks wrk to reserve a little of one node after the other, each under a name of its own, and counts the acknowledged.
local threads = {}
local number = 0

function setup(thread)
  table.insert(threads, thread)
  thread:set("name", string.format("%s-%d", os.getenv("ROUND"), #threads))
  thread:set("first", #threads * 500)
end

function init()
  answered, other = 0, 0
  wrk.headers["Content-Type"] = "application/json"
end

function request()
  number = number + 1
  local body = string.format(
    '{"reservation":"%s-%d","owner":"team/%s","expiresSeconds":1099511627776,"holds":[{"request":"web",' ..
    '"capacity":"node/node-%04d","resources":{"cpu":"%dm","memory":"1Mi"}}]}',
    name, number, name, (first + number * 31) % 1000, 1 + number % 4)
  return wrk.format("POST", nil, nil, body)
end

function response(status)
  if status == 200 then answered = answered + 1 else other = other + 1 end
end

function done(summary, latency)
  local answered, other = 0, 0
  for _, thread in ipairs(threads) do
    answered, other = answered + thread:get("answered"), other + thread:get("other")
  end
  local errors = summary.errors
  local lost = errors.connect + errors.read + errors.write + errors.timeout
  print(string.format('{"answered": %d, "otherwise": %d, "seconds": %f, "median_ms": %f, "slow_ms": %f}',
    answered, other + lost, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
