/** Deployments of a job whose only group is `g`, as the API shows them. */
import { eventually } from './eventually.ts'
import type { HttpClient } from './http-client.ts'

export type ShownDeployment = {
  readonly ID: string
  readonly JobVersion: number
  readonly Status: string
  readonly StatusDescription: string
  readonly TaskGroups: {
    readonly g: {
      readonly DesiredTotal: number
      readonly HealthyAllocs: number
      readonly DesiredCanaries: number
      readonly PlacedCanaries: readonly string[] | null
      readonly Promoted: boolean
    }
  }
}

export type DeploymentWatch = {
  /** That of the version, once it is so. */
  readonly until: (
    version: number,
    what: string,
    isSo: (row: ShownDeployment) => boolean,
  ) => Promise<ShownDeployment>
  readonly ends: (version: number, status: string) => Promise<ShownDeployment>
}

/** `http`: of a server that runs, asked for at each look. */
export function deploymentsOf(job: string, http: () => HttpClient): DeploymentWatch {
  const until: DeploymentWatch['until'] = (version, what, isSo) =>
    eventually(
      `the deployment of version ${version} ${what}`,
      async () => {
        const rows = await http().json('GET', `/v1/job/${job}/deployments`)
        return (rows as readonly ShownDeployment[]).find(
          (row) => row.JobVersion === version && isSo(row),
        )
      },
      { timeoutMs: 120_000 },
    )
  return {
    until,
    ends: (version, status) => until(version, `is ${status}`, ({ Status }) => Status === status),
  }
}
