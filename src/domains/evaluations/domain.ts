/** Evaluations: what scheduler workers take. */
import { defineDomain } from '../domain.ts'
import { evaluationMethods } from './methods.ts'
import { evaluationRoutes } from './routes.ts'
import { evaluations } from './table.ts'
import { evaluationTopic } from './topics.ts'

export const evaluationsDomain = defineDomain({
  name: 'evaluations',
  tables: [evaluations],
  methods: Object.values(evaluationMethods),
  routes: evaluationRoutes,
  topics: [evaluationTopic],
})
