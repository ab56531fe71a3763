import t from 'tap'
import { withWaitLeft } from '../../src/client-agent/wait-left.ts'

t.test('what is asked again waits for what is left', (t) => {
  const rows: readonly (readonly [string, number, string])[] = [
    ['/v1/kv/a?index=7&wait=10s', 8_000, '/v1/kv/a?index=7&wait=2s'],
    ['/v1/kv/a?wait=10s&index=7', 8_250.7, '/v1/kv/a?wait=1.749s&index=7'],
    ['/v1/kv/a?wait=5m&index=7&stale', 60_000, '/v1/kv/a?wait=4m0s&index=7&stale'],
    ['/v1/kv/a?index=7&wait=10s', 12_000, '/v1/kv/a?index=7&wait=1ms'],
    ['/v1/kv/a?index=7', 8_000, '/v1/kv/a?index=7'],
    ['/v1/kv/a?index=7&wait=0', 8_000, '/v1/kv/a?index=7&wait=0'],
    ['/v1/kv/a?index=7&wait=', 8_000, '/v1/kv/a?index=7&wait='],
    ['/v1/kv/a?index=7&wait=soon', 8_000, '/v1/kv/a?index=7&wait=soon'],
    ['/v1/kv/await=1?x=await=9s', 8_000, '/v1/kv/await=1?x=await=9s'],
  ]
  for (const [url, passedMs, left] of rows) t.equal(withWaitLeft(url, passedMs), left)
  t.end()
})
