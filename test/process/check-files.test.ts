/** `muster agent -check`: what a start would refuse, and that nothing of a start happens. */
import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/lib/clock.ts'
import { checkFiles } from '../../src/process/check-files.ts'
import { Authority, writeTlsFiles, type TlsFiles } from '../support/certificates.ts'
import { smallest } from './config-files.ts'

const client =
  'data_dir = "/data"\nclient {\n  enabled = true\n  retry_join = ["10.0.0.1:4648"]\n}\n'

/** In a folder of the test's, which a second `testdir` would empty. */
async function check(t: Test, text: string): Promise<void> {
  const file = join(t.testdirName, 'a.hcl')
  await writeFile(file, text)
  await checkFiles([file], systemClock)
}

/** A `tls` block. */
const tlsOf = (files: TlsFiles, more = '') =>
  `tls {\n${Object.entries({
    ca_file: files.caFile,
    cert_file: files.certFile,
    key_file: files.keyFile,
  })
    .map(([key, path]) => `  ${key} = ${JSON.stringify(path)}\n`)
    .join('')}${more}}\n`

t.test('services and checks are read as a start reads them', async (t) => {
  t.testdir({})
  const service = (more: string) =>
    `service {\n  name = "a"\n  check {\n    tcp = "127.0.0.1:1"\n${more}  }\n}\n`
  for (const agent of [smallest, client]) {
    await t.resolves(check(t, `${agent}${service('    interval = "5s"\n')}`))
    await t.rejects(check(t, `${agent}${service('')}`), {
      code: 'invalid_argument',
      message: /^the configuration's service "a": .*Interval/,
    })
  }
})

t.test('so are certificates', async (t) => {
  const authority = await Authority.create()
  const folder = t.testdir()
  const files = await writeTlsFiles(folder, 'a', authority.cert, await authority.issue())
  await t.resolves(check(t, `${smallest}${tlsOf(files, '  rpc = true\n  http = true\n')}`))
  const absent = { ...files, certFile: '/absent' }
  for (const [more, text] of [
    ['  rpc = true\n', /^tls\.cert_file \/absent cannot be read: ENOENT/],
    ['  http = true\n', /^api listener \S+: tls\.cert_file \/absent cannot be read: ENOENT/],
  ] as const) {
    const refused = check(t, `${smallest}${tlsOf(absent, more)}`)
    await t.rejects(refused, { code: 'invalid_argument', message: text })
  }
  const ended = await authority.issue({ days: [-2, -1] })
  const old = await writeTlsFiles(folder, 'old', authority.cert, ended)
  await t.rejects(check(t, `${smallest}${tlsOf(old, '  rpc = true\n')}`), { message: /expired on/ })
  await t.rejects(check(t, `${client}tls {\n  ca_file = "/absent"\n}\n`), {
    message: /^tls\.ca_file \/absent cannot be read: ENOENT/,
  })
})

t.test('certificates that the start makes need not be there, and are not made', async (t) => {
  const data = join(t.testdir(), 'data')
  const text = `data_dir = ${JSON.stringify(data)}\nserver {\n  enabled = true\n}\ntls {\n  auto = true\n}\n`
  await t.resolves(check(t, text))
  await t.rejects(access(data), { code: 'ENOENT' })
  const listener = `listener {\n  purpose = "ops"\n  tls_cert_file = "/absent"\n  tls_key_file = "/absent"\n}\n`
  await t.rejects(check(t, `${text}${listener}`), { message: /: tls_cert_file \/absent cannot/ })
})
