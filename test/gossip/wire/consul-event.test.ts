import t from 'tap'
import {
  decodeConsulEvent,
  encodeConsulEvent,
  type ConsulEvent,
} from '../../../src/gossip/wire/consul-event.ts'

const event: ConsulEvent = {
  id: '9d5f2c1e-0000-4000-9d5f-2c1e00000001',
  name: 'deploy',
  payload: Uint8Array.of(1, 2, 255),
  nodeFilter: 'web',
  serviceFilter: 'api',
  tagFilter: 'blue',
  version: 1,
}

t.test('an event comes back as it was, with filters and without', (t) => {
  const bare = {
    ...event,
    payload: new Uint8Array(),
    nodeFilter: '',
    serviceFilter: '',
    tagFilter: '',
  }
  for (const one of [event, bare]) {
    const { name, payload } = encodeConsulEvent(one)
    t.equal(name, 'consul:event:deploy')
    t.same(decodeConsulEvent(name, payload), one)
  }
  t.equal(encodeConsulEvent(bare).payload.length, 55, 'what is empty takes no room')
  t.end()
})

t.test('what is no such event is none', (t) => {
  const { name, payload } = encodeConsulEvent(event)
  t.equal(decodeConsulEvent('deploy', payload), null, 'an event of a user of serf')
  for (let length = 0; length < payload.length; length += 1) {
    t.equal(decodeConsulEvent(name, payload.subarray(0, length)), null, `cut to ${length} bytes`)
  }
  t.equal(
    decodeConsulEvent(name, Uint8Array.of(0x81, 0xa2, 0x49, 0x44, 0x05)),
    null,
    'ID is a number',
  )
  t.end()
})
