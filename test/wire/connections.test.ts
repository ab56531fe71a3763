/** When it is told that more of a frame has come, by a clock that the test moves. */
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import t from 'tap'
import {
  connectionLimits,
  InboundConnections,
  type Connection,
} from '../../src/wire/connections.ts'
import { manualClock } from '../support/manual-clock.ts'

const lookMs = 300

/** One connection with a stream, on which bytes come as the test says. */
function accepted() {
  const clock = manualClock()
  const connections = new InboundConnections(clock, connectionLimits)
  const socket = Object.assign(new EventEmitter(), {
    bytesRead: 0,
    destroyed: false,
    destroy: () => {},
  })
  connections.add('k', socket as unknown as Socket)
  const connection = connections.get('k') as Connection
  connections.accepted(connection)
  let told = 0
  connection.onArriving = () => {
    told += 1
  }
  const look = () => {
    clock.advance(lookMs)
    return told
  }
  // The handshake.
  socket.bytesRead += 5_000
  connections.read(connection)
  look()
  return { connections, connection, socket, look }
}

t.test('more of a frame is told at each look at which it has come', async (t) => {
  const { socket, look } = accepted()
  t.equal(look(), 0, 'nothing came')
  socket.bytesRead += 1_024
  t.equal(look(), 1)
  t.equal(look(), 1, 'nothing more came since')
  socket.bytesRead += 200_000
  t.equal(look(), 2)
})

t.test('less than a kilobyte may be anything, however often it comes', async (t) => {
  const { socket, look } = accepted()
  for (let n = 0; n < 10; n += 1) {
    socket.bytesRead += 1_023
    t.equal(look(), 0)
  }
})

t.test('a frame that is whole is none that comes', async (t) => {
  const { connections, connection, socket, look } = accepted()
  socket.bytesRead += 60_000
  connections.read(connection)
  t.equal(look(), 0, 'it came between two looks')
  socket.bytesRead += 60_000
  t.equal(look(), 1)
  socket.bytesRead += 60_000
  connections.read(connection)
  t.equal(look(), 1, 'the rest of it')
  socket.bytesRead += 60_000
  connections.read(connection)
  socket.bytesRead += 1_023
  t.equal(look(), 1, 'the next one has hardly begun')
  connections.read(connection)
  socket.bytesRead += 1_024
  t.equal(look(), 2)
})

t.test('whoever does not want to know is not told', async (t) => {
  const { connection, socket, look } = accepted()
  connection.onArriving = null
  socket.bytesRead += 60_000
  t.equal(look(), 0)
})
