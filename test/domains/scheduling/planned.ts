/** A server whose jobs a scheduler places, on nodes that a test makes. */
import type { Test } from 'tap'
import { eventuallyTrue } from '../../support/eventually.ts'
import { driver } from '../../scheduler/cluster.ts'
import { served } from '../allocations/workloads.ts'
import type { Json } from '../jobs/job-drafts.ts'

export async function workloadsOfServer(t: Test) {
  const { server, here } = await served(t)
  const duty = server.startDuty('scheduling')
  t.teardown(() => duty.stop())
  return {
    server,
    here: {
      drivers: [driver('mock_driver')],
      node: here.node.bind(here),
      /** Registered, and placed. */
      run: async (Job: Json, count: number): Promise<void> => {
        const path = `/v1/job/${typeof Job['ID'] === 'string' ? Job['ID'] : 'web'}`
        await server.ask('PUT', '/v1/jobs', { Job })
        await eventuallyTrue('it is placed', async () => {
          const rows = (await server.ask('GET', `${path}/allocations`)).json()
          return (rows as readonly unknown[]).length === count
        })
        await eventuallyTrue('its evaluation is over', async () => {
          const rows = (await server.ask('GET', `${path}/evaluations`)).json()
          return (rows as readonly { Status: string }[]).every(
            ({ Status }) => Status === 'complete',
          )
        })
      },
    },
  }
}
