import t, { type Test } from 'tap'
import { randomBytes } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  ClusterKeys,
  clusterKeyFileName,
  clusterKeysMax,
} from '../../../src/domains/variables/cluster-key.ts'
import type { ClusterKeyRequest } from '../../../src/domains/variables/cluster-key-model.ts'
import { ClusterKeyShare } from '../../../src/domains/variables/cluster-key-share.ts'
import { ClusterKeyring } from '../../../src/domains/variables/keyring.ts'
import type { KeyRow } from '../../../src/domains/variables/keyring-model.ts'
import type { Reader } from '../../../src/fsm/domain.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { eventuallyTrue } from '../../support/eventually.ts'

void t.test(
  'a key made here is on disk, for this user only, and there after a restart',
  async (t) => {
    const folder = t.testdir()
    const keys = await ClusterKeys.load(folder, null)
    t.equal(keys.candidate(), null)
    const made = await keys.candidateOrNew()
    const file = join(folder, clusterKeyFileName)
    t.equal((await stat(file)).mode & 0o777, 0o600)
    t.match(await readFile(file, 'utf8'), made.bytes.toString('base64'))
    const again = await ClusterKeys.load(folder, null)
    t.same(again.candidate(), made)
    const second = await again.adopt(randomBytes(32))
    await again.adopt(second.bytes)
    t.same((await ClusterKeys.load(folder, null)).ids(), [made.id, second.id])
    t.notMatch(made.id, made.bytes.toString('hex').slice(0, 8))
  },
)

void t.test('the key file of the operator goes first and is not copied', async (t) => {
  const bytes = randomBytes(32)
  const folder = t.testdir({ 'given.key': `${bytes.toString('base64')}\n` })
  const keys = await ClusterKeys.load(folder, join(folder, 'given.key'))
  t.same((await keys.candidateOrNew()).bytes, bytes)
  await t.rejects(stat(join(folder, clusterKeyFileName)))
})

void t.test('of several keys in the file the first wraps and the others open', async (t) => {
  const [first, older] = [randomBytes(32), randomBytes(32)]
  const text = `${first.toString('base64')}\r\n ${older.toString('base64')}\n\n`
  const folder = t.testdir({ 'given.key': text })
  const keys = await ClusterKeys.load(folder, join(folder, 'given.key'))
  t.same(keys.configured?.bytes, first)
  t.equal(keys.ids().length, 2)
  t.same(keys.get(keys.ids()[1] ?? '')?.bytes, older)
})

void t.test(
  'keys that are not needed any more leave the folder, those of the file stay',
  async (t) => {
    const folder = t.testdir({ 'given.key': `${randomBytes(32).toString('base64')}\n` })
    const keys = await ClusterKeys.load(folder, join(folder, 'given.key'))
    const [kept, other] = [await keys.adopt(randomBytes(32)), await keys.adopt(randomBytes(32))]
    t.same(await keys.forgetOthers([kept.id]), [other.id])
    t.same(await keys.forgetOthers([kept.id]), [])
    t.same(keys.ids(), [keys.configured?.id, kept.id])
    const file = await readFile(join(folder, clusterKeyFileName), 'utf8')
    t.match(file, kept.bytes.toString('base64'))
    t.notMatch(file, other.bytes.toString('base64'))
  },
)

void t.test('bad files are refused without a word of what is in them', async (t) => {
  const folder = t.testdir({ 'short.key': 'c2VjcmV0' })
  await t.rejects(ClusterKeys.load(folder, join(folder, 'short.key')), {
    code: 'invalid_argument',
    message: /must hold 32 bytes in base64/,
  })
  await t.rejects(ClusterKeys.load(folder, join(folder, 'none.key')), { code: 'invalid_argument' })
  const file = join(folder, clusterKeyFileName)
  const secret = randomBytes(32).toString('base64')
  for (const [text, code] of [
    [`{"version":1,"keys":[{"id":"x","key":"${secret}"}]}`, 'corrupt'],
    [`{"version":1,"keys":[{"id":"x","key":"${secret}`, 'corrupt'],
    ['[]', 'corrupt'],
    ['null', 'corrupt'],
    [`"${secret}"`, 'corrupt'],
    [`{"keys":[]}`, 'corrupt'],
    [`{"version":"1","keys":[]}`, 'corrupt'],
    [`{"version":0,"keys":[]}`, 'corrupt'],
    [`{"version":1}`, 'corrupt'],
    [`{"version":1,"keys":{}}`, 'corrupt'],
    [`{"version":1,"keys":[null]}`, 'corrupt'],
    [`{"version":1,"keys":[{"id":"x","key":"${randomBytes(31).toString('base64')}"}]}`, 'corrupt'],
    ['{"version":2,"keys":[]}', 'incompatible'],
  ] as const) {
    await writeFile(file, text)
    try {
      await ClusterKeys.load(folder, null)
      t.fail('it was read')
    } catch (error) {
      t.match(error, { code })
      if (code === 'corrupt') t.match((error as Error).message, /: put a copy of it back; or /)
      t.notOk((error as Error).message.includes(secret.slice(0, 8)))
      t.equal((error as Error).cause, undefined)
    }
  }
})

void t.test('a key of another length is none', async (t) => {
  const folder = t.testdir()
  const keys = await ClusterKeys.load(folder, null)
  for (const length of [0, 31, 33]) {
    await t.rejects(keys.adopt(randomBytes(length)), {
      code: 'corrupt',
      message: 'a cluster key has 32 bytes',
    })
  }
  t.same(keys.ids(), [])
  await t.rejects(stat(join(folder, clusterKeyFileName)), 'nothing was written')
})

void t.test('one key more than a server keeps is refused', async (t) => {
  const all = Array.from({ length: clusterKeysMax + 1 }, () => randomBytes(32))
  const text = (count: number) => all.slice(0, count).map((bytes) => bytes.toString('base64'))
  const folder = t.testdir({
    'full.key': text(clusterKeysMax).join('\n'),
    'over.key': text(clusterKeysMax + 1).join('\n'),
  })
  const own = join(folder, 'own')
  const full = await ClusterKeys.load(own, join(folder, 'full.key'))
  t.equal(full.ids().length, clusterKeysMax)
  await t.rejects(ClusterKeys.load(own, join(folder, 'over.key')), {
    code: 'invalid_argument',
    message: `over.key holds ${clusterKeysMax + 1} keys, and may hold ${clusterKeysMax}`,
  })

  const keys = await ClusterKeys.load(own, null)
  for (const bytes of all.slice(1)) await keys.adopt(bytes)
  const { length } = keys.ids()
  const [over = randomBytes(0), held = randomBytes(0)] = all
  await t.rejects(keys.adopt(over), {
    code: 'overloaded',
    message: `${clusterKeyFileName} holds ${clusterKeysMax} keys already`,
  })
  t.match(await keys.adopt(held), { bytes: held }, 'one that it holds is none more')
  t.equal(keys.ids().length, length)
  t.equal((await ClusterKeys.load(own, null)).ids().length, clusterKeysMax)
})

/** A state that holds a keyring and nothing else. */
function stateWith(rows: readonly KeyRow[]): Reader & { close(): void } {
  return {
    appliedIndex: 1,
    floorIndex: 1,
    counterFloor: 0,
    cluster: { id: '', predecessors: [] },
    commandVersion: 1,
    get: () => undefined,
    pages: async function* pages<Row>() {
      yield rows as unknown as readonly Row[]
    },
    pagesBy: async function* pagesBy() {},
    nextBy: () => Promise.resolve(null),
    keysBy: async function* keysBy() {},
    tableIndex: () => rows[0]?.modifyIndex ?? 0,
    close() {},
  }
}

async function threeServers(
  t: Test,
  state: { rows: readonly KeyRow[] },
  leaderId: string,
  keyFiles: Readonly<Record<string, string>> = {},
) {
  const folders = t.testdir({ s1: {}, s2: {}, s3: {}, ...keyFiles })
  const shares = new Map<string, ClusterKeyShare>()
  const rings = new Map<string, ClusterKeyring>()
  const ids = ['s1', 's2', 's3']
  for (const id of ids) {
    const keyFile = keyFiles[`${id}.key`] === undefined ? null : join(folders, `${id}.key`)
    const keyring = new ClusterKeyring(await ClusterKeys.load(join(folders, id), keyFile))
    rings.set(id, keyring)
    shares.set(
      id,
      new ClusterKeyShare({
        keyring,
        link: {
          id,
          leaderId: () => leaderId,
          voterIds: () => ids,
          call: async (to: string, args: ClusterKeyRequest) => {
            const share = shares.get(to)
            if (share === undefined) throw new Error(`${to} is down`)
            return share.handle(args)
          },
        },
        clock: systemClock,
        log: silentLogger,
        view: () => stateWith(state.rows),
      }),
    )
  }
  const of = (id: string) => {
    const share = shares.get(id)
    const ring = rings.get(id)
    if (share === undefined || ring === undefined) throw new Error(id)
    return { share, ring }
  }
  return { of, shares }
}

void t.test('the leader begins once a majority holds its key', async (t) => {
  const { of, shares } = await threeServers(t, { rows: [] }, 's1')
  const candidate = await of('s1').ring.keys.candidateOrNew()
  t.notOk(of('s1').share.isHeldByMajority(candidate), 'it is alone')
  of('s2').share.start()
  await eventuallyTrue('a second has it', () => of('s1').share.isHeldByMajority(candidate))
  t.same(of('s2').ring.keys.ids(), [candidate.id])
  t.same(of('s3').ring.keys.ids(), [])
  t.same(
    of('s2').share.handle({ from: 's3', holds: [], wanted: null }),
    { key: null },
    'only the leader names the key to begin with',
  )
  for (const share of shares.values()) await share.stop()
})

void t.test('a server that lacks the key of the state gets it from whoever has it', async (t) => {
  const state: { rows: readonly KeyRow[] } = { rows: [] }
  const { of, shares } = await threeServers(t, state, 's1')
  const key = await of('s3').ring.keys.candidateOrNew()
  const made = of('s3').ring.makeKey(key)
  state.rows = [rowOf(made)]
  const reader = stateWith(state.rows)
  t.equal(await of('s1').ring.active(reader), null)
  t.same(await of('s1').ring.needed(reader), [key.id])
  for (const share of shares.values()) share.start()
  await eventuallyTrue('all have it', () =>
    ['s1', 's2', 's3'].every((id) => of(id).ring.keys.get(key.id) !== null),
  )
  t.match(await of('s1').ring.active(reader), { id: made.id })
  for (const share of shares.values()) await share.stop()
})

void t.test('another key is to be used once a majority was given it', async (t) => {
  const state: { rows: readonly KeyRow[] } = { rows: [] }
  const [old, other] = [0, 1].map(() => `${randomBytes(32).toString('base64')}\n`)
  const files = { 's1.key': `${other}${old}`, 's2.key': `${other}`, 's3.key': `${old}` }
  const { of, shares } = await threeServers(t, state, 's1', files)
  const used = of('s3').ring.keys.configured
  const configured = of('s1').ring.keys.configured
  if (used === null || configured === null) throw new Error('they have files')
  state.rows = [rowOf(of('s1').ring.makeKey(used))]
  of('s3').share.start()
  t.notOk(of('s1').share.isConfiguredByMajority(configured), 'one of three')
  of('s2').share.start()
  await eventuallyTrue('the second tells the leader, and gets the old key', () => {
    const { share } = of('s1')
    return share.isConfiguredByMajority(configured) && of('s2').ring.keys.get(used.id) !== null
  })
  t.notOk(of('s1').share.isConfiguredByMajority(used))

  state.rows = [rowOf(of('s1').ring.makeKey(configured), 2)]
  await eventuallyTrue('the third gets it too, the second forgets the old one', () => {
    const { keys } = of('s2').ring
    return of('s3').ring.keys.get(configured.id) !== null && keys.get(used.id) === null
  })
  const silent = { from: 's2', holds: [], wanted: null }
  of('s1').share.handle(silent)
  t.notOk(of('s1').share.isConfiguredByMajority(configured), 'its operator took it back')
  for (const share of shares.values()) await share.stop()
})

function rowOf(made: Pick<KeyRow, 'id' | 'clusterKeyId' | 'wrapped'>, index = 1): KeyRow {
  const indexes = { createIndex: index, modifyIndex: index }
  return { ...made, state: 'active', createTimeMs: 0, retiredTimeMs: null, ...indexes }
}
