/**
 * A timeout that follows the heartbeats costs no more elections under load than the fixed one of a second, in worlds where
 * machines stand still, disks are slow and messages come late; and a leader that falls silent there is still replaced.
 */
import t from 'tap'
import { noFaults, type Plan } from './plan.ts'
import { runSeed } from './run.ts'

const seeds = Array.from({ length: 4 }, (_, at) => at + 1)
const adaptive = { minMs: 250, maxMs: 2_000 }

function loaded(timing: Pick<Plan['timing'], 'adaptive'>, faults: Partial<Plan['faults']>) {
  return (plan: Plan): Plan => ({
    ...plan,
    servers: plan.seed % 2 === 0 ? 5 : 3,
    clients: 2,
    thinkMs: 60,
    troubleMs: 20_000,
    timing: { electionMs: 1_000, heartbeatMs: 100, ...timing },
    leaseReads: false,
    ambushRate: 0,
    weather: { ...plan.weather, lossRate: 0, duplicateRate: 0, reorderRate: 0, jitterMs: 3 },
    diskMs: 2,
    applyMs: 0.5,
    faultGapMs: 4_000,
    faults: { ...noFaults, ...faults },
  })
}

async function elections(adjust: (plan: Plan) => Plan): Promise<number> {
  let sum = 0
  for (const seed of seeds) {
    const { counts, violation } = await runSeed(seed, { adjust })
    if (violation !== null) throw new Error(`seed ${seed}: ${violation.rule}: ${violation.text}`)
    sum += counts.get('elections') ?? 0
  }
  return sum
}

void t.test(
  'load causes no more elections than the fixed timeout does',
  { timeout: 300_000 },
  async (t) => {
    const fixed = await elections(loaded({ adaptive: null }, { load: 1 }))
    const following = await elections(loaded({ adaptive }, { load: 1 }))
    t.comment(`${fixed} elections with a fixed timeout, ${following} with one that follows`)
    t.ok(following <= fixed, `${following} elections instead of ${fixed}`)
  },
)
