/** A LockIndex is the number that a holder proves itself with: of one key, none comes twice, whatever became of the key. */
import fc from '../../support/fast-check.ts'
import t, { type Test } from 'tap'
import { restorer } from '../../../src/domains/operator/services.ts'
import { txnOperationsMax } from '../../../src/domains/kv/model.ts'
import { counterStepMax } from '../../../src/fsm/counter-floor.ts'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

const late = 8_000_000_000_000_000

type Shown = { readonly LockIndex: number; readonly Session?: string }

function clientOf(server: ServerOfOne) {
  const client = {
    session: async (): Promise<string> => {
      const body = { Node: 'one', NodeChecks: [], LockDelay: '1ns' }
      const made = await server.ask('PUT', '/v1/session/create', body)
      return (made.json() as { ID: string }).ID
    },
    end: async (session: string): Promise<void> => {
      await server.ask('PUT', `/v1/session/destroy/${session}`)
      // The lock delay.
      await server.propose({
        type: 'kv.reap',
        args: { tombstonesBeforeMs: 0, delaysBeforeMs: late },
      })
    },
    shown: async (key: string): Promise<Shown | null> => {
      const answer = await server.ask('GET', `/v1/kv/${key}`)
      return answer.status === 404 ? null : ((answer.json() as Shown[])[0] ?? null)
    },
    acquire: async (key: string, session: string): Promise<number> => {
      const answer = await server.ask('PUT', `/v1/kv/${key}?acquire=${session}`)
      if (answer.body !== 'true') throw new Error(`acquire: ${answer.status} ${answer.body}`)
      return (await client.shown(key))?.LockIndex ?? 0
    },
    /** Of the fenced writes that name the number: a key, a deletion, a transaction, a variable. */
    fenced: async (key: string, lockIndex: number): Promise<readonly number[]> => {
      const fence = `lock=${key}&lock_index=${lockIndex}`
      const operations = [{ KV: { Verb: 'set', Key: 'state', Value: '' } }]
      return [
        (await server.ask('PUT', `/v1/kv/state?${fence}`, 'v')).status,
        (await server.ask('DELETE', `/v1/kv/gone?${fence}`)).status,
        (await server.ask('PUT', `/v1/txn?${fence}`, operations)).status,
        (await server.ask('PUT', `/v1/var/state?${fence}`, { Items: { a: 'b' } })).status,
      ]
    },
    save: async (): Promise<Buffer> => (await server.ask('GET', '/v1/operator/snapshot')).bytes,
    restore: async (archive: Buffer): Promise<void> => {
      const answer = await server.ask('PUT', '/v1/operator/snapshot', archive)
      if (answer.status !== 200) throw new Error(answer.body)
    },
  }
  return client
}

async function started(t: Test) {
  const server = await serverOfOne(t)
  await server.ask('PUT', '/v1/catalog/register', { Node: 'one', Address: '127.0.0.1' })
  return { server, ...clientOf(server) }
}

const taken = [200, 200, 200, 200]
const refused = [409, 409, 409, 409]

void t.test(
  'a holder of before a restore is fenced off while another holds the lock',
  async (t) => {
    const { session, acquire, fenced, save, restore } = await started(t)
    const older = await save()
    const numberOfA = await acquire('lock', await session())
    t.equal(numberOfA, 1, 'a new key begins with 1')
    t.same(await fenced('lock', numberOfA), taken)
    await restore(older)
    t.same(await fenced('lock', numberOfA), refused)
    const numberOfB = await acquire('lock', await session())
    t.ok(numberOfB > numberOfA, `${numberOfB}`)
    t.same(await fenced('lock', numberOfA), refused)
    t.same(await fenced('lock', numberOfB), taken)

    await restore(older)
    const numberOfC = await acquire('lock', await session())
    t.ok(numberOfC > numberOfB, 'restored twice')
    t.same(await fenced('lock', numberOfB), refused)
  },
)

void t.test('a holder that comes with the archive has its number anew', async (t) => {
  const { session, end, acquire, shown, fenced, save, restore } = await started(t)
  const first = await session()
  const before = await acquire('lock', first)
  const archive = await save()
  await end(first)
  const between = await acquire('lock', await session())
  await restore(archive)
  t.same(await fenced('lock', before), refused, 'as stale as it was before the restore')
  t.same(await fenced('lock', between), refused)
  const restored = await shown('lock')
  t.equal(restored?.Session, first)
  const anew = restored?.LockIndex ?? 0
  t.ok(anew > between)
  t.equal(await acquire('lock', first), anew, 'it holds the lock already')
  t.same(await fenced('lock', anew), taken)
  await end(first)
  t.ok((await acquire('lock', await session())) > anew)
})

void t.test('an archive of another cluster brings no number that was given here', async (t) => {
  const other = await started(t)
  const session = await other.session()
  for (let round = 0; round < 3; round += 1) {
    const held = await other.session()
    await other.acquire('lock', held)
    await other.end(held)
  }
  const foreign = await other.acquire('lock', session)
  const archive = await other.save()

  const server = await serverOfOne(t, { begin: false })
  await server.services.get(restorer).clean()
  const own = clientOf(server)
  await server.ask('PUT', '/v1/catalog/register', { Node: 'one', Address: '127.0.0.1' })
  let last = 0
  for (let round = 0; round < 4; round += 1) {
    const held = await own.session()
    last = await own.acquire('lock', held)
    if (round < 3) await own.end(held)
  }
  t.equal(last, foreign, 'the same number stands for two holders')
  for (const id of other.server.clusterKeys.ids()) {
    const key = other.server.clusterKeys.get(id)
    if (key !== null) await server.clusterKeys.adopt(key.bytes)
  }
  await own.restore(archive)
  const fence = `lock=lock&lock_index=${last}`
  t.equal((await server.ask('PUT', `/v1/kv/state?${fence}`, 'v')).status, 409)
  t.ok(((await own.shown('lock'))?.LockIndex ?? 0) > last)
})

void t.test('a namespace that the archive does not know goes on with its numbers', async (t) => {
  const { server, save, restore } = await started(t)
  const empty = await save()
  const lockIn = async (): Promise<number> => {
    await server.ask('PUT', '/v1/namespace/team', { Description: 'a team' })
    const body = { Node: 'one', NodeChecks: [], LockDelay: '1ns' }
    const made = await server.ask('PUT', '/v1/session/create?namespace=team', body)
    const { ID } = made.json() as { ID: string }
    await server.ask('PUT', `/v1/kv/lock?namespace=team&acquire=${ID}`)
    const [entry] = (await server.ask('GET', '/v1/kv/lock?namespace=team')).json() as Shown[]
    return entry?.LockIndex ?? 0
  }
  const before = await lockIn()
  await restore(empty)
  t.ok((await lockIn()) > before)
})

void t.test('a key that one transaction locks and deletes goes on with its number', async (t) => {
  const { server, session, end, acquire } = await started(t)
  const held = await session()
  const transact = async (key: string, verbs: readonly string[]): Promise<readonly number[]> => {
    const operations = verbs.map((Verb) => ({ KV: { Verb, Key: key, Value: '', Session: held } }))
    const answer = await server.ask('PUT', '/v1/txn', operations)
    t.equal(answer.status, 200, answer.body)
    const { Results } = answer.json() as { Results: { KV: Shown }[] }
    return Results.map(({ KV }) => KV.LockIndex)
  }
  t.same(await transact('a', ['lock', 'delete']), [1])
  t.same(await transact('a', ['lock', 'unlock', 'delete', 'lock']), [2, 2, 3])
  t.same(await transact('a', ['delete', 'set']), [3])
  t.equal(await acquire('a', held), 4)
  await end(held)
})

void t.test('one entry raises a number by less than the floor allows for', (t) => {
  t.ok(txnOperationsMax <= counterStepMax)
  t.end()
})

void t.test('the numbers of a key only rise, over all that can become of it', async (t) => {
  const { server, session, end, acquire, save, restore } = await started(t)
  const act = fc.constantFrom(
    ...(['acquire', 'release', 'end', 'delete', 'tree', 'reap', 'save', 'restore'] as const),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 25 }), async (acts) => {
      let archives = [await save()]
      let highest = (await server.ask('GET', '/v1/kv/lock')).status === 404 ? 0 : -1
      const granted = new Map<string, number>()
      for (const one of acts) {
        const entry = await clientOf(server).shown('lock')
        const holder = entry?.Session
        if (one === 'acquire' && holder === undefined) {
          const id = await session()
          const number = await acquire('lock', id)
          if (number <= highest) throw new Error(`${number} after ${highest}`)
          highest = number
          granted.set(id, number)
        } else if (one === 'release' && holder !== undefined) {
          await server.ask('PUT', `/v1/kv/lock?release=${holder}`)
        } else if (one === 'end' && holder !== undefined) await end(holder)
        else if (one === 'delete') await server.ask('DELETE', '/v1/kv/lock')
        else if (one === 'tree') await server.ask('DELETE', '/v1/kv/?recurse')
        else if (one === 'reap') {
          const args = { tombstonesBeforeMs: late, delaysBeforeMs: 0 }
          await server.propose({ type: 'kv.reap', args })
        } else if (one === 'save') archives = [...archives, await save()]
        else if (one === 'restore') {
          const archive = archives.at(-1)
          if (archive !== undefined) await restore(archive)
          if (archives.length > 1) archives = archives.slice(0, -1)
          // A holder that came with it was given a number too.
          const restored = await clientOf(server).shown('lock')
          if (restored?.Session !== undefined) {
            if (restored.LockIndex <= highest) throw new Error('a restored number')
            highest = restored.LockIndex
          }
        }
        const now = await clientOf(server).shown('lock')
        for (const [id, number] of granted) {
          if (now?.Session === id && now.LockIndex === number) continue
          const fence = `lock=lock&lock_index=${number}`
          const answer = await server.ask('PUT', `/v1/kv/state?${fence}`, 'v')
          if (answer.status !== 409) throw new Error(`${number} is taken from a stale holder`)
        }
      }
    }),
    { numRuns: 25 },
  )
})
