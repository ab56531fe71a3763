import t from 'tap'
import { Listeners, reachableApi } from '../../src/runtime/listeners.ts'
import { Authority, writeTlsFiles } from '../support/certificates.ts'

t.test('a refusal names the listener, and the key where the file is configured', async (t) => {
  const authority = await Authority.create()
  const files = await writeTlsFiles(t.testdir(), 'a', authority.cert, await authority.issue())
  const rows = [
    ['listener', 'api listener 127.0.0.1:4646: tls_key_file /absent cannot be read: ENOENT'],
    ['tls', 'api listener 127.0.0.1:4646: tls.key_file /absent cannot be read: ENOENT'],
  ] as const
  for (const [block, text] of rows) {
    const tls = { ...files, minVersion: 'TLSv1.3', block } as const
    const listener = { purpose: 'api', dialect: 'nomad', host: '127.0.0.1', port: 4646 } as const
    await Listeners.prepare([{ ...listener, tls }])
    const absent = Listeners.prepare([{ ...listener, tls: { ...tls, keyFile: '/absent' } }])
    await t.rejects(absent, { code: 'invalid_argument', message: new RegExp(`^${text}`) })
  }
})

t.test('others are told of a listener of the default dialect', async (t) => {
  const at = (dialect: 'nomad' | 'consul', port: number) => {
    const host = '10.0.0.1'
    return { address: `${host}:${port}`, host, port, secure: false, dialect }
  }
  t.match(reachableApi([at('consul', 8500), at('nomad', 4646)], '10.0.0.1'), { port: 4646 })
  t.equal(reachableApi([at('consul', 8500)], '10.0.0.1'), null)
})
