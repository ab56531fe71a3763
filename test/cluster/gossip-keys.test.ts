/** The key of the gossip is changed while servers come and go. */
import t from 'tap'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { detection, eventually, eventuallyTrue } from '../support/eventually.ts'
import { setAutopilot, statusBecomes, votersBecome } from '../support/members.ts'

const keyOf = (fill: number): string => Buffer.alloc(32, fill).toString('base64')
const path = '/v1/operator/gossip/keyring'

type Keys = {
  readonly Messages: Readonly<Record<string, string>>
  readonly NumNodes: number
  readonly NumResp: number
  readonly Keys: Readonly<Record<string, number>>
  readonly PrimaryKeys: Readonly<Record<string, number>>
}

/** On all three; asked again until each of them is there to answer. */
async function change(cluster: Cluster, type: 'install' | 'use' | 'remove', Key: string) {
  await eventuallyTrue(`all three ${type} it`, async () => {
    const body = JSON.stringify({ Key })
    const answer = (await cluster.http(0).json('PUT', `${path}/${type}`, { body })) as Keys
    return answer.NumResp === 3 && Object.keys(answer.Messages).length === 0
  })
}

async function keysAre(cluster: Cluster, expected: Partial<Keys>): Promise<void> {
  const wanted = JSON.stringify(expected)
  await eventually(`the keys are ${wanted}`, async () => {
    const { Keys, PrimaryKeys } = (await cluster.http(0).json('GET', path)) as Keys
    return JSON.stringify({ Keys: sorted(Keys), PrimaryKeys }) === wanted ? true : undefined
  })
}

function sorted(counts: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.keys(counts)
      .toSorted()
      .map((key) => [key, counts[key] ?? 0]),
  )
}

/** Restarts it, and waits until it sees the others, who see it. */
async function restarts(cluster: Cluster, at: number): Promise<void> {
  await cluster.terminate(at)
  await cluster.server(at).start()
  for (const [seer, seen] of [0, 1, 2]
    .filter((other) => other !== at)
    .flatMap(
      (other) =>
        [
          [other, at],
          [at, other],
        ] as const,
    )) {
    await statusBecomes(cluster, seer, `s${seen + 1}.global`, 'alive', detection)
  }
}

void t.test('keys are installed, used and removed across restarts', async (t) => {
  const [old, fresh] = [keyOf(1), keyOf(2)]
  const cluster = await startCluster(t, { gossip: true, server: { encrypt: old } })
  await setAutopilot(cluster)
  await keysAre(cluster, { Keys: { [old]: 3 }, PrimaryKeys: { [old]: 3 } })

  await change(cluster, 'install', fresh)
  await restarts(cluster, 1)
  await keysAre(cluster, { Keys: sorted({ [old]: 3, [fresh]: 3 }), PrimaryKeys: { [old]: 3 } })

  await change(cluster, 'use', fresh)
  await restarts(cluster, 2)
  await keysAre(cluster, { Keys: sorted({ [old]: 3, [fresh]: 3 }), PrimaryKeys: { [fresh]: 3 } })

  await change(cluster, 'remove', old)
  await restarts(cluster, 0)
  await keysAre(cluster, { Keys: { [fresh]: 3 }, PrimaryKeys: { [fresh]: 3 } })
  await cluster.logged(0, /the configured gossip key is not used/)

  const late = await cluster.add({ encrypt: old })
  await cluster.logged(late, /no gossip there, trying on: .*wrong-key/)
  await cluster.logged(0, /a gossip stream was refused: .*reason=wrong-key/)
  const { body } = await cluster.http(0).request('GET', '/v1/metrics?format=prometheus')
  t.match(body.toString(), /^muster_gossip_refused_total\{[^}]*reason="wrong_key"[^}]*\} [1-9]/m)
  await cluster.reconfigureServer(late, { encrypt: fresh })
  await votersBecome(cluster, 0, 's1 s2 s3 s4')
})
