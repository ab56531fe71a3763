/** Addresses as people write them, and patterns as strangers do. */
import t from 'tap'
import { codeOf } from '../../src/lib/errors.ts'
import { advertisedEndpoint, parsePlace } from '../../src/gossip/addresses.ts'
import { formatEndpoint, parseAddress } from '../../src/gossip/wire/address.ts'

function outcome(run: () => string): string {
  try {
    return run()
  } catch (error) {
    return codeOf(error)
  }
}

const places: readonly (readonly [string, string])[] = [
  ['10.0.0.1', '10.0.0.1 7946'],
  ['10.0.0.1:4648', '10.0.0.1 4648'],
  ['server-1.dc.example', 'server-1.dc.example 7946'],
  ['server_1:80', 'server_1 80'],
  ['::1', '::1 7946'],
  ['[::1]', '::1 7946'],
  ['[2001:db8::7]:99', '2001:db8::7 99'],
  ['', 'invalid_argument'],
  [':80', 'invalid_argument'],
  ['a:0', 'invalid_argument'],
  ['a:65536', 'invalid_argument'],
  ['a:b', 'invalid_argument'],
  ['[a]:80', 'invalid_argument'],
  ['a b', 'invalid_argument'],
  ['http://a', 'invalid_argument'],
  ['x'.repeat(300), 'invalid_argument'],
]

for (const [text, expected] of places) {
  const found = outcome(() => {
    const { host, port } = parsePlace(text, 7946)
    return `${host} ${port}`
  })
  t.equal(found, expected, JSON.stringify(text.slice(0, 30)))
}

const advertised: readonly (readonly [string | null, string, string])[] = [
  [null, '10.0.0.1', '10.0.0.1:7'],
  ['192.0.2.1', '0.0.0.0', '192.0.2.1:7'],
  ['192.0.2.1:9', '0.0.0.0', '192.0.2.1:9'],
  ['0.0.0.0', '10.0.0.1', 'invalid_argument'],
  ['a-name', '10.0.0.1', 'invalid_argument'],
]

for (const [advertise, bound, expected] of advertised) {
  const address = parseAddress(bound) ?? new Uint8Array()
  const found = outcome(() => formatEndpoint(advertisedEndpoint(advertise, { address, port: 7 })))
  t.equal(found, expected, `${advertise} bound to ${bound}`)
}
