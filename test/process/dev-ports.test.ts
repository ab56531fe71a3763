/** Ports of a `-dev` agent: which default ones it leaves to others. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { checkConfig, type AgentConfig } from '../../src/process/config.ts'
import type { DefaultPorts } from '../../src/process/config-listeners.ts'
import { emptyTree, overlay, readConfigFile } from '../../src/process/config-tree.ts'
import { freeDefaults } from '../../src/process/dev-ports.ts'
import { freePorts } from '../support/free-ports.ts'
import { join } from 'node:path'

const dialectBlock = 'listener {\n  purpose = "api"\n  dialect = "consul"\n}\n'

async function defaults(): Promise<DefaultPorts> {
  const [http = 0, rpc = 0, gossip = 0, ops = 0, consul = 0] = await freePorts(5)
  return { http, rpc, gossip, ops, consul }
}

async function configOf(t: Test, text: string, defaultPorts: DefaultPorts): Promise<AgentConfig> {
  const folder = t.testdir({ 'a.hcl': text })
  const tree = overlay(emptyTree(), await readConfigFile(join(folder, 'a.hcl')))
  return checkConfig(tree, { dataDir: folder, serverEnabled: true, defaultPorts })
}

async function holdStream(t: Test, port: number): Promise<void> {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
}

async function holdDatagram(t: Test, port: number): Promise<void> {
  const socket = createSocket('udp4')
  socket.bind(port, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => socket.close())
}

t.test('free default ports are used, taken ones become any free port', async (t) => {
  const ports = await defaults()
  const config = await configOf(t, dialectBlock, ports)
  t.same(await freeDefaults(config, ports), ports)
  await holdStream(t, ports.http)
  await holdStream(t, ports.consul)
  await holdDatagram(t, ports.gossip)
  const moved = await freeDefaults(config, ports)
  t.same(moved, { ...ports, http: 0, gossip: 0, consul: 0 })
  t.same(await freeDefaults(config, moved), moved, 'what has moved stays moved')
  const after = await configOf(t, dialectBlock, moved)
  t.same(after.ports, { http: 0, rpc: ports.rpc, gossip: 0, ops: ports.ops })
  t.same(
    after.listeners.map(({ port }) => port),
    [0, ports.ops, 0],
  )
})

t.test('a port that the file names is never moved', async (t) => {
  const ports = await defaults()
  const [fixed = 0, listening = 0] = await freePorts(2)
  await holdStream(t, fixed)
  const text =
    `ports {\n  rpc = ${fixed}\n}\n` +
    `listener {\n  purpose = "api"\n  dialect = "consul"\n  address = "127.0.0.1:${listening}"\n}\n`
  const none = { http: 0, rpc: 0, gossip: 0, ops: 0, consul: 0 }
  const config = await configOf(t, text, none)
  t.same(config.ports, { http: 0, rpc: fixed, gossip: 0, ops: 0 })
  t.equal(config.listeners.at(-1)?.port, listening)
  await holdStream(t, ports.ops)
  t.equal((await freeDefaults(config, ports)).ops, 0, 'others are looked at all the same')
})
