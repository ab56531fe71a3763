-- Sends the requests of the file that WRK_REQUESTS names, one after the other, and tells what it saw as a line of JSON.
-- The file: for each request its length in bytes, a line feed, and the request.
local requests = {}
local file = assert(io.open(os.getenv("WRK_REQUESTS"), "rb"))
while true do
  local length = file:read("*l")
  if length == nil then break end
  requests[#requests + 1] = file:read(tonumber(length))
end
file:close()

local at = 0
function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"answered":%d,"microseconds":%d,"p50":%d,"p99":%d,"status":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout
  ))
end
