/** Jobs: what is to run. */
import { defineDomain } from '../domain.ts'
import { jobMethods } from './methods.ts'
import { jobRoutes } from './routes.ts'
import { jobs, jobVersions } from './table.ts'

export const jobsDomain = defineDomain({
  name: 'jobs',
  tables: [jobs, jobVersions],
  methods: Object.values(jobMethods),
  routes: jobRoutes,
})
