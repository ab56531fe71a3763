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

/** Reads under way at once. */
const readersMax = 16

export async function goesOn(writer: SteadyWriter, what: string): Promise<void> {
  const written = writer.accepted.length
  await eventuallyTrue(`writes go on: ${what}`, () => writer.accepted.length > written + 20)
}

/** Every write that was acknowledged, at every server. */
export async function allIsThere(t: Test, cluster: Cluster, writer: SteadyWriter): Promise<void> {
  for (const at of cluster.all) {
    const lost: string[] = []
    const left = writer.accepted.values()
    const readOn = async (): Promise<void> => {
      for (const { path, value } of left) {
        const outcome = await cluster.variables(at).read(path)
        if (outcome.type !== 'ok' || outcome.seen.value !== value) lost.push(path)
      }
    }
    await Promise.all(Array.from({ length: readersMax }, readOn))
    t.same(lost, [], `server ${at} has all ${writer.accepted.length} acknowledged writes`)
  }
}
