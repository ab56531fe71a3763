/** Jobs: what is to run, as files and as JSON. */
import { defineDomain } from '../domain.ts'
import { jobMethods } from './methods.ts'
import { jobRoutes } from './routes.ts'

export const jobsDomain = defineDomain({
  name: 'jobs',
  methods: Object.values(jobMethods),
  routes: jobRoutes,
})
