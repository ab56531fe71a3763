/** Clusters whose servers speak TLS with one another: their configuration, and what they say to whoever knocks. */
import { readFile } from 'node:fs/promises'
import type { Test } from 'tap'
import { Certificate } from '../../src/lib/certificate.ts'
import { dial } from '../../src/wire/dial.ts'
import { Wire } from '../../src/wire/wire.ts'
import type { TlsFiles } from './certificates.ts'
import type { Cluster } from './cluster.ts'
import { eventuallyTrue } from './eventually.ts'
import type { SteadyWriter } from './writer.ts'

export function tlsBlock({ caFile, certFile, keyFile }: TlsFiles, more = {}) {
  return { rpc: true, ca_file: caFile, cert_file: certFile, key_file: keyFile, ...more }
}

/** What a server says to whoever knocks with these files, or plain; '' when it takes the stream. */
export async function knock(cluster: Cluster, at: number, files: TlsFiles | null): Promise<string> {
  const certificate = files === null ? null : await Certificate.load(files)
  const plain = { serverName: 'server.global.muster', plainToo: false, refusalOf: () => null }
  const wire = new Wire({
    identity: () => ({ clusterId: '', serverId: 'somebody' }),
    tls: certificate === null ? null : { certificate, ...plain },
  })
  const address = `127.0.0.1:${cluster.server(at).spec.ports.rpc}`
  try {
    const stream = await dial(wire, { address, path: '/muster.raft.Raft/Stream', to: '' })
    stream.close('only asking')
    return ''
  } catch (error) {
    return String(error)
  }
}

export async function wholeLog(cluster: Cluster, at: number): Promise<string> {
  return readFile(cluster.server(at).logFile, 'utf8')
}

export async function goesOn(writer: SteadyWriter, what: string): Promise<void> {
  const written = writer.accepted.length
  await eventuallyTrue(`writes go on: ${what}`, () => writer.accepted.length > written + 20)
}

export async function allIsThere(t: Test, cluster: Cluster, writer: SteadyWriter): Promise<void> {
  const [at = 0] = cluster.all
  const last = writer.accepted.slice(-1)
  for (const { path, value } of [...writer.accepted.filter((_, n) => n % 25 === 0), ...last]) {
    const outcome = await cluster.variables(at).read(path)
    t.ok(outcome.type === 'ok' && outcome.seen.value === value, path)
  }
}
